//! [`read`]: reads the bundle in an image in a file or directory.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::{Path as FilePath, PathBuf};

use unlade_bundle::{Reading, source};
use unlade_name::ImageReference;
use unlade_text::excerpt;

use crate::budget::{Budget, Exceeded};
use crate::bundle::{self, Stop};
use crate::compression::decompress;
use crate::digest::{self, Verified};
use crate::layer::{self, Stack};
use crate::manifest::{self, Layer, Manifest};
use crate::origin::{Kind, Origin, Part};
use crate::store::{self, Store};
use crate::{Digest, Limits, Platform, Select, Source, Transport, docker, layout};

/// The maximum number of times that the layers are read. Once is usually enough. Each hard link or
/// directory link to a path that was not kept needs one more time.
const MAX_ROUNDS: usize = 10;

/// Options of [`read`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The platform to select from an index. If `None`, the platform of the host, else the only
    /// one.
    pub platform: Option<Platform>,
    /// The limits for everything that is read.
    pub limits: Limits,
}

/// A bundle, and the image that it was read from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Image {
    /// The bundle, and the findings.
    pub reading: Reading,
    /// The name of the image in the file or directory.
    pub name: Option<String>,
    /// The digest of the manifest of the image. `None` for a docker archive, which has no manifest.
    pub digest: Option<Digest>,
    /// The digest of the configuration, which is the image ID of Docker and podman.
    pub id: Digest,
    /// The platform in the configuration. Parts that it does not name are `unknown`.
    pub platform: Platform,
    /// The labels in the configuration.
    pub labels: BTreeMap<String, String>,
}

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
    /// The archive has another format than its transport.
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
    /// The image in an [`Origin`] does not exist, cannot be read, or is not valid.
    #[error(transparent)]
    Origin(manifest::Error),
    /// The image is in a registry, which another crate reads.
    #[error("{image} is in a registry, which the reader of files cannot read")]
    Remote {
        /// The reference of the image.
        image: String,
    },
    /// A layer does not match its digest or size.
    #[error("layer {layer} does not match its digest or size")]
    Blob {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The difference.
        source: digest::Error,
    },
    /// The tar of a layer does not match its digest in the configuration.
    #[error("the tar of layer {layer} does not match the configuration")]
    DiffId {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The difference.
        source: digest::Error,
    },
    /// A layer cannot be read, or cannot be applied to the layers below it.
    #[error("failed to apply layer {layer}")]
    Layer {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The reason.
        source: layer::Error,
    },
    /// The image does not contain a valid bundle.
    #[error("{}", describe(.0))]
    Bundle(#[from] source::Error),
    /// Links lead through too many parts of the image, so that the layers were read too often.
    #[error("the links of the bundle lead through too many parts of the image")]
    Rounds,
}

impl Error {
    /// Checks whether one of the [`Limits`] was exceeded.
    pub fn is_limit(&self) -> bool {
        let first: &(dyn std::error::Error + 'static) = self;
        let exceeded = std::iter::successors(Some(first), |error| error.source()).any(|error| {
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<Exceeded>)
        });
        exceeded
            || matches!(
                self,
                Self::Store(store::Error::TooLarge { .. })
                    | Self::Manifest {
                        source: manifest::Error::Nesting { .. }
                            | manifest::Error::Layers { .. }
                            | manifest::Error::Store(store::Error::TooLarge { .. }),
                        ..
                    }
                    | Self::Origin(
                        manifest::Error::Nesting { .. }
                            | manifest::Error::Layers { .. }
                            | manifest::Error::Store(store::Error::TooLarge { .. }),
                    )
                    | Self::Layer {
                        source: layer::Error::Files { .. }
                            | layer::Error::TotalSize { .. }
                            | layer::Error::Path { .. },
                        ..
                    }
            )
            || matches!(self, Self::Bundle(error) if error.is_limit())
    }

    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Manifest { source, .. } | Self::Origin(source) => source.hint(),
            Self::Unrecognized { path, has_bundle: true } => Some(format!(
                "it contains the files of a bundle, but no image: extract {} and pass the directory",
                path.display()
            )),
            Self::Transport { path, found, .. } => {
                Some(format!("use {found}:{}, or the path alone", path.display()))
            }
            Self::Unrecognized { path, .. } if path.is_dir() => Some(
                "a bundle directory has manifests/ and metadata/, an image layout has index.json"
                    .to_owned(),
            ),
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
    }
}

