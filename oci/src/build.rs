//! Builds images reproducibly, without a container engine.
//!
//! An [`Image`] is a configuration and [layers](Layer) of [entries](Entry). [`write()`] writes it
//! to an OCI archive or an image layout, and [`write_index`] writes several images and an index of
//! them. The result does not depend on the machine or the time: entries are sorted, belong to root
//! unless another owner is set, and have the modification time 0, and an image has no date. Layers
//! are streamed through files next to the output. The output appears when it is complete:
//! atomically, unless it is an empty directory, which gets the files one by one.
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
pub mod catalog;
pub(crate) mod document;
mod entry;
mod extend;
mod layer;
pub(crate) mod output;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use oci_spec::image::{Descriptor, MediaType};

use self::blob::Blobs;
use crate::manifest::blob_path;
use crate::{Digest, Platform, Reference};

pub use entry::{Data, Entry, Kind};
pub use extend::extend;
pub use layer::{Compression, Layer};

/// An image to build.
#[derive(Debug, Clone)]
pub struct Image {
    /// The platform that the image is for.
    pub platform: Platform,
    /// The configuration of its containers.
    pub config: Config,
    /// The layers, lowest first.
    pub layers: Vec<Layer>,
}

impl Image {
    /// Creates an image without layers and with an empty configuration.
    pub fn from_scratch(platform: Platform) -> Self {
        Self { platform, config: Config::default(), layers: Vec::new() }
    }
}

/// The configuration of a container, and the labels (image-spec, config.md). Empty fields are left
/// out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// `USER`: a name or number, and an optional group after a colon.
    pub user: Option<String>,
    /// `ENV`: `NAME=value`, in this order.
    pub env: Vec<String>,
    /// `ENTRYPOINT`: program and arguments.
    pub entrypoint: Vec<String>,
    /// `CMD`: the default arguments, which a user can replace.
    pub command: Vec<String>,
    /// `WORKDIR`: the working directory.
    pub working_dir: Option<String>,
    /// `LABEL`: the labels.
    pub labels: BTreeMap<String, String>,
}

/// The result of writing one or more images.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The digest of the manifest of the image, or of the index.
    pub digest: Digest,
    /// The size of all blobs in bytes: manifests, configurations and stored layers.
    pub size: u64,
    /// The images, in the order in which they were passed.
    pub images: Vec<WrittenImage>,
}

/// One image that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenImage {
    /// The platform that the image is for.
    pub platform: Platform,
    /// The digest of its manifest.
    pub digest: Digest,
    /// The size of its manifest, configuration and stored layers in bytes. A node pulls this much.
    pub size: u64,
}

