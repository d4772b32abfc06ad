//! What an image is made of: its configuration and its layers.

use std::collections::BTreeMap;
use std::io::Read;

use oci_spec::image::{Descriptor, Digest, ImageManifest};
use unlade_text::excerpt;

use crate::budget::Budget;
use crate::digest::{self, Verified};
use crate::document::{self, Configuration, Document, Shape};
use crate::store::{self, Store};
use crate::{Limits, Platform};

/// Why it cannot be told which image is meant, or what it is made of.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is missing, unreadable or too large.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A document is not JSON, is of another shape than its kind has, or is read differently by
    /// Go.
    #[error("{name} is not the JSON that it should be")]
    Json {
        /// Its path in the layout or archive.
        name: String,
        /// Where it is wrong.
        source: document::Error,
    },
    /// A blob is not what its digest says.
    #[error("blob {blob} is not what it should be")]
    Blob {
        /// The digest, or the path in a docker archive.
        blob: String,
        /// The difference.
        source: digest::Error,
    },
    /// A document can be read as an image and as an index, or as an older kind of manifest.
    #[error("blob {digest} is ambiguous: it has the fields of several kinds of manifests")]
    Ambiguous {
        /// Its digest.
        digest: String,
    },
    /// No image is there.
    #[error("there is no image in it")]
    Empty,
    /// Several images are there, and none is named.
    #[error("several images are in it, and none is named: {}", excerpt::list(images, ", "))]
    Several {
        /// What they are called; `@N` for the Nth if it has no name.
        images: Vec<String>,
    },
    /// The image that is named is not there.
    #[error("no image {select} is in it{}", found(images))]
    NotFound {
        /// What was named.
        select: String,
        /// What is there.
        images: Vec<String>,
    },
    /// No image of an index is for the platform.
    #[error("no image is for platform {wanted}{}", found(platforms))]
    Platform {
        /// The platform that was asked for, or the host's.
        wanted: String,
        /// The platforms that are there.
        platforms: Vec<String>,
    },
    /// Something else than an image, such as a chart or a signature.
    #[error("{digest} is of media type {media_type:?}, which is no {expected}")]
    MediaType {
        /// The blob.
        digest: String,
        /// What it says that it is.
        media_type: String,
        /// What is needed.
        expected: &'static str,
    },
    /// A layer that may not be part of an archive, and lies elsewhere.
    #[error("layer {digest} is not distributable: its media type is {media_type:?}")]
    Foreign {
        /// The layer.
        digest: String,
        /// Its media type.
        media_type: String,
    },
    /// A layout of a version that is not known.
    #[error("version {version:?} of the image layout is not known")]
    Version {
        /// The version.
        version: String,
    },
    /// Indexes within indexes, too many of them.
    #[error("more than {limit} indexes lie within one another")]
    Nesting {
        /// The limit.
        limit: usize,
    },
    /// More layers than the limit.
    #[error("{count} layers are more than {limit}")]
    Layers {
        /// How many there are.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// Manifest and configuration disagree.
    #[error("the manifest has {manifest} layers, the configuration {configuration}")]
    LayerCount {
        /// Layers of the manifest.
        manifest: usize,
        /// Layers of the configuration (`rootfs.diff_ids`).
        configuration: usize,
    },
    /// A docker archive of Docker before 1.10, of 2016.
    #[error("manifest.json is missing: the archive is older than Docker 1.10")]
    Ancient,
}

impl Error {
    /// What to do, where that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Several { .. } => "name one of them after the path, as in `:NAME` or `:@0`",
            Self::Platform { .. } => "choose one of them with --platform",
            Self::Ancient => "load it into a newer engine, and save it from there",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn found(items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    format!(" (it has: {})", excerpt::list(items, ", "))
}

/// An image: what it is, and where its layers are.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) name: Option<String>,
    pub(crate) digest: Option<Digest>,
    pub(crate) id: Digest,
    pub(crate) platform: Platform,
    pub(crate) labels: BTreeMap<String, String>,
    /// Lowest first.
    pub(crate) layers: Vec<Layer>,
}

/// Where a layer is, and what it has to be.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Its path in the store.
    pub(crate) file: String,
    /// Digest and size as stored; a docker archive does not tell them.
    pub(crate) stored: Option<(Digest, u64)>,
    /// Digest of the tar.
    pub(crate) diff_id: Digest,
}

/// The shape of the manifest or index in `bytes`. One that could be taken for both is refused: two
/// readers of one digest would get two images (CVE-2021-41190).
pub(crate) fn shape(bytes: &[u8], digest: &Digest) -> Result<Shape, Error> {
    let shape: Shape = parse(bytes, &blob_path(digest))?;
    let is_image = shape.config.is_some() || shape.layers.is_some();
    if shape.fs_layers.is_some() || (is_image && shape.manifests.is_some()) {
        return Err(Error::Ambiguous { digest: digest.to_string() });
    }
    Ok(shape)
}

