//! Reads a PackageManifest resource among the files of a bundle.

use unlade_bundle::typed::{MAX_ITEMS, field, scalar_text};
use unlade_yaml::{
    self as yaml,
    json::{Kind, Value},
};

use super::{Channel, Deprecation, PackageManifest};
use crate::metadata::{Candidate, read_as_written};

/// The kind of a PackageManifest. Most of them have no kind. One that has it is also an object of
/// the bundle, as in upstream's loader.
pub(crate) const KIND: &str = "PackageManifest";

/// Reads the file as a PackageManifest. Returns `None` if it is not one.
///
/// A file is a PackageManifest if it has a `packageName` and all other fields fit
/// (operator-registry `pkg/registry/decode.go`, `DecodePackageManifest`). Scalars are kept as
/// written, so that a channel `4.10` does not become `4.1`. For this reason, a file with a
/// `packageName` is parsed a second time.
///
/// # Errors
///
/// Returns an error if the budget of `reader` is exhausted.
pub(crate) fn read(
    Candidate { root, bytes, .. }: Candidate<'_, '_>,
    reader: &yaml::Reader,
) -> Result<Option<PackageManifest>, yaml::Error> {
    if field(root, "packageName").is_none() {
        return Ok(None);
    }
    let Some(tree) = read_as_written(bytes, reader)? else { return Ok(None) };
    let manifest = manifest(tree.root()).ok();
    Ok(manifest.filter(|manifest| !manifest.package_name.is_empty()))
}

/// An error: a value does not have the type of the field of a PackageManifest, or a list is too
/// long.
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
        Kind::Array if channels.items().count() <= MAX_ITEMS => {
            channels.items().map(channel).collect()
        }
        _ => Err(Mismatch),
    }
}

/// Reads the deprecation of a package or channel.
fn deprecation(object: Value<'_>) -> Result<Option<Deprecation>, Mismatch> {
    let Some(value) = field(object, "deprecation") else { return Ok(None) };
    Ok(Some(Deprecation { message: text(value, "message")? }))
}

/// Returns the text of the field `name`. Empty if it is absent.
fn text(object: Value<'_>, name: &str) -> Result<String, Mismatch> {
    match (object.kind(), field(object, name)) {
        (Kind::Object | Kind::Null, None) => Ok(String::new()),
        (Kind::Object, Some(value)) => scalar_text(value).ok_or(Mismatch),
        _ => Err(Mismatch),
    }
}
