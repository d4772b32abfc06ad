//! Copies an image or an index, as it is stored, to a [`Destination`].

use std::io::Read;

use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest};
use unlade_text::excerpt;

use crate::manifest::{self, blob_path, is_index, is_manifest, parse, read_document, shape};
use crate::origin::{Kind, Part};
use crate::store::Store;
use crate::{Limits, Source, Transport, image, layout, store};
use crate::{budget::Budget, digest::Verified, image::open};

/// A destination of a copy, such as a registry.
pub trait Destination {
    /// The error of the destination.
    type Error: std::error::Error + 'static;

    /// Stores a configuration or a layer. The destination need not read from `reader` if it already
    /// has the blob. The bytes are verified after they are read.
    ///
    /// # Errors
    ///
    /// Returns an error if the blob cannot be stored.
    fn blob(&mut self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), Self::Error>;

    /// Stores a manifest or an index, which is already verified. Everything that it refers to was
    /// stored before. The root of the copy comes last.
    ///
    /// # Errors
    ///
    /// Returns an error if the manifest cannot be stored.
    fn manifest(
        &mut self,
        manifest: &Descriptor,
        bytes: &[u8],
        is_root: bool,
    ) -> Result<(), Self::Error>;
}

/// An error that prevents an image from being copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E: std::error::Error + 'static> {
    /// The file or directory cannot be opened, or does not contain an image.
    #[error(transparent)]
    Open(#[from] image::Error),
    /// The image does not exist, or is not valid.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The source is a docker archive, which has no manifest to copy.
    #[error("a docker archive has no manifest to copy")]
    Docker,
    /// The destination failed.
    #[error(transparent)]
    Destination(E),
}

/// Copies the image or index that `source` names, with all platforms, unchanged. Returns its
/// digest.
///
/// # Errors
///
/// Returns an error if the image does not exist, if several images exist and none is selected, if a
/// document does not match its digest, or if `destination` fails.
pub fn copy<D: Destination>(
    source: &Source,
    destination: &mut D,
) -> Result<Digest, Error<D::Error>> {
    let budget = Budget::new(Limits::default());
    let (path, select) = image::path_of(source)?;
    let (store, transport) = open(source, path, &budget)?;
    if transport == Transport::DockerArchive {
        return Err(Error::Docker);
    }
    let root = layout::root(&store, select, &budget)?;
    let mut copy = Copy { store: &store, budget: &budget, destination };
    copy.manifest(&root, 0)?;
    Ok(root.digest().clone())
}

struct Copy<'a, D> {
    store: &'a Store<'a>,
    budget: &'a Budget,
    destination: &'a mut D,
}

impl<D: Destination> Copy<'_, D> {
    /// Copies everything that the manifest refers to, and then the manifest. `depth` is the number
    /// of indexes around it.
    fn manifest(&mut self, descriptor: &Descriptor, depth: usize) -> Result<(), Error<D::Error>> {
        let limit = self.budget.limits.nesting;
        if depth > limit {
            return Err(manifest::Error::Nesting { limit }.into());
        }
        let (digest, media_type) = (descriptor.digest(), descriptor.media_type().as_ref());
        let part = Part::of(Kind::Manifest, descriptor);
        let bytes = read_document(self.store, &part, self.budget.limits.json)?;
        shape(&bytes, digest)?;
        let name = blob_path(digest);
        if is_index(media_type) {
            let index: ImageIndex = parse(&bytes, &name)?;
            for manifest in index.manifests() {
                self.manifest(manifest, depth + 1)?;
            }
        } else if is_manifest(media_type) {
            let manifest: ImageManifest = parse(&bytes, &name)?;
            for blob in [manifest.config()].into_iter().chain(manifest.layers()) {
                self.blob(blob)?;
            }
        } else {
            let (digest, media_type) = (digest.to_string(), excerpt::shorten(media_type));
            return Err(
                manifest::Error::MediaType { digest, media_type, expected: "an image" }.into()
            );
        }
        self.destination.manifest(descriptor, &bytes, depth == 0).map_err(Error::Destination)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<(), Error<D::Error>> {
        let digest = descriptor.digest();
        let name = blob_path(digest);
        let fails = |source| manifest::Error::Blob { blob: digest.to_string(), source };
        let inner = self.store.open_part(&Part::of(Kind::Blob, descriptor));
        let inner = inner.map_err(manifest::Error::from)?;
        let mut reader = Verified::new(inner, digest, Some(descriptor.size())).map_err(fails)?;
        let taken = self.destination.blob(descriptor, &mut reader);
        // If the blob is damaged, report that instead of an error that results from the damage.
        let read = |source| manifest::Error::from(store::Error::Read { name, source });
        reader.finish().map_err(read)?.map_err(fails)?;
        taken.map_err(Error::Destination)
    }
}
