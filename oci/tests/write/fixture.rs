//! Small images, and ways to look into them.

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

/// A directory of its own for a test.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A bundle directory with these files beside `annotations.yaml`.
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

/// The entries of a bundle of one manifest.
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

/// The manifests that our reader finds, and their contents.
pub fn read_back(source: &str) -> Vec<(String, String)> {
    let image = unlade_oci::read(&source.parse().unwrap(), &Options::default()).unwrap();
    let files = image.reading.content.files().iter();
    files
        .filter(|file| file.directory == Directory::Manifests)
        .map(|file| (file.name.clone(), String::from_utf8(file.bytes.clone()).unwrap()))
        .collect()
}

/// What our reader finds in an image of these layers, through an archive and a layout.
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

/// The blob of a layout that a descriptor points at.
pub fn blob(layout: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap();
    fs::read(layout.join("blobs").join(digest.replace(':', "/"))).unwrap()
}

pub fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Manifest and configuration of the only image of a layout.
pub fn documents(layout: &Path) -> (Value, Value) {
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    let manifest = json(&blob(layout, &index["manifests"][0]));
    let configuration = json(&blob(layout, &manifest["config"]));
    (manifest, configuration)
}
