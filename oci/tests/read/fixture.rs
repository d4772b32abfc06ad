//! Builds valid and invalid images in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};
use unlade_bundle::{Directory, Limits};
use unlade_oci::{Error, Image, Options, Platform};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

pub const ANNOTATIONS: &[u8] =
    b"annotations:\n  operators.operatorframework.io.bundle.package.v1: etcd\n";

/// A builder for a tar.
pub struct Tar(Builder<Vec<u8>>);

impl Tar {
    pub fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    /// Creates a layer with a bundle of one manifest.
    pub fn bundle() -> Self {
        Self::new()
            .directory("manifests")
            .file("manifests/csv.yaml", "kind: A")
            .directory("metadata")
            .file("metadata/annotations.yaml", ANNOTATIONS)
    }

    pub fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.entry(EntryType::Regular, path, "", bytes.as_ref())
    }

    pub fn directory(self, path: &str) -> Self {
        self.entry(EntryType::Directory, path, "", &[])
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, path, target, &[])
    }

    pub fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Link, path, target, &[])
    }

    /// Adds an entry unchanged. Its path may be one that the tar crate does not write.
    pub fn entry(self, kind: EntryType, path: &str, target: &str, bytes: &[u8]) -> Self {
        let size = bytes.len() as u64;
        self.header(kind, path.as_bytes(), target, size, bytes)
    }

    pub fn header(
        mut self,
        kind: EntryType,
        path: &[u8],
        target: &str,
        size: u64,
        bytes: &[u8],
    ) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(size);
        if kind == EntryType::GNUSparse {
            header.as_gnu_mut().unwrap().set_real_size(size);
        }
        let old = header.as_old_mut();
        old.name[..path.len()].copy_from_slice(path);
        old.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        self.0.append(&header, bytes).unwrap();
        self
    }

    /// Adds an entry without data. Its path may be long.
    pub fn long_name(self, kind: EntryType, path: &str) -> Self {
        self.entry(EntryType::GNULongName, "././@LongLink", "", path.as_bytes()).entry(
            kind,
            "long",
            "",
            &[],
        )
    }

    /// Adds a link. Its target may be long.
    pub fn long_link(self, kind: EntryType, path: &str, target: &str) -> Self {
        self.entry(EntryType::GNULongLink, "././@LongLink", "", target.as_bytes()).entry(
            kind,
            path,
            "",
            &[],
        )
    }

    /// Adds raw bytes.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.get_mut().extend(bytes);
        self
    }

    /// Adds PAX records for the next entry.
    pub fn pax(mut self, records: &[(&str, &[u8])]) -> Self {
        self.0.append_pax_extensions(records.iter().copied()).unwrap();
        self
    }

    pub fn done(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", unlade_text::hex(&Sha256::digest(bytes)))
}

/// A stored layer, and its tar.
#[derive(Clone)]
pub struct Layer {
    pub media_type: &'static str,
    pub stored: Vec<u8>,
    pub tar: Vec<u8>,
}

impl Layer {
    pub fn plain(tar: Tar) -> Self {
        let tar = tar.done();
        Self { media_type: LAYER, stored: tar.clone(), tar }
    }

    pub fn gzip(tar: Tar) -> Self {
        let tar = tar.done();
        Self { media_type: "application/vnd.oci.image.layer.v1.tar+gzip", stored: gzip(&tar), tar }
    }

    pub fn zstd(tar: Tar) -> Self {
        let tar = tar.done();
        Self { media_type: "application/vnd.oci.image.layer.v1.tar+zstd", stored: zstd(&tar), tar }
    }
}

/// Returns the configuration of an image with these layers.
pub fn configuration(layers: &[Layer], architecture: &str) -> Value {
    json!({
        "os": "linux",
        "architecture": architecture,
        "config": {"Labels": {"one": "1"}, "ExposedPorts": null},
        "rootfs": {
            "type": "layers",
            "diff_ids": layers.iter().map(|layer| digest(&layer.tar)).collect::<Vec<_>>(),
        },
    })
}

/// The files of an image layout.
#[derive(Clone, Default)]
pub struct Layout {
    pub files: BTreeMap<String, Vec<u8>>,
    pub manifests: Vec<Value>,
}

impl Layout {
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a layout with one image of these layers, which has no name.
    pub fn of(layers: &[Layer]) -> Self {
        let mut layout = Self::new();
        let image = layout.image(layers, "amd64");
        layout.manifests.push(image);
        layout
    }

