//! [`Conversion`]: an image of a docker archive with a manifest, which the archive itself lacks.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::io::{self, Cursor, Read};

use oci_spec::image::{Descriptor, Digest, MediaType};
use unlade_text::excerpt;

use super::{Chosen, find_item};
use crate::budget::Budget;
use crate::compression::decompress;
use crate::digest::{Verified, sha256};
use crate::manifest::{Error, Manifest};
use crate::origin::{Origin, Part, Root};
use crate::store::{self, Store};
use crate::{Select, build::document};

/// An image of a docker archive as an OCI image: its configuration byte by byte, and its layers as
/// uncompressed tars, whose digests are in the configuration.
pub(crate) struct Conversion<'a> {
    store: &'a Store<'a>,
    budget: &'a Budget,
    root: Root,
    /// The manifest and the configuration, by their digests.
    documents: HashMap<Digest, Vec<u8>>,
    /// The paths of the layers in the archive, by their digests.
    layers: HashMap<Digest, String>,
}

impl<'a> Conversion<'a> {
    /// Reads all layers of the selected image, because nothing else shows their sizes.
    pub(crate) fn new(
        store: &'a Store<'a>,
        select: Option<&Select>,
        budget: &'a Budget,
    ) -> Result<Self, Error> {
        let Chosen { item, configuration, id, .. } = find_item(store, select, budget)?;
        let files = item.layers.iter().flatten().map(|file| (file.clone(), None)).collect();
        let limits = &budget.limits;
        let image =
            Manifest::from_configuration(&configuration, &item.config, id.clone(), files, limits)?;
        let (mut layers, mut descriptors) = (HashMap::new(), Vec::new());
        for layer in image.layers {
            let read = |source| store::Error::Read { name: excerpt::shorten(&layer.file), source };
            let differs = |source| Error::Blob { blob: excerpt::shorten(&layer.file), source };
            let plain = decompress(store.open(&layer.file)?, budget).map_err(read)?;
            let mut tar = Verified::new(plain.reader, &layer.diff_id, None).map_err(differs)?;
            let size = io::copy(&mut tar, &mut io::sink()).map_err(read)?;
            tar.finish().map_err(read)?.map_err(differs)?;
            descriptors.push(Descriptor::new(MediaType::ImageLayer, size, layer.diff_id.clone()));
            layers.insert(layer.diff_id, layer.file);
        }
        let size = configuration.len() as u64;
        let config = Descriptor::new(MediaType::ImageConfig, size, id.clone());
        let manifest = document::manifest(config, descriptors).map_err(Error::Conversion)?;
        let manifest =
            document::bytes(&manifest).map_err(|error| Error::Conversion(error.into()))?;
        let invalid = |source| Error::Blob { blob: "the manifest".to_owned(), source };
        let digest = sha256(&manifest).map_err(invalid)?;
        let media_type = Some(MediaType::ImageManifest.to_string());
        let root = Root { digest: digest.clone(), size: manifest.len() as u64, media_type };
        let documents = HashMap::from([(digest, manifest), (id, configuration)]);
        Ok(Self { store, budget, root, documents, layers })
    }
}

impl Origin for Conversion<'_> {
    fn root(&self) -> Result<Root, Box<dyn StdError + Send + Sync>> {
        Ok(self.root.clone())
    }

    fn open(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, Box<dyn StdError + Send + Sync>> {
        if let Some(bytes) = self.documents.get(part.digest) {
            return Ok(Box::new(Cursor::new(bytes)));
        }
        let file = self.layers.get(part.digest);
        let file = file.ok_or_else(|| store::Error::Missing { name: part.digest.to_string() })?;
        Ok(decompress(self.store.open(file)?, self.budget)?.reader)
    }

    fn max_readers(&self) -> usize {
        1
    }
}
