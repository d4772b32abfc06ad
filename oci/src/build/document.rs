//! The JSON documents of an image.

use std::io;
use std::path::Path;

use oci_spec::OciSpecError;
use oci_spec::image::{
    Arch, Config as OciConfig, Descriptor, Digest, ImageConfiguration, ImageIndex,
    ImageIndexBuilder, ImageManifest, ImageManifestBuilder, MediaType, Os, Platform as OciPlatform,
    PlatformBuilder, RootFs,
};
use serde::Serialize;
use serde_json::Value;
use unlade_yaml::json;

use super::{Error, Image};
use crate::Platform;
use crate::limit;

/// Parses the document `bytes` of the file `path`, to change it as a JSON value, so that no field
/// of another tool is lost.
pub(crate) fn parse_value(bytes: &[u8], path: &Path) -> Result<Value, Error> {
    let limit = limit::VALUES;
    if json::value_memory(bytes) > limit {
        let problem = format!("its values need more than {limit} bytes of memory");
        return Err(Error::Input { path: path.to_owned(), source: io::Error::other(problem) });
    }
    Ok(serde_json::from_slice(bytes)?)
}

/// Serializes a document. Fields are sorted by name, because the maps of the OCI types have no
/// order.
pub(crate) fn bytes(document: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut value = serde_json::to_value(document)?;
    // Another crate may enable the feature of serde_json that keeps the order of insertion.
    value.sort_all_objects();
    serde_json::to_vec(&value)
}

pub(super) fn configuration(image: &Image, diff_ids: &[Digest]) -> ImageConfiguration {
    let config = &image.config;
    let list = |items: &[String]| (!items.is_empty()).then(|| items.to_vec());
    let labels = config.labels.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut execution = OciConfig::default();
    execution
        .set_user(config.user.clone())
        .set_env(list(&config.env))
        .set_entrypoint(list(&config.entrypoint))
        .set_cmd(list(&config.command))
        .set_working_dir(config.working_dir.clone())
        .set_labels((!config.labels.is_empty()).then(|| labels.collect()));
    let mut root = RootFs::default();
    root.set_typ("layers".to_owned());
    root.set_diff_ids(diff_ids.iter().map(ToString::to_string).collect());
    let mut configuration = ImageConfiguration::default();
    configuration
        .set_os(Os::from(image.platform.os.as_str()))
        .set_architecture(Arch::from(image.platform.architecture.as_str()))
        .set_variant(image.platform.variant.clone())
        .set_config(Some(execution))
        .set_rootfs(root);
    configuration
}

pub(crate) fn manifest(
    configuration: Descriptor,
    layers: Vec<Descriptor>,
) -> Result<ImageManifest, OciSpecError> {
    ImageManifestBuilder::default()
        .schema_version(2_u32)
        .media_type(MediaType::ImageManifest)
        .config(configuration)
        .layers(layers)
        .build()
}

pub(super) fn index(manifests: Vec<Descriptor>) -> Result<ImageIndex, OciSpecError> {
    ImageIndexBuilder::default()
        .schema_version(2_u32)
        .media_type(MediaType::ImageIndex)
        .manifests(manifests)
        .build()
}

/// Serializes an index. oci-spec has other names for two fields of a platform.
pub(super) fn index_json(index: &ImageIndex) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(index)?;
    let manifests = value.get_mut("manifests").and_then(Value::as_array_mut);
    for manifest in manifests.into_iter().flatten() {
        let Some(platform) = manifest.get_mut("platform").and_then(Value::as_object_mut) else {
            continue;
        };
        for (name, specified) in [("os_version", "os.version"), ("os_features", "os.features")] {
            if let Some(field) = platform.remove(name) {
                platform.insert(specified.to_owned(), field);
            }
        }
    }
    Ok(value)
}

pub(super) fn platform(platform: &Platform) -> Result<OciPlatform, OciSpecError> {
    let mut built = PlatformBuilder::default()
        .os(platform.os.as_str())
        .architecture(platform.architecture.as_str())
        .build()?;
    built.set_variant(platform.variant.clone());
    Ok(built)
}
