//! [`extend`]: adds layers to an existing image.

use std::path::Path as FilePath;

use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest, MediaType};
use serde_json::{Map, Value, json};

use super::blob::Blobs;
use super::output::{LayoutFiles, named};
use super::{Config, Error, Layer, Written, WrittenImage, document};
use crate::document::{Configuration, Document};
use crate::layout::INDEX;
use crate::manifest::{blob_path, is_index, is_manifest, parse};
use crate::{Platform, limit, store::input};

/// The operating system of entries of an index that are not images, such as attestations of buildx.
const UNKNOWN: &str = "unknown";

/// Replaces the image or index in the layout `directory` by one that also has these layers, and
/// these settings. An index stays an index, and each of its images is extended. The layout must
/// contain one image or index, such as the result of [`copy::to_disk`](crate::copy::to_disk).
///
/// Documents in Docker's format are converted to the OCI format; layers keep their digests. An
/// entrypoint also replaces the command, as in a Dockerfile. Entries of the index that describe the
/// old images, such as attestations, are dropped.
///
/// # Errors
///
/// Returns an error if the layout contains something else, if its documents contradict each other,
/// or if it cannot be written.
pub fn extend(directory: &FilePath, config: &Config, layers: &[Layer]) -> Result<Written, Error> {
    let index: ImageIndex = read(directory, INDEX)?.0;
    let [root] = index.manifests().as_slice() else {
        return Err(refused("it does not contain exactly one image or index"));
    };
    let mut blobs = Blobs::new(directory.to_owned())?;
    let layers =
        layers.iter().map(|layer| blobs.add_layer(layer)).collect::<Result<Vec<_>, _>>()?;
    let mut extension = Extension { blobs, config, layers, images: Vec::new(), read: 0 };
    let name = root.annotations().as_ref().and_then(|all| all.get(crate::layout::REF_NAME));
    let new = match root.media_type().as_ref() {
        media_type if is_index(media_type) => extension.extend_index(root)?,
        _ => extension.extend_image(root)?,
    };
    let digest = new.digest().clone();
    let files = LayoutFiles::new(named(new, name.map(String::as_str)))?;
    let fails = |source| Error::Output { path: directory.to_owned(), source };
    files.write(directory).map_err(fails)?;
    let Extension { blobs, images, .. } = extension;
    Ok(Written { digest, size: blobs.sizes.values().sum(), images })
}

struct Extension<'c> {
    blobs: Blobs,
    config: &'c Config,
    /// The new layers, with the digests of their tars.
    layers: Vec<(Descriptor, Digest)>,
    images: Vec<WrittenImage>,
    /// The size of the documents that were read, in bytes, and [`limit::DOCUMENT`] for each.
    read: u64,
}

