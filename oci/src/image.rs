//! [`read`]: reads the bundle in an image in a file or directory.

mod error;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::{Path as FilePath, PathBuf};

use derive_setters::Setters;
use unlade_bundle::{Reading, source};
use unlade_text::excerpt;

use crate::budget::{Budget, Metered};
use crate::bundle::{self, Stop};
use crate::compression::decompress;
use crate::digest::Verified;
use crate::layer::Stack;
use crate::manifest::{self, Layer, Manifest};
use crate::origin::{Kind, Origin, Part};
use crate::store::{self, Store};
use crate::{Digest, Limits, Platform, Select, Source, Transport, dir, docker, layout};

pub use error::Error;

/// The maximum number of times that the layers are read. Once is usually enough. Each hard link or
/// directory link to a path that was not kept needs one more time.
const MAX_ROUNDS: usize = 10;

/// Options of [`read`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
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
    if let Some(directory) = dir::find(source) {
        return read_from(&directory, options);
    }
    let budget = Budget::new(options.limits.clone());
    let (store, manifest) = find_manifest(source, options, &budget)?;
    Image::unpack(&store, manifest, &budget)
}

/// Reads the bundle in a tar that is not an image, compressed or not: its root contains the
/// directories of the bundle. A file whose name begins with `.wh.` is a file like any other,
/// because the tar is not a layer.
///
/// # Errors
///
/// Returns an error if the file is not a tar, if a limit is exceeded, or if it does not contain a
/// bundle.
pub fn read_tar(path: &FilePath, options: &Options) -> Result<Reading, Error> {
    let budget = Budget::new(options.limits.clone());
    unpack(&budget, |stack| {
        stack.is_plain = true;
        let name = || path.display().to_string();
        let fails = |source| store::Error::Archive { path: path.to_owned(), source };
        let file = store::input::open(path)
            .map_err(|source| store::Error::Open { path: path.to_owned(), source })?
            .ok_or_else(|| store::Error::NotAFile { path: path.to_owned() })?;
        budget.add_input("", file.stored);
        let bytes = Metered::new(file.bytes(0, file.size), &budget);
        let plain = decompress(bytes, &budget).map_err(fails)?;
        let tar = BufReader::with_capacity(1 << 16, plain.reader);
        stack.push(tar).map_err(|source| Error::Layer { layer: name(), source })
    })
}

/// Opens `source`, and reads the manifest of the selected image.
pub(crate) fn find_manifest<'a>(
    source: &Source,
    options: &Options,
    budget: &'a Budget,
) -> Result<(Store<'a>, Manifest), Error> {
    let (path, select) = path_of(source)?;
    let (store, transport) = open(source, path, budget)?;
    let manifest = find(&store, transport, select, options, budget)
        .map_err(|source| Error::Manifest { path: path.clone(), source })?;
    Ok((store, manifest))
}

/// Reads the manifest of the image in `origin`, which `store` reads.
pub(crate) fn find_in_origin(
    origin: &dyn Origin,
    store: &Store<'_>,
    options: &Options,
    budget: &Budget,
) -> Result<Manifest, Error> {
    layout::find_in_origin(origin, store, options.platform.as_ref(), budget)
        .and_then(|found| found.into_manifest(store, budget))
        .map_err(Error::Origin)
}

/// Reads the bundle in the image of `origin`, such as one in a registry.
///
/// # Errors
///
/// Returns an error if the origin fails, and under the same conditions as [`read`].
pub fn read_from(origin: &dyn Origin, options: &Options) -> Result<Image, Error> {
    let budget = Budget::new(options.limits.clone());
    let store = Store::origin(origin, &budget);
    let manifest = find_in_origin(origin, &store, options, &budget)?;
    Image::unpack(&store, manifest, &budget)
}

impl Image {
    fn unpack(store: &Store<'_>, manifest: Manifest, budget: &Budget) -> Result<Self, Error> {
        let reading = unpack(budget, |stack| {
            each_layer(store, &manifest.layers, budget, |name, tar| {
                stack.push(tar).map_err(|source| Error::Layer { layer: name.to_owned(), source })
            })
        })?;
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
                Transport::Oci | Transport::Dir => Store::directory(path, budget)?,
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
        Transport::Oci | Transport::OciArchive | Transport::Dir => {
            layout::find(store, select, options.platform.as_ref(), budget)?
                .into_manifest(store, budget)
        }
        Transport::DockerArchive => docker::find(store, select, budget),
    }
}

/// Reads the bundle in the layers that `push` applies to an empty stack, each time that it is
/// called.
fn unpack(
    budget: &Budget,
    mut push: impl FnMut(&mut Stack<'_>) -> Result<(), Error>,
) -> Result<Reading, Error> {
    let mut wanted = bundle::wanted();
    for _ in 0..MAX_ROUNDS {
        let mut stack = Stack::new(&wanted, budget);
        push(&mut stack)?;
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

/// Calls `take` with the name and the tar of each layer, lowest first, and verifies the layer. If
/// this fails, the bytes that `take` has read must not be used.
pub(crate) fn each_layer<'l>(
    store: &Store<'_>,
    layers: &'l [Layer],
    budget: &Budget,
    mut take: impl FnMut(&str, &mut dyn Read) -> Result<(), Error>,
) -> Result<(), Error> {
    let stored = layers.iter().filter_map(|layer| layer.stored.as_ref());
    let part =
        |(digest, size): &'l (Digest, u64)| Part { kind: Kind::Blob, digest, size: Some(*size) };
    store.prepare(&stored.map(part).collect::<Vec<_>>());
    for layer in layers {
        let name = match &layer.stored {
            Some((digest, _)) => digest.to_string(),
            None => excerpt::shorten(&layer.file),
        };
        let Some(stored @ (digest, size)) = &layer.stored else {
            take_tar(store.open(&layer.file)?, layer, budget, &name, &mut take)?;
            continue;
        };
        let reader = store.open_part(&part(stored))?;
        let blob = |source| Error::Blob { layer: name.clone(), source };
        let mut reader = Verified::new(reader, digest, Some(*size)).map_err(blob)?;
        let taken = take_tar(&mut reader, layer, budget, &name, &mut take);
        // If the blob is damaged, report that instead of an error that results from the damage.
        let fails = |source: io::Error| Error::Layer { layer: name.clone(), source: source.into() };
        reader.finish().map_err(fails)?.map_err(blob)?;
        taken?;
    }
    Ok(())
}

/// Decompresses `layer`, and calls `take` with its tar.
fn take_tar(
    reader: impl Read,
    layer: &Layer,
    budget: &Budget,
    name: &str,
    take: &mut impl FnMut(&str, &mut dyn Read) -> Result<(), Error>,
) -> Result<(), Error> {
    let fails = |source: io::Error| Error::Layer { layer: name.to_owned(), source: source.into() };
    let differs = |source| Error::DiffId { layer: name.to_owned(), source };
    let plain = decompress(reader, budget).map_err(fails)?;
    let mut tar = Verified::new(plain.reader, &layer.diff_id, None).map_err(differs)?;
    take(name, &mut BufReader::with_capacity(1 << 16, &mut tar))?;
    tar.finish().map_err(fails)?.map_err(differs)
}