/// An error that prevents an image from being built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path is empty, or contains `..`, `.`, an empty part or a NUL.
    #[error("the entry {path:?} is not a path inside the image")]
    Path {
        /// The path as passed.
        path: String,
    },
    /// Engines would interpret the name of a file as a removal.
    #[error("the entry {path:?} would be read as a whiteout")]
    Whiteout {
        /// The path as passed.
        path: String,
    },
    /// Two entries of one layer have the same path, or a removal names an entry of the same layer.
    #[error("the entry {path:?} occurs twice")]
    Twice {
        /// The path.
        path: String,
    },
    /// An entry is inside another entry that is not a directory.
    #[error("the entry {path:?} is inside {above:?}, which is not a directory")]
    Beneath {
        /// The entry.
        path: String,
        /// The other entry.
        above: String,
    },
    /// A file for a layer cannot be read, or changes while it is read. Or the index of the layout
    /// to which an image is added cannot be read.
    #[error("failed to read {}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The output, or a temporary file next to it, cannot be written.
    #[error("failed to write {}", path.display())]
    Output {
        /// The output.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory for the image layout already exists and is not empty.
    #[error("{} already exists and is not empty", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The format is supported only for reading, or the selection is not a name.
    #[error("{output} is not a supported output for an image")]
    Unsupported {
        /// The output as passed.
        output: String,
    },
    /// The index has no images, or two images for the same platform.
    #[error("an index needs exactly one image for each platform: {problem}")]
    Platforms {
        /// The problem.
        problem: String,
    },
    /// Layers cannot be added to an image.
    #[error("the base image is unsuitable: {problem}")]
    Base {
        /// The reason.
        problem: String,
    },
    /// The OCI types reject a document.
    #[error("failed to write the documents of the image")]
    Document(#[from] oci_spec::OciSpecError),
    /// A document cannot be serialised.
    #[error("failed to write the documents of the image")]
    Json(#[from] serde_json::Error),
    /// The digest of a document cannot be computed.
    #[error("failed to write the documents of the image")]
    Digest(#[from] crate::digest::Error),
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Exists { .. } => "use a directory that does not exist, or remove this one",
            Self::Unsupported { .. } => {
                "use oci:DIRECTORY[:TAG] or oci-archive:FILE[:TAG]; to copy an image, you can also \
                 use dir:DIRECTORY or docker://NAME[:TAG]"
            }
            Self::Whiteout { .. } => {
                "rename the file: a name that starts with .wh. removes a file of a lower layer"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Writes `image` to an OCI archive, or to a new image layout. An existing archive is replaced.
///
/// The name in `output` becomes the name in `index.json` (`org.opencontainers.image.ref.name`). If
/// it contains a slash, the full name is written too, by which containerd lists the image on
/// import.
///
/// # Errors
///
/// Returns an error if an entry is not valid, a file cannot be read, or the output cannot be
/// written. Then no part of the output is left.
pub fn write(image: &Image, output: &Reference) -> Result<Written, Error> {
    output::write_staged(output, |blobs| {
        let (descriptor, written) = add_image(image, blobs)?;
        Ok((descriptor, vec![written]))
    })
}

/// Writes `images`, one for each platform, and an index of them.
///
/// # Errors
///
/// Returns the errors of [`write()`]. Also returns an error if `images` is empty, or if two images
/// are for the same platform.
pub fn write_index(images: &[Image], output: &Reference) -> Result<Written, Error> {
    if images.is_empty() {
        return Err(Error::Platforms { problem: "it has no images".to_owned() });
    }
    for (at, image) in images.iter().enumerate() {
        if images.iter().skip(at + 1).any(|other| other.platform == image.platform) {
            return Err(Error::Platforms {
                problem: format!("two images are for {}", image.platform),
            });
        }
    }
    output::write_staged(output, |blobs| {
        let mut descriptors = Vec::with_capacity(images.len());
        let mut written = Vec::with_capacity(images.len());
        for image in images {
            let (mut descriptor, image) = add_image(image, blobs)?;
            descriptor.set_platform(Some(document::platform(&image.platform)?));
            descriptors.push(descriptor);
            written.push(image);
        }
        let index = document::index(descriptors)?;
        Ok((blobs.add_document(MediaType::ImageIndex, &index)?, written))
    })
}

/// Adds all blobs of `image`, and returns the descriptor of its manifest.
fn add_image(image: &Image, blobs: &mut Blobs) -> Result<(Descriptor, WrittenImage), Error> {
    let mut layers = Vec::with_capacity(image.layers.len());
    let mut diff_ids = Vec::with_capacity(image.layers.len());
    for layer in &image.layers {
        let (descriptor, diff_id) = blobs.add_layer(layer)?;
        layers.push(descriptor);
        diff_ids.push(diff_id);
    }
    let configuration = document::configuration(image, &diff_ids);
    let configuration = blobs.add_document(MediaType::ImageConfig, &configuration)?;
    let content = layers.iter().chain([&configuration]).map(Descriptor::size).sum::<u64>();
    let manifest = document::manifest(configuration, layers)?;
    let descriptor = blobs.add_document(MediaType::ImageManifest, &manifest)?;
    let written = WrittenImage {
        platform: image.platform.clone(),
        digest: descriptor.digest().clone(),
        size: content + descriptor.size(),
    };
    Ok((descriptor, written))
}
