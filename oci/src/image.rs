//! An image in a file or directory -> the bundle in it.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::{Path as FilePath, PathBuf};

use unlade_bundle::{
    Content, Directory, File, Layout, Reading, content::ANNOTATIONS_FILE, layout as bundle_layout,
};
use unlade_text::excerpt;

use crate::budget::{Budget, Exceeded};
use crate::bundle::{self, Collector, Found, Stop};
use crate::compression::decompress;
use crate::digest::{self, Verified};
use crate::layer::{self, Stack};
use crate::manifest::{self, Layer, Manifest};
use crate::reference::is_image_name;
use crate::store::{self, Store};
use crate::tree::Tree;
use crate::{Digest, Limits, Platform, Select, Source, Transport, docker, layout};

/// How often the layers are read at most. Once is enough but for hard links and directories that
/// lead elsewhere; each of these costs one more time.
const ROUNDS: usize = 10;

/// What [`read`] is told beside the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The platform to take from an index; none for the host's, else the index's only one.
    pub platform: Option<Platform>,
    /// Limits on what is read.
    pub limits: Limits,
}

/// A bundle, and the image that it was read from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Image {
    /// The bundle.
    pub reading: Reading,
    /// The name under which the file or directory lists the image.
    pub name: Option<String>,
    /// The digest of the image's manifest; none in a docker archive, which has no manifest.
    pub digest: Option<Digest>,
    /// The digest of the image's configuration: the image ID of Docker and podman.
    pub id: Digest,
    /// The platform that the configuration names, `unknown` where it names none.
    pub platform: Platform,
    /// The labels of the configuration.
    pub labels: BTreeMap<String, String>,
}

/// Why no bundle is read out of an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or directory holds no image in a format that is read.
    #[error("{} is not an OCI image layout, OCI archive or docker archive", path.display())]
    Unrecognized {
        /// The file or directory.
        path: PathBuf,
        /// Whether it contains the directories of a bundle, outside of any image.
        has_bundle: bool,
    },
    /// The archive has another format than its transport says.
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
    /// The image is not found in it, or is none.
    #[error("{}", path.display())]
    Manifest {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        source: manifest::Error,
    },
    /// A layer is not what its digest or size says.
    #[error("layer {layer} is not what it should be")]
    Blob {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The difference.
        source: digest::Error,
    },
    /// A layer is not what the configuration says of its tar.
    #[error("the tar of layer {layer} is not what the configuration says")]
    DiffId {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// The difference.
        source: digest::Error,
    },
    /// A layer cannot be read, or not be laid over those before it.
    #[error("layer {layer}")]
    Layer {
        /// Its digest, or its path in a docker archive.
        layer: String,
        /// What is wrong.
        source: layer::Error,
    },
    /// The image holds no bundle.
    #[error("the image holds no bundle")]
    Bundle(#[from] bundle::Error),
    /// `annotations.yaml` does not say where the manifests are.
    #[error("the layout of the bundle is not known")]
    Layout(#[from] bundle_layout::Error),
    /// The files were read, but are no bundle's content.
    #[error("the files are not the content of a bundle")]
    Content(#[from] unlade_bundle::content::Error),
    /// Links lead from one part of the image to another, again and again.
    #[error("links of the bundle lead through too many parts of the image")]
    Rounds,
}

impl Error {
    /// Whether one of the [`Limits`] was passed.
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
                    | Self::Layer {
                        source: layer::Error::Files { .. }
                            | layer::Error::TotalSize { .. }
                            | layer::Error::Path { .. },
                        ..
                    }
                    | Self::Bundle(
                        bundle::Error::Files { .. }
                            | bundle::Error::FileSize { .. }
                            | bundle::Error::TotalSize { .. }
                    )
            )
            || match self {
                Self::Content(error) => error.is_limit(),
                Self::Layout(error) => error.is_limit(),
                _ => false,
            }
    }

    /// What to do, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Manifest { source, .. } => source.hint(),
            Self::Unrecognized { path, has_bundle: true } => Some(format!(
                "the files of a bundle are in it, but no image: extract {} and give the directory",
                path.display()
            )),
            Self::Transport { path, found, .. } => {
                Some(format!("{found}:{}, or the path alone", path.display()))
            }
            Self::Unrecognized { path, .. } if path.is_dir() => Some(
                "a bundle directory has manifests/ and metadata/, an image layout has index.json"
                    .to_owned(),
            ),
            Self::Bundle(bundle::Error::Missing { .. }) => {
                Some("is this the image of a bundle, and not that of the operator?".to_owned())
            }
            Self::Store(store::Error::Open { path, source })
                if source.kind() == io::ErrorKind::NotADirectory && path.is_file() =>
            {
                Some(format!("{0} is a file: oci-archive:{0}, or the path alone", path.display()))
            }
            Self::Store(store::Error::NotAFile { path }) if path.is_dir() => {
                Some(format!("{0} is a directory: oci:{0}, or the path alone", path.display()))
            }
            Self::Store(store::Error::Open { path, source })
                if source.kind() == io::ErrorKind::NotFound && may_be_remote(path) =>
            {
                Some(format!(
                    "an image in a registry is read after \
                     `skopeo copy docker://{} oci-archive:image.tar`",
                    path.display()
                ))
            }
            _ => None,
        }
    }
}

