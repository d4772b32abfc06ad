//! Reads the manifest and the configuration of an image.

mod media_type;

use std::collections::BTreeMap;

use oci_spec::image::{Descriptor, Digest, ImageManifest};
use unlade_directory::read_at_most;
use unlade_text::excerpt;

use crate::budget::Budget;
use crate::digest::{self, Verified};
use crate::document::{self, Configuration, Document, Shape};
use crate::origin::{Kind, Part};
use crate::store::{self, Store};
use crate::{Limits, Platform, Remedy, image};
use media_type::{is_configuration, is_layer};

pub(crate) use self::media_type::{is_foreign, is_index, is_manifest};

/// An error that prevents the image from being found, or its manifest from being read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file does not exist, cannot be read, or is too large.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A document is not JSON, does not fit its schema, or is read differently by Go.
    #[error("{name} is not a valid document")]
    Json {
        /// Its path in the layout or archive.
        name: String,
        /// The problem and its position.
        source: document::Error,
    },
    /// A blob does not match its digest or size.
    #[error("the blob {blob} does not match its digest or size")]
    Blob {
        /// The digest, or the path in a docker archive.
        blob: String,
        /// The difference.
        source: digest::Error,
    },
    /// A document can be read both as an image and as an index, or as an older kind of manifest.
    #[error("the blob {digest} is ambiguous: it has the fields of several kinds of manifest")]
    Ambiguous {
        /// Its digest.
        digest: String,
    },
    /// No image exists.
    #[error("it contains no image")]
    Empty,
    /// Several images exist, and none is selected.
    #[error("it contains several images, but none is selected: {}", excerpt::list(images, ", "))]
    Several {
        /// The names of the images. An image without a name is `@N`, its index.
        images: Vec<String>,
    },
    /// Several images have the selected name.
    #[error("several images have the name {name}: {}", excerpt::list(digests, ", "))]
    SameName {
        /// The name.
        name: String,
        /// The digests of the images, or the names of their configurations in a docker archive.
        digests: Vec<String>,
    },
    /// The selected image does not exist.
    #[error("it contains no image {select}{}", format_existing(images))]
    NotFound {
        /// The selection.
        select: String,
        /// The names of the existing images.
        images: Vec<String>,
    },
    /// No image of the index is for the platform.
    #[error("it contains no image for the platform {wanted}{}", format_existing(platforms))]
    Platform {
        /// The requested platform, or that of the host.
        wanted: String,
        /// The existing platforms.
        platforms: Vec<String>,
    },
    /// Container engines may choose different images of the index for one platform.
    #[error(
        "container engines may choose different images {}: {}",
        platform.as_ref().map_or_else(
            || "without a platform".to_owned(),
            |platform| format!("for the platform {}", excerpt::shorten(platform)),
        ),
        digests.join(", ")
    )]
    Choice {
        /// The platform of the image that this reader would choose. `None` if it has none.
        platform: Option<String>,
        /// The digest of this image, and that of another one.
        digests: Vec<String>,
    },
    /// Two images of an index have the same configuration, but a layer of one of them cannot be
    /// read, or does not match the configuration.
    #[error("failed to compare the image {digest} with the chosen image of the index")]
    Compared {
        /// The digest of the image that was not chosen.
        digest: String,
        /// The reason.
        source: Box<image::Error>,
    },
    /// A blob is not part of an image, but for example a chart or a signature.
    #[error(
        "{digest} has the media type {media_type:?}, which is not the media type of {expected}"
    )]
    MediaType {
        /// The blob.
        digest: String,
        /// Its media type.
        media_type: String,
        /// The expected kind of blob, with an article.
        expected: &'static str,
    },
    /// A layer is not distributable, so an archive cannot contain it.
    #[error("the layer {digest} is not distributable: its media type is {media_type:?}")]
    Foreign {
        /// The layer.
        digest: String,
        /// Its media type.
        media_type: String,
    },
    /// The version of the layout is not supported.
    #[error("the version {version:?} of the image layout is not supported")]
    Version {
        /// The version.
        version: String,
    },
    /// Too many indexes are nested.
    #[error("the indexes are nested more than {limit} levels deep")]
    Nesting {
        /// The limit.
        limit: usize,
    },
    /// The image has more layers than the limit.
    #[error("the image has {count} layers, but the limit is {limit}")]
    Layers {
        /// The number of layers.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The manifest and the configuration have different numbers of layers.
    #[error("the manifest has {manifest} layers, but the configuration has {configuration}")]
    LayerCount {
        /// The number of layers in the manifest.
        manifest: usize,
        /// The number of layers in the configuration (`rootfs.diff_ids`).
        configuration: usize,
    },
    /// The manifest for an image of a docker archive cannot be created.
    #[error("failed to create a manifest")]
    Conversion(#[source] oci_spec::OciSpecError),
    /// The docker archive was written by a version before Docker 1.10 of 2016.
    #[error("manifest.json does not exist: the archive is older than Docker 1.10")]
    Ancient,
}

impl Error {
    /// Checks whether one of the [`Limits`] was exceeded.
    pub(crate) fn is_limit(&self) -> bool {
        match self {
            Self::Nesting { .. }
            | Self::Layers { .. }
            | Self::Store(store::Error::TooLarge { .. }) => true,
            Self::Compared { source, .. } => source.is_limit(),
            _ => false,
        }
    }

    /// Returns the change that may help, if one is known.
    pub fn remedy(&self) -> Option<Remedy> {
        matches!(self, Self::Platform { .. }).then_some(Remedy::Platform)
    }

    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Several { .. } | Self::SameName { .. } => {
                "select one of them after the path, as in :NAME or :@0"
            }
            Self::Choice { .. } | Self::Compared { .. } => {
                "select one of them by its digest, as in NAME@sha256:..."
            }
            Self::Ancient => "load it into a newer engine, and save it again",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn format_existing(items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    format!(" (it contains: {})", excerpt::list(items, ", "))
}

/// The description of an image, with the paths of its layers.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) name: Option<String>,
    pub(crate) digest: Option<Digest>,
    pub(crate) id: Digest,
    pub(crate) platform: Platform,
    pub(crate) labels: BTreeMap<String, String>,
    /// The layers, lowest first.
    pub(crate) layers: Vec<Layer>,
}

/// The path of a layer, and its expected digests.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// The path in the store.
    pub(crate) file: String,
    /// The digest and the size as stored. `None` for a docker archive, which does not record them.
    pub(crate) stored: Option<(Digest, u64)>,
    /// The digest of the tar.
    pub(crate) diff_id: Digest,
}

