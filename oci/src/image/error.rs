//! The errors of reading an image, and what to do about them.

use std::io;
use std::path::{Path as FilePath, PathBuf};

use unlade_bundle::source;
use unlade_name::ImageReference;

use crate::{Remedy, Transport, digest, extract, layer, manifest, store};

/// An error that prevents a bundle from being read from an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or directory does not contain an image in a supported format.
    #[error("{} is not an OCI image layout, OCI archive or docker archive", path.display())]
    Unrecognized {
        /// The file or directory.
        path: PathBuf,
        /// Whether it contains the directories of a bundle that is not in an image.
        has_bundle: bool,
    },
    /// The format of the archive differs from that of its transport.
    #[error("{} is {}, not {}", path.display(), noun(*found), noun(*wanted))]
    Transport {
        /// The archive.
        path: PathBuf,
        /// The requested transport.
        wanted: Transport,
        /// The transport that fits the archive.
        found: Transport,
    },
    /// The file or directory cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The image does not exist, or is not valid.
    #[error("failed to read the image in {}", path.display())]
    Manifest {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: manifest::Error,
    },
    /// The image in an [`Origin`](crate::Origin) does not exist, cannot be read, or is not valid.
    #[error(transparent)]
    Origin(manifest::Error),
    /// The image is in a registry, which another crate reads.
    #[error("{image} is in a registry, which this reader of files does not support")]
    Remote {
        /// The reference of the image.
        image: String,
    },
    /// A layer does not match its digest or size.
    #[error("the layer {layer} does not match its digest or size")]
    Blob {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The difference.
        source: digest::Error,
    },
    /// The tar of a layer does not match its digest in the configuration.
    #[error("the tar of the layer {layer} does not match the configuration")]
    DiffId {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The difference.
        source: digest::Error,
    },
    /// A layer cannot be read, or cannot be applied to the layers below it.
    #[error("failed to apply the layer {layer}")]
    Layer {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The reason.
        source: layer::Error,
    },
    /// The image does not contain a valid bundle.
    #[error("{}", describe(.0))]
    Bundle(#[from] source::Error),
    /// A directory of the image cannot be written to disk.
    #[error(transparent)]
    Extract(#[from] extract::Error),
    /// Links lead through too many parts of the image, so that the layers were read too often.
    #[error("resolving the links of the bundle would read the layers too many times")]
    Rounds,
}

impl Error {
    /// Checks whether one of the [`Limits`](crate::Limits) was exceeded.
    pub fn is_limit(&self) -> bool {
        crate::budget::is_exceeded(self)
            || matches!(
                self,
                Self::Store(store::Error::TooLarge { .. })
                    | Self::Layer {
                        source: layer::Error::Files { .. }
                            | layer::Error::TotalSize { .. }
                            | layer::Error::Path { .. },
                        ..
                    }
            )
            || match self {
                Self::Manifest { source, .. } | Self::Origin(source) => source.is_limit(),
                Self::Bundle(error) => error.is_limit(),
                Self::Extract(error) => error.is_limit(),
                _ => false,
            }
    }

    /// Returns the change that may help, if one is known.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Manifest { source, .. } | Self::Origin(source) => source.remedy(),
            _ => None,
        }
    }

    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Manifest { source, .. } | Self::Origin(source) => source.hint(),
            Self::Unrecognized { path, has_bundle: true } => Some(format!(
                "extract {}, and pass the directory: the archive contains the files of a bundle, \
                 but no image",
                path.display()
            )),
            Self::Transport { path, found, .. } => {
                Some(format!("use {found}:{}, or the path alone", path.display()))
            }
            Self::Unrecognized { path, .. } if path.is_dir() => Some(
                "pass a bundle directory, which contains manifests/ and metadata/, or an image \
                 layout, which contains index.json"
                    .to_owned(),
            ),
            Self::Extract(extract::Error::Label { .. }) => {
                Some("check that this is the image of a catalog".to_owned())
            }
            Self::Bundle(source::Error::Missing { .. }) => {
                Some("check that this is the image of a bundle and not of an operator".to_owned())
            }
            Self::Store(store::Error::Open { path, source })
                if source.kind() == io::ErrorKind::NotADirectory && path.is_file() =>
            {
                Some(format!(
                    "{0} is a file: use oci-archive:{0}, or the path alone",
                    path.display()
                ))
            }
            Self::Store(store::Error::NotAFile { path }) if path.is_dir() => {
                Some(format!("{0} is a directory: use oci:{0}, or the path alone", path.display()))
            }
            Self::Store(store::Error::Open { path, source })
                if source.kind() == io::ErrorKind::NotFound && may_be_remote(path) =>
            {
                Some(format!("to read an image from a registry, use docker://{}", path.display()))
            }
            _ => None,
        }
    }
}

fn describe(error: &source::Error) -> &'static str {
    match error {
        source::Error::Layout(_) => "failed to find the manifests of the bundle",
        source::Error::Content(_) => "the files are not a valid bundle",
        _ => "the image does not contain a bundle",
    }
}

fn noun(transport: Transport) -> &'static str {
    match transport {
        Transport::Oci => "an OCI image layout",
        Transport::OciArchive => "an OCI archive",
        Transport::DockerArchive => "a docker archive",
        Transport::Dir => "a directory of the transport dir",
    }
}

/// Checks whether a path that does not exist may be the name of an image in a registry: it has a
/// tag, a digest or a namespace, and its first part is not a directory.
fn may_be_remote(path: &FilePath) -> bool {
    let Some(name) = path.to_str() else { return false };
    let first = path.iter().next().unwrap_or_default();
    let is_archive =
        path.extension().is_some_and(|it| ["tar", "gz", "tgz", "zst"].iter().any(|e| it == *e));
    name.contains(['/', ':', '@'])
        && ImageReference::parse(name).is_ok()
        && !is_archive
        && !FilePath::new(first).is_dir()
}
