//! The cache in the JSON format of opm (operator-registry `pkg/cache/json.go`).
//!
//! An image with such a cache can be served by opm too, which stops if the directory of its cache
//! contains something else.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::hash::Hasher as _;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;
use prost::Message as _;
use serde::Serialize;
use unlade_catalog::Names;
use unlade_text::excerpt::shorten;

use crate::bundle;
use crate::index::{Channel, Index, Key, Located, Package};
use crate::message;
use crate::service::custom;

mod tar;

/// The directory of the contents, next to the file with the digest.
const CONTENTS: &str = "cache";
const DIGEST: &str = "digest";
/// A file that every cache of opm in this format contains.
const PACKAGES: &str = "packages.json";
/// The directory of the other format of opm. It has a digest of its own.
const POGREB: &str = "pogreb.v1";
/// The maximum length of the name of a file, in bytes.
const MAX_NAME: usize = 255;

/// The reason why a cache for opm cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files cannot be read or written.
    #[error("failed to access {} while writing the opm cache", path.display())]
    System {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// What is in the place of the cache must not be deleted.
    #[error("failed to replace {}: it is not an opm cache; move or delete it first", .0.display())]
    Foreign(PathBuf),
    /// The format cannot represent the catalog: the names of the package, the channel and the
    /// bundle are parts of the name of a file.
    #[error(
        "the format of opm's cache cannot store the bundle {0:?}: the name of its file is \
         invalid, too long or not unique"
    )]
    Name(String),
    /// The format cannot represent the catalog: the schema and the package of an entry are names of
    /// directories.
    #[error(
        "the format of opm's cache cannot store the schema {schema:?} of the package {package:?}"
    )]
    Schema {
        /// The schema of the entry.
        schema: String,
        /// The package of the entry.
        package: String,
    },
}

#[derive(Serialize)]
struct CachedPackage<'i> {
    name: &'i str,
    #[serde(rename = "defaultChannel")]
    default_channel: &'i str,
    #[serde(rename = "Channels")]
    channels: BTreeMap<&'i str, CachedChannel<'i>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecation: Option<message::Deprecation>,
}

#[derive(Serialize)]
struct CachedChannel<'i> {
    #[serde(rename = "Name")]
    name: &'i str,
    #[serde(rename = "Head")]
    head: &'i str,
    #[serde(rename = "Bundles")]
    bundles: BTreeMap<&'i str, CachedEntry<'i>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecation: Option<message::Deprecation>,
}

#[derive(Serialize)]
struct CachedEntry<'i> {
    package: &'i str,
    channel: &'i str,
    name: &'i str,
    replaces: &'i str,
    skips: &'i Names,
}

/// Writes a cache of the catalog in the directory `catalog` to `directory`, and replaces an older
/// one. Nothing is left of a cache that cannot be completed.
pub(crate) fn write(index: &Index, catalog: &Path, directory: &Path) -> Result<(), Error> {
    let [contents, own, pogreb] = [CONTENTS, DIGEST, POGREB].map(|name| directory.join(name));
    check_old(catalog, &contents, &own)?;
    // opm prefers this directory, and stops if its digest is not that of the catalog.
    if is_file(&pogreb.join(DIGEST)) && is_directory(&pogreb) {
        if contains(&pogreb, catalog)? {
            return Err(Error::Foreign(pogreb));
        }
        remove(&pogreb, |path| fs::remove_dir_all(path))?;
    }
    let clear = || {
        remove(&own, |path| fs::remove_file(path))?;
        remove(&contents, |path| fs::remove_dir_all(path))
    };
    clear()?;
    let written = write_contents(index, &contents)
        .and_then(|()| digest(catalog, &contents))
        .and_then(|digest| write_file(&own, digest.as_bytes()));
    written.inspect_err(|_| _ = clear())
}