impl Extension<'_> {
    fn extend_index(&mut self, root: &Descriptor) -> Result<Descriptor, Error> {
        let mut index: ImageIndex = self.read(root)?.0;
        let mut manifests = Vec::with_capacity(index.manifests().len());
        for old in index.manifests() {
            let platform = old.platform().as_ref();
            if platform.is_some_and(|it| it.os().to_string() == UNKNOWN) {
                continue;
            }
            let mut new = self.extend_image(old)?;
            new.set_platform(old.platform().clone());
            manifests.push(new);
        }
        if manifests.is_empty() {
            return Err(refused("its index contains no image"));
        }
        index.set_manifests(manifests);
        index.set_media_type(Some(MediaType::ImageIndex));
        self.blobs.add_document(MediaType::ImageIndex, &document::index_json(&index)?)
    }

    fn extend_image(&mut self, old: &Descriptor) -> Result<Descriptor, Error> {
        if !is_manifest(old.media_type().as_ref()) {
            return Err(refused("its index contains something other than an image"));
        }
        let mut manifest: ImageManifest = self.read(old)?.0;
        // The fields that Go reads must be those that are changed.
        let (_, bytes) = self.read::<Configuration>(manifest.config())?;
        let path = self.blobs.directory.join(blob_path(manifest.config().digest()));
        let mut configuration = document::parse_value(&bytes, &path)?;
        let n_layers = manifest.layers().len();
        let platform = self.configure(&mut configuration, n_layers).ok_or_else(|| {
            refused("its configuration does not have a platform and the digests of its layers")
        })?;
        let configuration = self.blobs.add_document(MediaType::ImageConfig, &configuration)?;
        let mut layers = manifest.layers().clone();
        for layer in &mut layers {
            layer.set_media_type(to_oci(layer.media_type()));
        }
        layers.extend(self.layers.iter().map(|(layer, _)| layer.clone()));
        let content = layers.iter().chain([&configuration]).map(Descriptor::size).sum::<u64>();
        manifest.set_config(configuration);
        manifest.set_layers(layers);
        manifest.set_media_type(Some(MediaType::ImageManifest));
        let new = self.blobs.add_document(MediaType::ImageManifest, &manifest)?;
        let (digest, size) = (new.digest().clone(), content + new.size());
        self.images.push(WrittenImage { platform, digest, size });
        Ok(new)
    }

    /// Reads a document, and returns also its bytes. It counts each time that it is read, because
    /// it is also written each time.
    fn read<T: Document>(&mut self, descriptor: &Descriptor) -> Result<(T, Vec<u8>), Error> {
        let (document, bytes) = read(&self.blobs.directory, &blob_path(descriptor.digest()))?;
        self.read += bytes.len() as u64 + limit::DOCUMENT;
        if self.read > limit::DOCUMENTS {
            return Err(refused("its images are too many, or their documents too large"));
        }
        Ok((document, bytes))
    }

    /// Changes a configuration. Returns the platform, or `None` if the configuration is not valid.
    fn configure(&self, configuration: &mut Value, n_layers: usize) -> Option<Platform> {
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        let platform = Platform {
            os: text(configuration, "os")?,
            architecture: text(configuration, "architecture")?,
            variant: text(configuration, "variant"),
        };
        let root = configuration.get_mut("rootfs")?.get_mut("diff_ids")?.as_array_mut()?;
        if root.len() != n_layers {
            return None;
        }
        root.extend(self.layers.iter().map(|(_, diff_id)| json!(diff_id.to_string())));
        let history = configuration.get_mut("history").and_then(Value::as_array_mut);
        // Tools refuse a history that does not have exactly one entry for each layer.
        if let Some(history) = history.filter(|history| !history.is_empty()) {
            history.extend(self.layers.iter().map(|_| json!({"created_by": "unlade"})));
        }
        let fields = configuration.as_object_mut()?;
        let settings = fields.entry("config").or_insert(Value::Null);
        if settings.is_null() {
            *settings = Value::Object(Map::new());
        }
        self.set(settings.as_object_mut()?);
        Some(platform)
    }

    fn set(&self, settings: &mut Map<String, Value>) {
        let Config { user, env, entrypoint, command, working_dir, labels } = self.config;
        let mut put = |name: &str, value: Value| settings.insert(name.to_owned(), value);
        if let Some(user) = user {
            put("User", json!(user));
        }
        if let Some(directory) = working_dir {
            put("WorkingDir", json!(directory));
        }
        if !entrypoint.is_empty() {
            put("Entrypoint", json!(entrypoint));
        }
        if !entrypoint.is_empty() || !command.is_empty() {
            put("Cmd", json!(command));
        }
        let mut extend = |name: &str, add: &dyn Fn(&mut Value), empty: Value| {
            let value = settings.entry(name).or_insert(Value::Null);
            if value.is_null() {
                *value = empty;
            }
            add(value);
        };
        if !env.is_empty() {
            let add = |value: &mut Value| {
                if let Some(all) = value.as_array_mut() {
                    all.extend(env.iter().map(|it| json!(it)));
                }
            };
            extend("Env", &add, json!([]));
        }
        if !labels.is_empty() {
            let add = |value: &mut Value| {
                if let Some(all) = value.as_object_mut() {
                    all.extend(labels.iter().map(|(name, value)| (name.clone(), json!(value))));
                }
            };
            extend("Labels", &add, json!({}));
        }
    }
}

/// Returns the media type of the OCI specification for a layer of docker.
fn to_oci(media_type: &MediaType) -> MediaType {
    match media_type.as_ref() {
        "application/vnd.docker.image.rootfs.diff.tar" => MediaType::ImageLayer,
        "application/vnd.docker.image.rootfs.diff.tar.gzip" => MediaType::ImageLayerGzip,
        "application/vnd.docker.image.rootfs.diff.tar.zstd" => MediaType::ImageLayerZstd,
        "application/vnd.docker.image.rootfs.foreign.diff.tar" => {
            MediaType::ImageLayerNonDistributable
        }
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" => {
            MediaType::ImageLayerNonDistributableGzip
        }
        _ => media_type.clone(),
    }
}

/// Reads a document of the layout, and returns also its bytes.
fn read<T: Document>(directory: &FilePath, name: &str) -> Result<(T, Vec<u8>), Error> {
    let path = directory.join(name);
    let bytes = input::read(&path, limit::JSON).map_err(|source| Error::Input { path, source })?;
    let document = parse(&bytes, name).map_err(|error| refused(&unlade_text::chain(&error)))?;
    Ok((document, bytes))
}

fn refused(problem: &str) -> Error {
    Error::Base { problem: problem.to_owned() }
}
