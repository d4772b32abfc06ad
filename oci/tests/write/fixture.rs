//! Builds and inspects small images.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unlade_bundle::Directory;
use unlade_oci::build::{Entry, Image, Layer, Written, write};
use unlade_oci::{Options, Platform};

pub const ANNOTATIONS: &str = "annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: etcd
  operators.operatorframework.io.bundle.channels.v1: alpha,beta
  com.redhat.openshift.versions: 4.10
";

/// A temporary directory for a test.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the names of the files in it.
    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Creates a bundle directory with these files and `annotations.yaml`.
    pub fn bundle(&self, files: &[(&str, &str)]) -> PathBuf {
        let root = self.path().join("bundle");
        for (path, text) in [("metadata/annotations.yaml", ANNOTATIONS)].iter().chain(files) {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    pub fn write(&self, image: &Image, transport: &str) -> (Written, String) {
        let output = format!("{transport}:{}", self.path().join("image").display());
        (write(image, &output.parse().unwrap()).unwrap(), output)
    }
}

pub fn platform(text: &str) -> Platform {
    text.parse().unwrap()
}

/// Returns the entries of a bundle of one manifest.
pub fn bundle() -> Vec<Entry> {
    vec![
        Entry::file("manifests/csv.yaml", "kind: A"),
        Entry::file("metadata/annotations.yaml", ANNOTATIONS),
    ]
}

pub fn image(layers: impl IntoIterator<Item = Layer>) -> Image {
    let mut image = Image::from_scratch(platform("linux/amd64"));
    image.layers.extend(layers);
    image
}

/// Reads an image with this crate, and returns its manifests and their contents.
pub fn read_back(source: &str) -> Vec<(String, String)> {
    let image = unlade_oci::read(&source.parse().unwrap(), &Options::default()).unwrap();
    let files = image.reading.content.files().iter();
    files
        .filter(|file| file.directory == Directory::Manifests)
        .map(|file| (file.name.clone(), String::from_utf8(file.bytes.clone()).unwrap()))
        .collect()
}

/// Writes an image of these layers as an archive and as a layout, and reads it with this crate.
pub fn round_trip(image: &Image) -> Vec<(String, String)> {
    let found = ["oci", "oci-archive"].map(|transport| {
        let place = Place::new();
        let (_, source) = place.write(image, transport);
        read_back(&source)
    });
    assert_eq!(found[0], found[1]);
    found[0].clone()
}

pub fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// Reads the blob of a descriptor from a layout.
pub fn blob(layout: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap();
    fs::read(layout.join("blobs").join(digest.replace(':', "/"))).unwrap()
}

pub fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Reads the manifest and the configuration of the only image of a layout.
pub fn documents(layout: &Path) -> (Value, Value) {
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    let manifest = json(&blob(layout, &index["manifests"][0]));
    let configuration = json(&blob(layout, &manifest["config"]));
    (manifest, configuration)
}