    /// Adds a blob, and returns its descriptor.
    pub fn blob(&mut self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = digest(bytes);
        self.files.insert(format!("blobs/{}", digest.replace(':', "/")), bytes.to_owned());
        json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
    }

    pub fn json(&mut self, media_type: &str, value: &Value) -> Value {
        self.blob(media_type, value.to_string().as_bytes())
    }

    /// Adds an image, and returns the descriptor of its manifest.
    pub fn image(&mut self, layers: &[Layer], architecture: &str) -> Value {
        let config = self.json(CONFIG, &configuration(layers, architecture));
        let layers: Vec<_> =
            layers.iter().map(|layer| self.blob(layer.media_type, &layer.stored)).collect();
        self.json(
            MANIFEST,
            &json!({
                "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
            }),
        )
    }

    /// Adds an index of `manifests`, and returns its descriptor.
    pub fn index(&mut self, manifests: &[Value]) -> Value {
        self.json(
            INDEX,
            &json!({
                "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests,
            }),
        )
    }

    /// Returns all files, including `index.json` with the manifests of `self`.
    pub fn all_files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.files.clone();
        let index = json!({"schemaVersion": 2, "manifests": self.manifests});
        files.insert("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec());
        files.insert("index.json".to_owned(), index.to_string().into_bytes());
        files
    }

    pub fn tar(&self) -> Vec<u8> {
        let files = self.all_files();
        let tar = files.iter().fold(Tar::new(), |tar, (path, bytes)| tar.file(path, bytes));
        tar.done()
    }
}

/// Adds the name in the layout to `descriptor`.
pub fn named(mut descriptor: Value, name: &str) -> Value {
    descriptor["annotations"] = json!({"org.opencontainers.image.ref.name": name});
    descriptor
}

/// Adds a platform such as `linux/amd64` to `descriptor`.
pub fn for_platform(mut descriptor: Value, platform: &str) -> Value {
    let (os, architecture) = platform.split_once('/').unwrap();
    descriptor["platform"] = json!({"os": os, "architecture": architecture});
    descriptor
}

/// A temporary directory for a test.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn layout(&self, layout: &Layout) -> PathBuf {
        let path = self.path().join("layout");
        for (name, bytes) in layout.all_files() {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        path
    }
}

/// Reads `source`.
pub fn read(source: &str) -> Result<Image, Error> {
    unlade_oci::read(&source.parse().unwrap(), &Options::default())
}

pub fn read_for(source: &str, platform: &str) -> Result<Image, Error> {
    let platform: Option<Platform> = Some(platform.parse().unwrap());
    unlade_oci::read(&source.parse().unwrap(), &Options::default().with_platform(platform))
}

/// Reads an image of these layers.
pub fn read_layers(layers: &[Layer]) -> Result<Image, Error> {
    read_with(layers, &Options::default())
}

pub fn read_with(layers: &[Layer], options: &Options) -> Result<Image, Error> {
    let place = Place::new();
    let path = place.layout(&Layout::of(layers));
    unlade_oci::read(&format!("oci:{}", path.display()).parse().unwrap(), options)
}

/// Reads a bundle with the layer `tar` over it.
pub fn read_over_bundle(tar: Tar) -> Result<Image, Error> {
    read_layers(&[Layer::plain(Tar::bundle()), Layer::plain(tar)])
}

/// Returns the manifests of an image, and their contents.
pub fn manifests(image: &Image) -> Vec<(&str, &str)> {
    let files = image.reading.content.files().iter();
    files
        .filter(|file| file.directory == Directory::Manifests)
        .map(|file| (file.name.as_str(), std::str::from_utf8(&file.bytes).unwrap()))
        .collect()
}

/// Formats the error of `result` with all its causes.
pub fn refusal(result: Result<Image, Error>) -> String {
    unlade_text::chain(&result.unwrap_err())
}

/// Returns options with changed limits.
pub fn limited(change: impl FnOnce(&mut unlade_oci::Limits)) -> Options {
    let mut options = Options::default();
    change(&mut options.limits);
    options
}

/// Returns options with changed limits for the content.
pub fn limited_content(change: impl FnOnce(&mut Limits)) -> Options {
    limited(|limits| change(&mut limits.content))
}