impl Manifest {
    /// The image with the manifest `bytes`, whose digest was verified.
    pub(crate) fn read(
        store: &Store<'_>,
        budget: &Budget,
        name: Option<String>,
        digest: Digest,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let manifest: ImageManifest = parse(bytes, &blob_path(&digest))?;
        let descriptor = manifest.config();
        expect(descriptor, is_configuration, "image configuration")?;
        let file = blob_path(descriptor.digest());
        let configuration =
            read_blob(store, descriptor.digest(), Some(descriptor.size()), budget.limits.json)?;
        let mut stored = Vec::with_capacity(manifest.layers().len());
        for layer in manifest.layers() {
            let media_type = layer.media_type().as_ref();
            if media_type.contains(".nondistributable.") || media_type.contains(".foreign.") {
                return Err(Error::Foreign {
                    digest: layer.digest().to_string(),
                    media_type: excerpt::cut(media_type),
                });
            }
            expect(layer, is_layer, "layer")?;
            stored.push((blob_path(layer.digest()), Some((layer.digest().clone(), layer.size()))));
        }
        let id = descriptor.digest().clone();
        let image = Self::configured(&configuration, &file, id, stored, &budget.limits)?;
        Ok(Self { name, digest: Some(digest), ..image })
    }

    /// The image with this configuration, whose layers are `stored`.
    pub(crate) fn configured(
        bytes: &[u8],
        file: &str,
        id: Digest,
        stored: Vec<(String, Option<(Digest, u64)>)>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let configuration: Configuration = parse(bytes, file)?;
        let diff_ids = configuration.rootfs.diff_ids.unwrap_or_default();
        if diff_ids.len() != stored.len() {
            return Err(Error::LayerCount {
                manifest: stored.len(),
                configuration: diff_ids.len(),
            });
        }
        if stored.len() > limits.layers {
            return Err(Error::Layers { count: stored.len(), limit: limits.layers });
        }
        let layers = stored.into_iter().zip(diff_ids);
        let known = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
        let labels = configuration.config.and_then(|config| config.labels).unwrap_or_default();
        Ok(Self {
            name: None,
            digest: None,
            id,
            platform: Platform {
                os: known(configuration.os),
                architecture: known(configuration.architecture),
                variant: configuration.variant.filter(|variant| !variant.is_empty()),
            },
            labels: labels
                .into_iter()
                .map(|(name, value)| (name, value.unwrap_or_default()))
                .collect(),
            layers: layers
                .map(|((file, stored), diff_id)| Layer { file, stored, diff_id })
                .collect(),
        })
    }
}

/// The path of a blob in an image layout.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.digest())
}

/// The blob `digest`, verified.
pub(crate) fn read_blob(
    store: &Store<'_>,
    digest: &Digest,
    size: Option<u64>,
    limit: u64,
) -> Result<Vec<u8>, Error> {
    let name = blob_path(digest);
    if size.is_some_and(|size| size > limit) {
        return Err(store::Error::TooLarge { name, limit }.into());
    }
    let blob = |source| Error::Blob { blob: digest.to_string(), source };
    let read = |source| store::Error::Read { name: name.clone(), source };
    let mut reader = Verified::new(store.open(&name)?, digest, size).map_err(blob)?;
    let mut bytes = Vec::new();
    reader.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() as u64 > limit {
        return Err(store::Error::TooLarge { name, limit }.into());
    }
    reader.finish().map_err(read)?.map_err(blob)?;
    Ok(bytes)
}

/// The document in `bytes`, which lies at `name`.
pub(crate) fn parse<T: Document>(bytes: &[u8], name: &str) -> Result<T, Error> {
    document::parse(bytes).map_err(|source| Error::Json { name: excerpt::cut(name), source })
}

fn expect(
    descriptor: &Descriptor,
    is_expected: fn(&str) -> bool,
    expected: &'static str,
) -> Result<(), Error> {
    let media_type = descriptor.media_type().as_ref();
    if is_expected(media_type) {
        return Ok(());
    }
    Err(Error::MediaType {
        digest: descriptor.digest().to_string(),
        media_type: excerpt::cut(media_type),
        expected,
    })
}

/// Media types of an image's manifest.
pub(crate) fn is_manifest(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
    .contains(&media_type)
}

/// Media types of an index of images.
pub(crate) fn is_index(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    ]
    .contains(&media_type)
}

fn is_configuration(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.config.v1+json",
        "application/vnd.docker.container.image.v1+json",
        // Docker 1.10 and 1.11.
        "application/octet-stream",
    ]
    .contains(&media_type)
}

fn is_layer(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
    ]
    .contains(&media_type)
}
