//! Compares an image that an engine builds with ours.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use flate2::read::GzDecoder;
use serde_json::Value;
use unlade_images::tree;
use unlade_oci::build::{Image, write};
use unlade_oci::copy::{BoxError, Destination, Options, copy};
use unlade_oci::{Descriptor, Source};

/// The properties of an image that matter when it runs.
pub(crate) struct Built {
    /// The platform and the configuration.
    pub(crate) config: Value,
    /// The files by path.
    pub(crate) files: BTreeMap<PathBuf, File>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct File {
    kind: tar::EntryType,
    mode: u32,
    owner: (u64, u64),
    link: Option<PathBuf>,
    bytes: Vec<u8>,
}

/// Builds `containerfile` with buildah. The context has the files of `image` in the directory
/// `image`.
pub(crate) fn build(containerfile: &str, image: &Image, directory: &Path) -> Built {
    let context = directory.join("context");
    fs::create_dir(&context).unwrap();
    tree::write(image, &context.join("image")).unwrap();
    let file = directory.join("Containerfile");
    fs::write(&file, containerfile).unwrap();
    let buildah = |arguments: &[&Path]| {
        let mut buildah = Command::new("buildah");
        // A separate store, which needs no file system of the kernel.
        buildah
            .arg("--root")
            .arg(directory.join("store"))
            .arg("--runroot")
            .arg(directory.join("run"));
        let output = buildah.args(["--storage-driver", "vfs"]).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "buildah {arguments:?}: {error}");
    };
    // The labels of buildah itself are the only ones that an engine adds.
    let build = ["build", "--isolation=chroot", "--identity-label=false", "--tag=it", "--file"];
    let mut words: Vec<&Path> = build.iter().map(Path::new).collect();
    words.extend([&*file, &*context]);
    buildah(&words);
    let archive = format!("oci-archive:{}", directory.join("built.tar").display());
    buildah(&["push".as_ref(), "it".as_ref(), archive.as_ref()]);
    read(&archive)
}

/// Returns our image, as it is written.
pub(crate) fn ours(image: &Image, directory: &Path) -> Built {
    let archive = format!("oci-archive:{}", directory.join("ours.tar").display());
    write(image, &archive.parse().unwrap()).unwrap();
    read(&archive)
}

fn read(archive: &str) -> Built {
    let blobs = Blobs::default();
    copy(&archive.parse::<Source>().unwrap(), &blobs, &Options::default()).unwrap();
    let blobs = blobs.0.into_inner().unwrap();
    let json = |digest: &Value| -> Value {
        serde_json::from_slice(&blobs[digest.as_str().unwrap()]).unwrap()
    };
    let manifest: Value = serde_json::from_slice(&blobs["root"]).unwrap();
    let config = json(&manifest["config"]["digest"]);
    let mut files = BTreeMap::new();
    for layer in manifest["layers"].as_array().unwrap() {
        let bytes = &blobs[layer["digest"].as_str().unwrap()];
        let mut layer = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        for entry in layer.entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header();
            let mut file = File {
                kind: header.entry_type(),
                mode: header.mode().unwrap() & 0o7777,
                owner: (header.uid().unwrap(), header.gid().unwrap()),
                link: entry.link_name().unwrap().map(Cow::into_owned),
                bytes: Vec::new(),
            };
            entry.read_to_end(&mut file.bytes).unwrap();
            files.insert(entry.path().unwrap().into_owned(), file);
        }
    }
    let config =
        ["os", "architecture", "config"].map(|name| (name.to_owned(), config[name].clone()));
    Built { config: Value::Object(config.into_iter().collect()), files }
}

/// Keeps all blobs by their digests. The manifest is `root`.
#[derive(Default)]
struct Blobs(Mutex<BTreeMap<String, Vec<u8>>>);

impl Destination for Blobs {
    fn has(&self, _: &Descriptor) -> Result<bool, BoxError> {
        Ok(false)
    }

    fn blob(&self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), BoxError> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        self.0.lock().unwrap().insert(blob.digest().to_string(), bytes);
        Ok(())
    }

    fn manifest(&self, _: &Descriptor, bytes: &[u8], is_root: bool) -> Result<(), BoxError> {
        assert!(is_root, "an index");
        self.0.lock().unwrap().insert("root".to_owned(), bytes.to_owned());
        Ok(())
    }
}
