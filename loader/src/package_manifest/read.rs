//! A PackageManifest resource among the files of a bundle.

use unlade_yaml::{
    self as yaml,
    json::{Kind, Value},
};

use super::{Channel, Deprecation, PackageManifest};
use crate::{
    metadata::{Candidate, as_written},
    typed::{field, scalar_text},
};

/// The kind that a PackageManifest has if it has one. Such a resource stays an object, as it is for
/// upstream's loader; mostly they have none.
pub(crate) const KIND: &str = "PackageManifest";

/// The PackageManifest that the file is; none if they are something else. A file is one if it has
/// a `packageName` and all else fits (operator-registry `pkg/registry/decode.go`,
/// `DecodePackageManifest`); scalars are taken as written, so that a channel `4.10` is no `4.1`, and
/// a file that has a `packageName` is read once more.
///
/// # Errors
///
/// If the budget of `reader` is used up.
pub(crate) fn read(
    Candidate { root, bytes, .. }: Candidate<'_, '_>,
    reader: &yaml::Reader,
) -> Result<Option<PackageManifest>, yaml::Error> {
    if field(root, "packageName").is_none() {
        return Ok(None);
    }
    let Some(tree) = as_written(bytes, reader)? else { return Ok(None) };
    let manifest = manifest(tree.root()).ok();
    Ok(manifest.filter(|manifest| !manifest.package_name.is_empty()))
}

/// A value is not of the type that a PackageManifest has there.
struct Mismatch;

fn manifest(root: Value<'_>) -> Result<PackageManifest, Mismatch> {
    Ok(PackageManifest {
        package_name: text(root, "packageName")?,
        channels: channels(root)?,
        default_channel_name: text(root, "defaultChannel")?,
        deprecation: deprecation(root)?,
    })
}

fn channels(root: Value<'_>) -> Result<Vec<Channel>, Mismatch> {
    let Some(channels) = field(root, "channels") else { return Ok(Vec::new()) };
    let channel = |item: Value<'_>| {
        Ok(Channel {
            name: text(item, "name")?,
            current_csv: text(item, "currentCSV")?,
            deprecation: deprecation(item)?,
        })
    };
    match channels.kind() {
        Kind::Array => channels.items().map(channel).collect(),
        _ => Err(Mismatch),
    }
}

/// What is deprecated; an error if it is of another type.
fn deprecation(object: Value<'_>) -> Result<Option<Deprecation>, Mismatch> {
    let Some(value) = field(object, "deprecation") else { return Ok(None) };
    Ok(Some(Deprecation { message: text(value, "message")? }))
}

/// The text under `name`, empty if it is absent.
fn text(object: Value<'_>, name: &str) -> Result<String, Mismatch> {
    match (object.kind(), field(object, name)) {
        (Kind::Object | Kind::Null, None) => Ok(String::new()),
        (Kind::Object, Some(value)) => scalar_text(value).ok_or(Mismatch),
        _ => Err(Mismatch),
    }
}