fn noun(transport: Transport) -> &'static str {
    match transport {
        Transport::Oci => "an OCI image layout",
        Transport::OciArchive => "an OCI archive",
        Transport::DockerArchive => "a docker archive",
    }
}

/// Whether a path that does not exist is probably the name of an image in a registry, because it
/// has a tag or a digest.
fn may_be_remote(path: &FilePath) -> bool {
    path.to_str().is_some_and(|name| name.contains([':', '@']) && is_image_name(name))
}

/// The bundle in the image that `source` names.
///
/// A path without a transport is an OCI layout if it is a directory; of a file the contents
/// decide. An archive that is both an OCI archive and a docker archive, as `docker save` writes
/// them since version 25, is read as the former, which has more digests.
///
/// # Errors
///
/// If there is no such image, several are there and none is named, anything is not what its digest
/// says, a limit is passed, or the image holds no bundle.
pub fn read(source: &Source, options: &Options) -> Result<Image, Error> {
    let budget = Budget::new(options.limits.clone());
    let (path, select) = match source {
        Source::Image(reference) => (&reference.path, reference.select.as_ref()),
        Source::Path(path) => (path, None),
    };
    let (store, transport) = open(source, path, &budget)?;
    let manifest = find(&store, transport, select, options, &budget)
        .map_err(|source| Error::Manifest { path: path.clone(), source })?;
    let reading = unpack(&store, &manifest.layers, &budget)?;
    let Manifest { name, digest, id, platform, labels, .. } = manifest;
    Ok(Image { reading, name, digest, id, platform, labels })
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
        Source::Path(_) => {
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

/// The bundle in the stack of `layers`.
fn unpack(store: &Store<'_>, layers: &[Layer], budget: &Budget) -> Result<Reading, Error> {
    let mut wanted = bundle::wanted();
    for _ in 0..ROUNDS {
        let mut stack = Stack::new(&wanted, budget);
        for layer in layers {
            push(store, layer, &mut stack, budget)?;
        }
        if !stack.missed.is_empty() {
            wanted.paths.append(&mut stack.missed);
            continue;
        }
        let (files, mut layout) = match collect(&stack.tree, &budget.limits) {
            Ok(collected) => collected?,
            Err(Stop::WantsDirectory(path)) => {
                wanted.directories.insert(path);
                continue;
            }
            Err(Stop::WantsPath(path)) => {
                wanted.paths.insert(path);
                continue;
            }
            Err(Stop::Error(error)) => return Err(error.into()),
        };
        // The tree has the bytes of the files too, which are not to be there twice.
        drop(stack);
        let files = files.into_iter().map(File::from).collect();
        let mut reading = Content::assemble(files, &budget.limits.content)?;
        reading.findings.splice(0..0, std::mem::take(&mut layout.findings));
        return Ok(reading);
    }
    Err(Error::Rounds)
}

/// The files of the bundle, and where they lie. The outer result tells whether the tree knows
/// enough.
fn collect(tree: &Tree, limits: &Limits) -> Result<Result<(Vec<Found>, Layout), Error>, Stop> {
    let missing = |path: &str| Stop::Error(bundle::Error::Missing { path: path.to_owned() });
    let mut collector = Collector::new(tree, limits);
    if !collector.take(Directory::Metadata.as_str(), Directory::Metadata)? {
        return Err(missing(Directory::Metadata.as_str()));
    }
    let annotations = collector.files.iter().find(|file| file.name == ANNOTATIONS_FILE);
    let annotations = annotations.map(|file| file.bytes.as_slice());
    let mut layout = match bundle_layout::read(annotations, &limits.content) {
        Ok(layout) => layout,
        Err(error) => return Ok(Err(error.into())),
    };
    if !collector.take(&layout.manifests, Directory::Manifests)? {
        let named = layout.manifests.clone();
        layout = layout.fallback().ok_or_else(|| missing(&named))?;
        if !collector.take(&layout.manifests, Directory::Manifests)? {
            return Err(missing(&layout.manifests));
        }
    }
    Ok(Ok((collector.files, layout)))
}

/// Lays `layer` over the others, and verifies it. What it left in the stack may be used only then.
fn push(
    store: &Store<'_>,
    layer: &Layer,
    stack: &mut Stack<'_>,
    budget: &Budget,
) -> Result<(), Error> {
    let name = || match &layer.stored {
        Some((digest, _)) => digest.to_string(),
        None => excerpt::cut(&layer.file),
    };
    let fails = |source: layer::Error| Error::Layer { layer: name(), source };
    let reader = store.open(&layer.file)?;
    let Some((digest, size)) = &layer.stored else {
        return lay(reader, layer, stack, budget, &name);
    };
    let blob = |source| Error::Blob { layer: name(), source };
    let mut reader = Verified::new(reader, digest, Some(*size)).map_err(blob)?;
    let laid = lay(&mut reader, layer, stack, budget, &name);
    // That a blob is damaged says more than what came of it.
    reader.finish().map_err(|source| fails(source.into()))?.map_err(blob)?;
    laid
}

fn lay(
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
