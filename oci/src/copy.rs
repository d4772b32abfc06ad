//! Copies an image or an index, as it is stored, to a [`Destination`].
//!
//! Manifests are copied byte by byte, so the digests of a copy are those of its source. Blobs are
//! verified while they are streamed. Several blobs of an image are copied at the same time.

mod disk;

use std::collections::HashSet;
use std::error::Error as StdError;
use std::io::Read;

use derive_setters::Setters;
use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest};
use unlade_parallel::Turn;
use unlade_text::excerpt;

use crate::budget::{Budget, is_exceeded};
use crate::layout::Found;
use crate::manifest::{
    self, blob_path, check_layers, is_foreign, is_index, is_manifest, parse, read_document, shape,
};
use crate::origin::{Kind, Origin, Part};
use crate::store::Store;
use crate::{Limits, Platform, Remedy, Source, Transport, dir, docker, image, layout, store};
use crate::{digest::Verified, image::open};

pub use disk::to_disk;

/// The error of a destination.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A destination of a copy, such as a registry. Several threads store blobs at the same time.
pub trait Destination: Sync {
    /// Checks whether the destination already has a configuration or a layer. If so, it is not
    /// copied.
    ///
    /// # Errors
    ///
    /// Returns an error if this cannot be determined.
    fn has(&self, blob: &Descriptor) -> Result<bool, BoxError>;

    /// Stores a configuration or a layer. The bytes are verified after they are read.
    ///
    /// # Errors
    ///
    /// Returns an error if the blob cannot be stored.
    fn blob(&self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), BoxError>;

    /// Stores a manifest or an index, which is already verified. Everything that it refers to was
    /// stored before. The root of the copy comes last.
    ///
    /// # Errors
    ///
    /// Returns an error if the manifest cannot be stored.
    fn manifest(&self, manifest: &Descriptor, bytes: &[u8], is_root: bool) -> Result<(), BoxError>;
}

/// Options of [`copy`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Options {
    /// Whether to copy an index with all its images. If not, only the image for [`platform`] is
    /// copied from an index.
    ///
    /// [`platform`]: Self::platform
    pub all: bool,
    /// The platform to select from an index. If `None`, the platform of the host, or else the only
    /// one.
    pub platform: Option<Platform>,
    /// The limits for everything that is read.
    pub limits: Limits,
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// The digest of the image or the index.
    pub digest: Digest,
    /// The number of blobs that were copied.
    pub blobs: usize,
    /// The size of these blobs, in bytes.
    pub size: u64,
    /// The number of blobs that the destination already had.
    pub present: usize,
}

/// An error that prevents an image from being copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or directory cannot be opened, or does not contain an image.
    #[error(transparent)]
    Open(#[from] image::Error),
    /// The image does not exist, or is not valid.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The destination failed.
    #[error("failed to write the image")]
    Destination(#[source] BoxError),
}

impl Error {
    /// Checks whether one of the [`Limits`] was exceeded.
    pub fn is_limit(&self) -> bool {
        is_exceeded(self)
            || match self {
                Self::Open(error) => error.is_limit(),
                Self::Manifest(error) => error.is_limit(),
                Self::Destination(_) => false,
            }
    }

    /// Returns the change that may help, if one is known.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Open(error) => error.remedy(),
            Self::Manifest(error) => error.remedy(),
            Self::Destination(_) => None,
        }
    }

    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Manifest(error) => error.hint(),
            Self::Destination(error) => error.downcast_ref::<crate::build::Error>()?.hint(),
        }
    }
}

/// Copies the image or index in the file or directory that `source` names.
///
/// An image of a docker archive has no manifest. It gets one, with its configuration unchanged and
/// its layers uncompressed.
///
/// # Errors
///
/// Returns an error if the image does not exist, if several images exist and none is selected, if
/// anything does not match its digest, if a limit is exceeded, or if `destination` fails.
pub fn copy(
    source: &Source,
    destination: &dyn Destination,
    options: &Options,
) -> Result<Copied, Error> {
    let (path, select) = image::path_of(source)?;
    if let Some(directory) = dir::find(source) {
        return copy_from(&directory, destination, options);
    }
    let budget = Budget::new(options.limits.clone());
    let (store, transport) = open(source, path, &budget)?;
    if transport == Transport::DockerArchive {
        let image = docker::Conversion::new(&store, select, &budget)?;
        return copy_from(&image, destination, options);
    }
    let root = if options.all {
        layout::root(&store, select, &budget)
    } else {
        layout::find(&store, select, options.platform.as_ref(), &budget)
    };
    Copy::run(&store, &budget, destination, root?)
}

/// Copies the image or index of `origin`, such as one in a registry.
///
/// # Errors
///
/// Returns an error if the origin fails, and under the same conditions as [`copy`].
pub fn copy_from(
    origin: &dyn Origin,
    destination: &dyn Destination,
    options: &Options,
) -> Result<Copied, Error> {
    let budget = Budget::new(options.limits.clone());
    let store = Store::origin(origin, &budget);
    let root = if options.all {
        layout::root_of_origin(origin, &store, &budget)
    } else {
        layout::find_in_origin(origin, &store, options.platform.as_ref(), &budget)
    };
    Copy::run(&store, &budget, destination, root?)
}

