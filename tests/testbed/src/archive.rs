//! OCI image archives: written for the pause image, read to push any.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Error;

/// The largest index, manifest or other JSON that is read out of an archive.
const MOST_JSON: u64 = 4 << 20;

/// Writes an image with nothing in it but the program that holds a pod's namespaces.
pub(crate) fn write_pause(path: &Path, program: &Path, name: &str) -> Result<(), Error> {
    let layer =
        tar_of(&[("pause", 0o755, &read_all(program)?)]).map_err(Error::file("write", path))?;
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": {"Entrypoint": ["/pause", "-P"]},
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
    });
    let config = config.to_string().into_bytes();
    let descriptor = |kind: &str, bytes: &[u8]| {
        let media_type = format!("application/vnd.oci.image.{kind}");
        json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()})
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("config.v1+json", &config),
        "layers": [descriptor("layer.v1.tar", &layer)],
    });
    let manifest = manifest.to_string().into_bytes();
    let mut entry = descriptor("manifest.v1+json", &manifest);
    if let Some(entry) = entry.as_object_mut() {
        // containerd names the imported image by this one, in full.
        entry.insert("annotations".into(), json!({"io.containerd.image.name": name}));
    }
    let index = json!({"schemaVersion": 2, "manifests": [entry]}).to_string().into_bytes();
    let blob = |bytes: &[u8]| format!("blobs/{}", digest(bytes).replace(':', "/"));
    let archive = tar_of(&[
        ("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#),
        ("index.json", 0o644, &index),
        (&blob(&manifest), 0o644, &manifest),
        (&blob(&config), 0o644, &config),
        (&blob(&layer), 0o644, &layer),
    ]);
    crate::file::write(path, &archive.map_err(Error::file("write", path))?)
}

/// An OCI archive: where in the file each entry is.
pub(crate) struct Archive {
    path: PathBuf,
    entries: HashMap<String, (u64, u64)>,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let read = || Error::file("read", path);
        let file = File::open(path).map_err(Error::file("open", path))?;
        let mut entries = HashMap::new();
        let mut archive = tar::Archive::new(file);
        for entry in archive.entries_with_seek().map_err(read())? {
            let entry = entry.map_err(read())?;
            let name = entry.path().map_err(read())?;
            let name = name.strip_prefix("./").unwrap_or(&name).display().to_string();
            entries.insert(name, (entry.raw_file_position(), entry.size()));
        }
        Ok(Self { path: path.to_path_buf(), entries })
    }

    /// What the archive's index points at: the only image in it.
    pub(crate) fn root(&self) -> Result<Value, Error> {
        let index: Value =
            parse(&self.small("index.json")?).ok_or_else(|| self.bad("index.json is not JSON"))?;
        match index.get("manifests").and_then(Value::as_array).map(Vec::as_slice) {
            Some([image]) => Ok(image.clone()),
            _ => Err(self.bad("it doesn't hold exactly one image")),
        }
    }

    /// A manifest or index by its descriptor, checked against it.
    pub(crate) fn manifest(&self, descriptor: &Value) -> Result<Vec<u8>, Error> {
        let wanted = self.digest_of(descriptor)?;
        let bytes = self.small(&blob_path(wanted))?;
        if digest(&bytes) == wanted { Ok(bytes) } else { Err(self.bad("a manifest is damaged")) }
    }

    /// Any blob by its descriptor: a reader and its size. The registry checks the digest.
    pub(crate) fn blob(&self, descriptor: &Value) -> Result<(Take<File>, u64), Error> {
        self.entry(&blob_path(self.digest_of(descriptor)?))
    }

    pub(crate) fn digest_of<'d>(&self, descriptor: &'d Value) -> Result<&'d str, Error> {
        let digest = descriptor.get("digest").and_then(Value::as_str);
        digest.ok_or_else(|| self.bad("a descriptor has no digest"))
    }

    pub(crate) fn bad(&self, problem: &str) -> Error {
        Error::Archive { path: self.path.clone(), problem: problem.to_owned() }
    }

    fn small(&self, name: &str) -> Result<Vec<u8>, Error> {
        let (mut reader, size) = self.entry(name)?;
        if size > MOST_JSON {
            return Err(self.bad(&format!("{name} is larger than {MOST_JSON} bytes")));
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(Error::file("read", &self.path))?;
        Ok(bytes)
    }

    fn entry(&self, name: &str) -> Result<(Take<File>, u64), Error> {
        let found = self.entries.get(name);
        let &(position, size) = found.ok_or_else(|| self.bad(&format!("it has no {name}")))?;
        let mut file = File::open(&self.path).map_err(Error::file("open", &self.path))?;
        file.seek(SeekFrom::Start(position)).map_err(Error::file("read", &self.path))?;
        Ok((file.take(size), size))
    }
}

pub(crate) fn parse(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

fn blob_path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

/// The digest of a blob, as images write it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn tar_of(files: &[(&str, u32, &[u8])]) -> std::io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, mode, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
        builder.append_data(&mut header, name, *bytes)?;
    }
    let mut bytes = builder.into_inner()?;
    bytes.flush()?;
    Ok(bytes)
}

fn read_all(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(Error::file("read", path))
}

/// The machine's architecture in Go's words, which images use.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
