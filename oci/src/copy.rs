//! Copies an image or an index as it is stored, to another place.

use std::io::Read;

use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest};
use unlade_text::excerpt;

use crate::manifest::{self, blob_path, is_index, is_manifest, parse, read_blob, shape};
use crate::store::Store;
use crate::{Limits, Source, Transport, image, layout, store};
use crate::{budget::Budget, digest::Verified, image::open};

/// A place that images are copied to, such as a registry.
pub trait Destination {
    /// Why it does not take something.
    type Error: std::error::Error + 'static;

    /// Takes a configuration or a layer; it may leave `reader` unread if it has it. The bytes are
    /// verified after they were read.
    ///
    /// # Errors
    ///
    /// If it does not take it.
    fn blob(&mut self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), Self::Error>;

    /// Takes a manifest or an index, verified; all that it refers to came before. The last one is
    /// the root of what is copied.
    ///
    /// # Errors
    ///
    /// If it does not take it.
    fn manifest(
        &mut self,
        manifest: &Descriptor,
        bytes: &[u8],
        is_root: bool,
    ) -> Result<(), Self::Error>;
}

/// Why an image is not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E: std::error::Error + 'static> {
    /// The file or directory cannot be opened, or holds no image.
    #[error(transparent)]
    Open(#[from] image::Error),
    /// The image is not found in it, or not sound.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// A docker archive, which has no manifest that could be copied.
    #[error("a docker archive has no manifest")]
    Docker,
    /// The destination does not take it.
    #[error(transparent)]
    Destination(E),
}

/// Copies the image or index that `source` names: every platform, each byte as it is. Its digest.
///
/// # Errors
///
/// If there is no such image, several are there and none is named, a document is not what its
/// digest says, or `destination` fails.
pub fn copy<D: Destination>(
    source: &Source,
    destination: &mut D,
) -> Result<Digest, Error<D::Error>> {
    let budget = Budget::new(Limits::default());
    let (path, select) = match source {
        Source::Image(reference) => (&reference.path, reference.select.as_ref()),
        Source::Path(path) => (path, None),
    };
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
    /// Copies what `descriptor` refers to, and then itself; `depth` indexes lie around it.
    fn manifest(&mut self, descriptor: &Descriptor, depth: usize) -> Result<(), Error<D::Error>> {
        let limit = self.budget.limits.nesting;
        if depth > limit {
            return Err(manifest::Error::Nesting { limit }.into());
        }
        let (digest, media_type) = (descriptor.digest(), descriptor.media_type().as_ref());
        let size = Some(descriptor.size());
        let bytes = read_blob(self.store, digest, size, self.budget.limits.json)?;
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
            let (digest, media_type) = (digest.to_string(), excerpt::cut(media_type));
            return Err(manifest::Error::MediaType { digest, media_type, expected: "image" }.into());
        }
        self.destination.manifest(descriptor, &bytes, depth == 0).map_err(Error::Destination)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<(), Error<D::Error>> {
        let digest = descriptor.digest();
        let name = blob_path(digest);
        let fails = |source| manifest::Error::Blob { blob: digest.to_string(), source };
        let inner = self.store.open(&name).map_err(manifest::Error::from)?;
        let mut reader = Verified::new(inner, digest, Some(descriptor.size())).map_err(fails)?;
        let taken = self.destination.blob(descriptor, &mut reader);
        // That a blob is damaged says more than what came of it.
        let read = |source| manifest::Error::from(store::Error::Read { name, source });
        reader.finish().map_err(read)?.map_err(fails)?;
        taken.map_err(Error::Destination)
    }
}