/// Checks whether a path that does not exist is probably the name of an image in a registry,
/// because it has a tag or a digest.
fn may_be_remote(path: &FilePath) -> bool {
    path.to_str()
        .is_some_and(|name| name.contains([':', '@']) && ImageReference::parse(name).is_ok())
}

/// Reads the bundle in the image that `source` names.
///
/// A path without a transport is an OCI layout if it is a directory. The format of a file is
/// detected from its content. Since version 25, `docker save` writes archives that are both OCI
/// archives and docker archives. Such an archive is read as an OCI archive, because these have more
/// digests.
///
/// # Errors
///
/// Returns an error if the image does not exist, if several images exist and none is selected, if
/// anything does not match its digest, if a limit is exceeded, or if the image does not contain a
/// bundle.
pub fn read(source: &Source, options: &Options) -> Result<Image, Error> {
    let budget = Budget::new(options.limits.clone());
    let (path, select) = path_of(source)?;
    let (store, transport) = open(source, path, &budget)?;
    let manifest = find(&store, transport, select, options, &budget)
        .map_err(|source| Error::Manifest { path: path.clone(), source })?;
    Image::unpack(&store, manifest, &budget)
}

/// Reads the bundle in the image of `origin`, such as one in a registry.
///
/// # Errors
///
/// Returns an error if the origin fails, and under the same conditions as [`read`].
pub fn read_from(origin: &dyn Origin, options: &Options) -> Result<Image, Error> {
    let budget = Budget::new(options.limits.clone());
    let store = Store::origin(origin, &budget);
    let manifest = layout::find_root(origin, &store, options.platform.as_ref(), &budget)
        .map_err(Error::Origin)?;
    Image::unpack(&store, manifest, &budget)
}

impl Image {
    fn unpack(store: &Store<'_>, manifest: Manifest, budget: &Budget) -> Result<Self, Error> {
        let reading = unpack(store, &manifest.layers, budget)?;
        let Manifest { name, digest, id, platform, labels, .. } = manifest;
        Ok(Self { reading, name, digest, id, platform, labels })
    }
}

/// Returns the file or directory of a source, and the selection in it.
pub(crate) fn path_of(source: &Source) -> Result<(&PathBuf, Option<&Select>), Error> {
    match source {
        Source::Image(reference) => Ok((&reference.path, reference.select.as_ref())),
        Source::Path(path) => Ok((path, None)),
        Source::Remote(image) => Err(Error::Remote { image: image.to_string() }),
    }
}

pub(crate) fn open<'a>(
    source: &Source,
    path: &FilePath,
    budget: &'a Budget,
) -> Result<(Store<'a>, Transport), Error> {
    match source {
        Source::Image(reference) => {
            let store = match reference.transport {
                Transport::Oci => Store::directory(path, budget)?,
                Transport::OciArchive | Transport::DockerArchive => Store::archive(path, budget)?,
            };
            let found = match (store.has(layout::INDEX), store.has(docker::MANIFEST)) {
                (false, true) => Transport::DockerArchive,
                (true, false) => Transport::OciArchive,
                _ => reference.transport,
            };
            if reference.transport != Transport::Oci && found != reference.transport {
                let wanted = reference.transport;
                return Err(Error::Transport { path: path.to_owned(), wanted, found });
            }
            Ok((store, reference.transport))
        }
        Source::Path(_) | Source::Remote(_) => {
            let (store, transport) = if path.is_dir() {
                (Store::directory(path, budget)?, Transport::Oci)
            } else {
                (Store::archive(path, budget)?, Transport::OciArchive)
            };
            if store.has(layout::INDEX) && store.has(layout::MARKER) {
                Ok((store, transport))
            } else if transport == Transport::OciArchive && store.has(docker::MANIFEST) {
                Ok((store, Transport::DockerArchive))
            } else {
                let has_bundle = !path.is_dir() && store.has("metadata/annotations.yaml");
                Err(Error::Unrecognized { path: path.to_owned(), has_bundle })
            }
        }
    }
}

