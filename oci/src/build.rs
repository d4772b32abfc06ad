//! Builds images without a container engine, the same bytes from the same input.
//!
//! An [`Image`] is a configuration and [layers](Layer) of [entries](Entry); [`write()`] puts it into
//! an OCI archive or an image layout, [`write_index`] several of them under one index. Nothing of
//! the machine or of the time goes in: entries are sorted, belong to root unless said otherwise
//! and are as old as Unix, and an image has no date. Layers are streamed through files beside the
//! output, which appears in one step, whole.
//!
//! ```
//! use unlade_oci::build::{Compression, Entry, Image, Layer, write};
//!
//! let layer = Layer::new([Entry::file("etc/motd", "hello\n")]).compressed(Compression::Gzip);
//! let mut image = Image::from_scratch("linux/amd64".parse()?);
//! image.config.user = Some("65532".to_owned());
//! image.layers.push(layer);
//!
//! let directory = tempfile::tempdir()?;
//! let output = format!("oci-archive:{}:v1", directory.path().join("motd.tar").display());
//! let written = write(&image, &output.parse()?)?;
//! assert!(written.digest.to_string().starts_with("sha256:"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blob;
pub mod bundle;
mod document;
mod entry;
mod layer;
mod output;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use oci_spec::image::{Descriptor, MediaType};

use self::blob::Blobs;
use crate::manifest::blob_path;
use crate::{Digest, Platform, Reference};

pub use entry::{Data, Entry, Kind};
pub use layer::{Compression, Layer};

/// What an image is made of.
#[derive(Debug, Clone)]
pub struct Image {
    /// What it is made for.
    pub platform: Platform,
    /// How a container of it is run.
    pub config: Config,
    /// Lowest first.
    pub layers: Vec<Layer>,
}

impl Image {
    /// An image without layers, and without anything in its configuration.
    pub fn from_scratch(platform: Platform) -> Self {
        Self { platform, config: Config::default(), layers: Vec::new() }
    }
}

/// How a container is run, and the labels (image-spec, config.md). What is empty is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// `USER`: a name or number, and perhaps a group after a colon.
    pub user: Option<String>,
    /// `ENV`: `NAME=value`, in this order.
    pub env: Vec<String>,
    /// `ENTRYPOINT`: program and arguments.
    pub entrypoint: Vec<String>,
    /// `CMD`: arguments that a user replaces.
    pub command: Vec<String>,
    /// `WORKDIR`.
    pub working_dir: Option<String>,
    /// `LABEL`.
    pub labels: BTreeMap<String, String>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The digest of the image's manifest, or of the index.
    pub digest: Digest,
    /// Bytes of all blobs: manifests, configurations and layers as stored.
    pub size: u64,
    /// Each image, in the order given.
    pub images: Vec<WrittenImage>,
}

/// One image of what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenImage {
    /// What it is made for.
    pub platform: Platform,
    /// The digest of its manifest.
    pub digest: Digest,
    /// Bytes of its manifest, configuration and layers as stored: what a node pulls.
    pub size: u64,
}