impl Layer {
    pub(crate) fn from_descriptor(layer: &Descriptor, diff_id: Digest) -> Self {
        let stored = Some((layer.digest().clone(), layer.size()));
        Self { file: blob_path(layer.digest()), stored, diff_id }
    }
}

/// Returns the shape of the manifest or index in `bytes`. A document that can be read as both is an
/// error, because two readers of one digest would read two images (CVE-2021-41190).
pub(crate) fn shape(bytes: &[u8], digest: &Digest) -> Result<Shape, Error> {
    let shape: Shape = parse(bytes, &blob_path(digest))?;
    let is_image = shape.config.is_some() || shape.layers.is_some();
    if shape.fs_layers.is_some() || (is_image && shape.manifests.is_some()) {
        return Err(Error::Ambiguous { digest: digest.to_string() });
    }
    Ok(shape)
}

impl Manifest {
    /// Reads an image from its manifest `bytes`, whose digest was verified.
    pub(crate) fn read(
        store: &Store<'_>,
        budget: &Budget,
        name: Option<String>,
        digest: Digest,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let manifest: ImageManifest = parse(bytes, &blob_path(&digest))?;
        let descriptor = manifest.config();
        expect(descriptor, is_configuration, "an image configuration")?;
        let mut stored = Vec::with_capacity(manifest.layers().len());
        for layer in manifest.layers() {
            let media_type = layer.media_type().as_ref();
            if is_foreign(layer) {
                return Err(Error::Foreign {
                    digest: layer.digest().to_string(),
                    media_type: excerpt::shorten(media_type),
                });
            }
            expect(layer, is_layer, "a layer")?;
            stored.push((blob_path(layer.digest()), Some((layer.digest().clone(), layer.size()))));
        }
        let file = blob_path(descriptor.digest());
        let configuration =
            read_document(store, &Part::of(Kind::Blob, descriptor), budget.limits.json)?;
        let id = descriptor.digest().clone();
        let image = Self::from_configuration(&configuration, &file, id, stored, &budget.limits)?;
        Ok(Self { name, digest: Some(digest), ..image })
    }

    /// Creates an image from its configuration `bytes` and its `stored` layers.
    pub(crate) fn from_configuration(
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
        check_layers(stored.len(), limits)?;
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

/// Checks the number of layers of an image.
pub(crate) fn check_layers(count: usize, limits: &Limits) -> Result<(), Error> {
    let limit = limits.layers;
    if count > limit { Err(Error::Layers { count, limit }) } else { Ok(()) }
}

/// Returns the path of a blob in an image layout.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.digest())
}

/// Reads and verifies a manifest, an index or a configuration.
pub(crate) fn read_document(
    store: &Store<'_>,
    part: &Part<'_>,
    limit: u64,
) -> Result<Vec<u8>, Error> {
    let Part { digest, size, .. } = *part;
    let name = blob_path(digest);
    if size.is_some_and(|size| size > limit) {
        return Err(store::Error::TooLarge { name, limit }.into());
    }
    let blob = |source| Error::Blob { blob: digest.to_string(), source };
    let read = |source| store::Error::Read { name: name.clone(), source };
    let mut reader = Verified::new(store.open_part(part)?, digest, size).map_err(blob)?;
    let bytes = read_at_most(&mut reader, limit).map_err(read)?;
    let bytes = bytes.ok_or_else(|| store::Error::TooLarge { name: name.clone(), limit })?;
    reader.finish().map_err(read)?.map_err(blob)?;
    Ok(bytes)
}

/// Parses the document in `bytes`. `name` is its path, for errors.
pub(crate) fn parse<T: Document>(bytes: &[u8], name: &str) -> Result<T, Error> {
    document::parse(bytes).map_err(|source| Error::Json { name: excerpt::shorten(name), source })
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
        media_type: excerpt::shorten(media_type),
        expected,
    })
}
