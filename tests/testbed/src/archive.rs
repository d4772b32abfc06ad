//! OCI image archives: written in the simplest form, read to push any.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Error, file};

/// The largest index, manifest or other JSON that is read out of an archive.
const MOST_JSON: u64 = 4 << 20;

/// A file of an image.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its path, without a leading slash.
    pub path: String,
    /// Its permission bits.
    pub mode: u32,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// A program of this machine under another path, executable by all.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if it can't be read.
    pub fn program(path: &str, program: &Path) -> Result<Self, Error> {
        let bytes = fs::read(program).map_err(Error::file("read", program))?;
        Ok(Self { path: path.to_owned(), mode: 0o755, bytes })
    }
}

/// Writes an OCI archive of one image: the files as its only layer, and its `config` (`Env`,
/// `Entrypoint`, `User`, `Labels` and so on, by their names in the image specification). The same
/// input gives the same bytes.
///
/// # Errors
///
/// [`Error::File`] if it can't be written.
pub fn write(path: &Path, name: &str, config: &Value, files: &[Entry]) -> Result<(), Error> {
    let layer = tar_of(files).map_err(Error::file("write", path))?;
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": config,
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
        // containerd names an imported image by this one, in full.
        entry.insert("annotations".into(), json!({"io.containerd.image.name": name}));
    }
    let index = json!({"schemaVersion": 2, "manifests": [entry]}).to_string().into_bytes();
    let file = |path: &str, bytes| Entry { path: path.to_owned(), mode: 0o644, bytes };
    let blob = |bytes: Vec<u8>| file(&blob_path(&digest(&bytes)), bytes);
    let archive = tar_of(&[
        file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        file("index.json", index),
        blob(manifest),
        blob(config),
        blob(layer),
    ]);
    file::write(path, &archive.map_err(Error::file("write", path))?)
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
            let entry = entry.map_err(|error| Error::Archive {
                path: path.to_path_buf(),
                // The rest of it is bytes of the file.
                problem: error.to_string().lines().next().unwrap_or_default().to_owned(),
            })?;
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

fn tar_of(files: &[Entry]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for Entry { path, mode, bytes } in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
        builder.append_data(&mut header, path, bytes.as_slice())?;
    }
    builder.into_inner()
}

/// The machine's architecture in Go's words, which images use.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Archive, Entry, digest, parse, write};

    #[test]
    fn the_same_input_gives_the_same_archive() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let files = [Entry { path: "a/b".into(), mode: 0o755, bytes: b"x".to_vec() }];
        for path in [&one, &two] {
            write(path, "unlade.test/a:1", &json!({"User": "1001"}), &files).unwrap();
        }
        assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    }

    #[test]
    fn a_written_archive_reads_back_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.tar");
        let files = [Entry { path: "a".into(), mode: 0o644, bytes: b"x".to_vec() }];
        write(&path, "unlade.test/a:1", &json!({}), &files).unwrap();
        let archive = Archive::open(&path).unwrap();
        let root = archive.root().unwrap();
        let manifest = parse(&archive.manifest(&root).unwrap()).unwrap();
        assert_eq!(manifest["layers"][0]["mediaType"], "application/vnd.oci.image.layer.v1.tar");

        let other = json!({"digest": digest(b"other")});
        let problem = archive.manifest(&other).unwrap_err().to_string();
        assert!(problem.contains("it has no blobs/sha256/"), "{problem}");
        let bytes = std::fs::read(&path).unwrap();
        let damaged = String::from_utf8(bytes).unwrap().replace("linux", "minix");
        std::fs::write(&path, damaged).unwrap();
        let archive = Archive::open(&path).unwrap();
        let problem = archive.manifest(&manifest["config"]).unwrap_err().to_string();
        assert!(problem.contains("damaged"), "{problem}");
    }
}