/// Why no image is built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path that is empty or has `..`, `.`, an empty part or a NUL in it.
    #[error("entry {path:?} is no path within the image")]
    Path {
        /// The path as given.
        path: String,
    },
    /// A file name that engines take for a removal.
    #[error("entry {path:?} would be taken for a whiteout")]
    Whiteout {
        /// The path as given.
        path: String,
    },
    /// Two entries of one layer with one path, or a removal of an entry of the same layer.
    #[error("entry {path:?} is there twice")]
    Twice {
        /// The path.
        path: String,
    },
    /// An entry beneath another that is no directory.
    #[error("entry {path:?} lies beneath {above:?}, which is no directory")]
    Beneath {
        /// The entry.
        path: String,
        /// What is no directory.
        above: String,
    },
    /// A file that goes into a layer cannot be read, or changes meanwhile.
    #[error("read {}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The output, or a file beside it, cannot be written.
    #[error("write {}", path.display())]
    Output {
        /// The output.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory for an image layout is there and not empty.
    #[error("{} is there already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A format that images are only read from, or a selection that is no name.
    #[error("an image is not written to {output}")]
    Unsupported {
        /// The output as given.
        output: String,
    },
    /// An index without images, or with two for one platform.
    #[error("an index needs an image for each of one or more platforms: {problem}")]
    Platforms {
        /// What it has instead.
        problem: String,
    },
    /// A document that the OCI's types refuse.
    #[error("describe the image")]
    Document(#[from] oci_spec::OciSpecError),
    /// A document that has no JSON.
    #[error("describe the image")]
    Json(#[from] serde_json::Error),
    /// A document that has no digest.
    #[error("describe the image")]
    Digest(#[from] crate::digest::Error),
}

impl Error {
    /// What to do, where that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Exists { .. } => "name a directory that is not there yet, or remove it",
            Self::Unsupported { .. } => {
                "oci:DIRECTORY[:NAME] and oci-archive:FILE[:NAME] are written"
            }
            Self::Whiteout { .. } => "names that start with .wh. remove files of lower layers",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Writes `image` to an OCI archive, whose place it takes if there is one, or to a new layout.
///
/// The name in `output` becomes the name in `index.json`: as it is
/// (`org.opencontainers.image.ref.name`), and if it has a slash also as the full name by which
/// containerd lists the image on import.
///
/// # Errors
///
/// If an entry is not fit for a layer, a file cannot be read, or the output cannot be written, in
/// which case nothing of it is left.
pub fn write(image: &Image, output: &Reference) -> Result<Written, Error> {
    output::staged(output, |blobs| {
        let (descriptor, written) = add(image, blobs)?;
        Ok((descriptor, vec![written]))
    })
}

/// Writes an index of `images`, one for each platform, and these.
///
/// # Errors
///
/// As [`write()`], and if two images are for the same platform or none is given.
pub fn write_index(images: &[Image], output: &Reference) -> Result<Written, Error> {
    if images.is_empty() {
        return Err(Error::Platforms { problem: "it has none".to_owned() });
    }
    for (at, image) in images.iter().enumerate() {
        if images.iter().skip(at + 1).any(|other| other.platform == image.platform) {
            return Err(Error::Platforms { problem: format!("two are for {}", image.platform) });
        }
    }
    output::staged(output, |blobs| {
        let mut descriptors = Vec::with_capacity(images.len());
        let mut written = Vec::with_capacity(images.len());
        for image in images {
            let (mut descriptor, image) = add(image, blobs)?;
            descriptor.set_platform(Some(document::platform(&image.platform)?));
            descriptors.push(descriptor);
            written.push(image);
        }
        let index = document::index(descriptors)?;
        Ok((blobs.document(MediaType::ImageIndex, &index)?, written))
    })
}

/// Puts all blobs of `image` in; the descriptor of its manifest.
fn add(image: &Image, blobs: &mut Blobs) -> Result<(Descriptor, WrittenImage), Error> {
    let mut layers = Vec::with_capacity(image.layers.len());
    let mut diff_ids = Vec::with_capacity(image.layers.len());
    for layer in &image.layers {
        let (descriptor, diff_id) = blobs.layer(layer)?;
        layers.push(descriptor);
        diff_ids.push(diff_id);
    }
    let configuration = document::configuration(image, &diff_ids);
    let configuration = blobs.document(MediaType::ImageConfig, &configuration)?;
    let content = layers.iter().chain([&configuration]).map(Descriptor::size).sum::<u64>();
    let manifest = document::manifest(configuration, layers)?;
    let descriptor = blobs.document(MediaType::ImageManifest, &manifest)?;
    let written = WrittenImage {
        platform: image.platform.clone(),
        digest: descriptor.digest().clone(),
        size: content + descriptor.size(),
    };
    Ok((descriptor, written))
}