fn find(
    store: &Store<'_>,
    transport: Transport,
    select: Option<&Select>,
    options: &Options,
    budget: &Budget,
) -> Result<Manifest, manifest::Error> {
    match transport {
        Transport::Oci | Transport::OciArchive => {
            layout::find(store, select, options.platform.as_ref(), budget)
        }
        Transport::DockerArchive => docker::find(store, select, budget),
    }
}

/// Reads the bundle in the stack of `layers`.
fn unpack(store: &Store<'_>, layers: &[Layer], budget: &Budget) -> Result<Reading, Error> {
    let mut wanted = bundle::wanted();
    for _ in 0..MAX_ROUNDS {
        let mut stack = Stack::new(&wanted, budget);
        for layer in layers {
            push_verified(store, layer, &mut stack, budget)?;
        }
        if !stack.missed.is_empty() {
            wanted.paths.append(&mut stack.missed);
            continue;
        }
        match source::read(stack.tree, &budget.limits.content) {
            Ok(reading) => return Ok(reading),
            Err(Stop::WantsDirectory(path)) => wanted.directories.insert(path),
            Err(Stop::WantsPath(path)) => wanted.paths.insert(path),
            Err(Stop::Error(error)) => return Err(error.into()),
        };
    }
    Err(Error::Rounds)
}

/// Applies `layer` to the stack, and verifies it. The stack must not be used if this fails.
fn push_verified(
    store: &Store<'_>,
    layer: &Layer,
    stack: &mut Stack<'_>,
    budget: &Budget,
) -> Result<(), Error> {
    let name = || match &layer.stored {
        Some((digest, _)) => digest.to_string(),
        None => excerpt::shorten(&layer.file),
    };
    let fails = |source: layer::Error| Error::Layer { layer: name(), source };
    let Some((digest, size)) = &layer.stored else {
        return apply(store.open(&layer.file)?, layer, stack, budget, &name);
    };
    let part = Part { kind: Kind::Blob, digest, size: Some(*size) };
    let reader = store.open_part(&part)?;
    let blob = |source| Error::Blob { layer: name(), source };
    let mut reader = Verified::new(reader, digest, Some(*size)).map_err(blob)?;
    let applied = apply(&mut reader, layer, stack, budget, &name);
    // If the blob is damaged, report that instead of an error that results from the damage.
    reader.finish().map_err(|source| fails(source.into()))?.map_err(blob)?;
    applied
}

/// Decompresses `layer`, and applies its tar to the stack.
fn apply(
    reader: impl io::Read,
    layer: &Layer,
    stack: &mut Stack<'_>,
    budget: &Budget,
    name: &dyn Fn() -> String,
) -> Result<(), Error> {
    let fails = |source: layer::Error| Error::Layer { layer: name(), source };
    let differs = |source| Error::DiffId { layer: name(), source };
    let plain = decompress(reader, budget).map_err(|source| fails(source.into()))?;
    let mut tar = Verified::new(plain.reader, &layer.diff_id, None).map_err(differs)?;
    stack.push(BufReader::with_capacity(1 << 16, &mut tar)).map_err(fails)?;
    tar.finish().map_err(|source| fails(source.into()))?.map_err(differs)
}