struct Copy<'a> {
    store: &'a Store<'a>,
    budget: &'a Budget,
    destination: &'a dyn Destination,
    /// What was already copied. A digest can be that of a blob and of a manifest, which most
    /// destinations store in different places.
    done: HashSet<(Kind, Digest)>,
    copied: Copied,
}

impl<'a> Copy<'a> {
    fn run(
        store: &'a Store<'a>,
        budget: &'a Budget,
        destination: &'a dyn Destination,
        root: Found,
    ) -> Result<Copied, Error> {
        let Found { descriptor, bytes, .. } = root;
        let digest = descriptor.digest().clone();
        let copied = Copied { digest, blobs: 0, size: 0, present: 0 };
        let mut copy = Self { store, budget, destination, done: HashSet::new(), copied };
        copy.document(&descriptor, &bytes, 0)?;
        Ok(copy.copied)
    }

    /// Copies everything that the manifest in `bytes` refers to, and then the manifest. `depth` is
    /// the number of indexes around it.
    fn document(
        &mut self,
        descriptor: &Descriptor,
        bytes: &[u8],
        depth: usize,
    ) -> Result<(), Error> {
        let limit = self.budget.limits.nesting;
        if depth > limit {
            return Err(manifest::Error::Nesting { limit }.into());
        }
        let (digest, media_type) = (descriptor.digest(), descriptor.media_type().as_ref());
        let name = blob_path(digest);
        if is_index(media_type) {
            let index: ImageIndex = parse(bytes, &name)?;
            for manifest in index.manifests() {
                self.manifest(manifest, depth + 1)?;
            }
        } else if is_manifest(media_type) {
            let manifest: ImageManifest = parse(bytes, &name)?;
            check_layers(manifest.layers().len(), &self.budget.limits)?;
            self.blobs([manifest.config()].into_iter().chain(manifest.layers()))?;
        } else {
            let (digest, media_type) = (digest.to_string(), excerpt::shorten(media_type));
            return Err(
                manifest::Error::MediaType { digest, media_type, expected: "an image" }.into()
            );
        }
        self.destination.manifest(descriptor, bytes, depth == 0).map_err(Error::Destination)
    }

    fn manifest(&mut self, descriptor: &Descriptor, depth: usize) -> Result<(), Error> {
        if !self.add(Kind::Manifest, descriptor)? {
            return Ok(());
        }
        let part = Part::of(Kind::Manifest, descriptor);
        let bytes = read_document(self.store, &part, self.budget.limits.json)?;
        shape(&bytes, descriptor.digest())?;
        self.document(descriptor, &bytes, depth)
    }

    /// Copies the blobs of an image that were not copied yet.
    fn blobs<'d>(&mut self, all: impl Iterator<Item = &'d Descriptor>) -> Result<(), Error> {
        let mut blobs = Vec::new();
        for blob in all {
            // Another manifest can list the same layer as one that can be distributed.
            if !is_elsewhere(blob) && self.add(Kind::Blob, blob)? {
                blobs.push(blob);
            }
        }
        let copy = |blob: &&Descriptor, turn: &Turn<'_>| self.blob(blob, turn);
        let copied = unlade_parallel::each(&blobs, self.store.max_readers(), copy);
        for (blob, is_copied) in blobs.iter().zip(copied) {
            if is_copied? {
                self.copied.blobs += 1;
                self.copied.size += blob.size();
            } else {
                self.copied.present += 1;
            }
        }
        Ok(())
    }

    /// Adds a part to those that are copied, and counts it in the budget. Returns whether it is
    /// new.
    fn add(&mut self, kind: Kind, part: &Descriptor) -> Result<bool, Error> {
        let digest = part.digest();
        if !self.done.insert((kind, digest.clone())) {
            return Ok(false);
        }
        let counted = self.budget.count_name(digest.as_ref().as_bytes());
        let fails = |source| store::Error::Read { name: blob_path(digest), source };
        counted.map_err(fails).map_err(manifest::Error::from)?;
        Ok(true)
    }

    /// Copies a blob. Returns whether the destination did not have it.
    fn blob(&self, descriptor: &Descriptor, turn: &Turn<'_>) -> Result<bool, Error> {
        let digest = descriptor.digest();
        if self.destination.has(descriptor).map_err(Error::Destination)? {
            return Ok(false);
        }
        let name = blob_path(digest);
        let fails = |source| manifest::Error::Blob { blob: digest.to_string(), source };
        let read = |source| {
            let name = name.clone();
            manifest::Error::from(store::Error::Read { name, source })
        };
        let inner = self.store.open_part(&Part::of(Kind::Blob, descriptor));
        let inner = turn.reader(inner.map_err(manifest::Error::from)?);
        let mut reader = Verified::new(inner, digest, Some(descriptor.size())).map_err(fails)?;
        let taken = self.destination.blob(descriptor, &mut reader);
        // If the blob is damaged, report that instead of an error that results from the damage. But
        // do not read the rest of a blob that the destination has no place for.
        if let Err(error) = taken {
            if reader.is_over() {
                reader.finish().map_err(read)?.map_err(fails)?;
            }
            return Err(Error::Destination(error));
        }
        reader.finish().map_err(read)?.map_err(fails)?;
        Ok(true)
    }
}

/// Checks whether a layer is stored somewhere else. Archives and registries do not contain it.
fn is_elsewhere(descriptor: &Descriptor) -> bool {
    is_foreign(descriptor) && descriptor.urls().as_ref().is_some_and(|urls| !urls.is_empty())
}