/// Checks that the files in the place of a cache are an older cache, and not the catalog or other
/// files of the user.
fn check_old(catalog: &Path, contents: &Path, digest: &Path) -> Result<(), Error> {
    let is_cache = is_directory(contents) && is_file(digest) && is_file(&contents.join(PACKAGES));
    for path in [contents, digest] {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(path)(error)),
            Ok(_) if !is_cache || contains(path, catalog)? => {
                return Err(Error::Foreign(path.to_owned()));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn contains(path: &Path, catalog: &Path) -> Result<bool, Error> {
    let canonical = |path: &Path| path.canonicalize().map_err(failed(path));
    Ok(canonical(catalog)?.starts_with(canonical(path)?))
}

/// Checks whether the path is a directory, and not a link to one.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Checks whether the path is a regular file, and not a link to one.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn write_contents(index: &Index, contents: &Path) -> Result<(), Error> {
    // First, because each file repeats the names.
    for key in &*index.listed {
        check_names(key)?;
    }
    create_directory(contents)?;
    write_json(&contents.join(PACKAGES), &packages(index))?;
    for Key { channel, package, name } in &*index.listed {
        let Ok(located) = index.entry(package, channel, Some(name)) else { continue };
        let path = contents.join(format!("{package}_{channel}_{name}.json"));
        write_bundle(index, &located, &path).map_err(|error| match error {
            // The names of two bundles lead to the same file.
            Error::System { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                Error::Name(shorten(name))
            }
            error => error,
        })?;
    }
    for (schema, packages) in &index.records.others {
        for (package, spans) in packages {
            let of_schema = contents.join("metas").join(schema);
            let directory = of_schema.join(package);
            // No query can contain other names. Upstream refuses to build a cache with paths too.
            let is_long = schema.len().max(package.len()) > MAX_NAME;
            if is_long || custom::check(schema, package).is_err() {
                let (schema, package) = (shorten(schema), shorten(package));
                return Err(Error::Schema { schema, package });
            }
            for directory in [&contents.join("metas"), &of_schema, &directory] {
                create_directory(directory)?;
            }
            for span in spans {
                let mut blob = Vec::new();
                index.content.read(*span, &mut blob).map_err(failed(&directory))?;
                let mut hash = FnvHasher::default();
                hash.write(&blob);
                write_file(&directory.join(format!("{:x}.json", hash.finish())), &blob)?;
            }
        }
    }
    Ok(())
}

/// Checks that the names can be parts of the name of a file.
fn check_names(Key { channel, package, name }: &Key) -> Result<(), Error> {
    let parts = [package, "_", channel, "_", name, ".json"];
    let is_long = parts.iter().map(|part| part.len()).sum::<usize>() > MAX_NAME;
    let is_invalid = is_long || parts.iter().any(|part| part.contains(['/', '\0']));
    if is_invalid { Err(Error::Name(shorten(name))) } else { Ok(()) }
}

fn digest(catalog: &Path, contents: &Path) -> Result<String, Error> {
    let mut hash = FnvHasher::default();
    for root in [catalog, contents] {
        tar::hash(root, &mut hash).map_err(failed(root))?;
    }
    Ok(format!("{:016x}", hash.finish()))
}

/// Returns what `packages.json` contains. Upstream uses the icon and the description only while it
/// builds a cache, so they are left out.
fn packages(index: &Index) -> BTreeMap<&str, CachedPackage<'_>> {
    let packages = index.records.packages.iter();
    packages.map(|(name, package)| (name.as_str(), cached_package(name, package))).collect()
}

fn cached_package<'i>(name: &'i str, package: &'i Package) -> CachedPackage<'i> {
    let channels = package.channels.iter();
    CachedPackage {
        name,
        default_channel: &package.default_channel,
        channels: channels
            .map(|(channel_name, channel)| {
                (channel_name.as_str(), cached_channel(name, channel_name, channel))
            })
            .collect(),
        deprecation: message::deprecation(package.deprecation.as_ref()),
    }
}

fn cached_channel<'i>(package: &'i str, name: &'i str, channel: &'i Channel) -> CachedChannel<'i> {
    let entries = channel.entries.iter();
    let cached = entries.map(|(entry_name, entry)| {
        let (replaces, skips) = (entry.replaces.as_str(), &entry.skips);
        let entry = CachedEntry { package, channel: name, name: entry_name, replaces, skips };
        (entry_name.as_str(), entry)
    });
    let deprecation = message::deprecation(channel.deprecation.as_ref());
    CachedChannel { name, head: &channel.head, bundles: cached.collect(), deprecation }
}

fn write_bundle(index: &Index, located: &Located<'_>, path: &Path) -> Result<(), Error> {
    let encoded = bundle::encode_complete(index, located).map_err(failed(path))?;
    let decoded = message::Bundle::decode(encoded.0).map_err(io::Error::other);
    write_json(path, &decoded.map_err(failed(path))?)
}

fn remove(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> Result<(), Error> {
    match remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// Writes the JSON of `value` to a new file.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let write = || {
        let mut file = BufWriter::new(File::create_new(path)?);
        serde_json::to_writer(&mut file, value)?;
        file.flush()?;
        allow(path, 0o644)
    };
    write().map_err(failed(path))
}

/// Writes a file that every user can read, whatever the umask of the process: upstream's caches
/// cannot be read by other users, which prevents them from being served.
fn write_file(path: &Path, text: &[u8]) -> Result<(), Error> {
    let written = fs::write(path, text);
    written.and_then(|()| allow(path, 0o644)).map_err(failed(path))
}

fn create_directory(path: &Path) -> Result<(), Error> {
    let created = fs::create_dir_all(path);
    created.and_then(|()| allow(path, 0o755)).map_err(failed(path))
}

fn allow(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { path: path.to_owned(), source }
}
