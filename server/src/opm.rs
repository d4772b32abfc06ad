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
use unlade_catalog_directory::opm_cache::{self, CONTENTS, DIGEST, PACKAGES, POGREB};
use unlade_text::excerpt::shorten;
use walkdir::WalkDir;

use crate::bundle;
use crate::index::{Channel, Index, Key, Located, Package};
use crate::message;
use crate::service::custom;

#[cfg(test)]
mod tests;

/// The directory of the database in [`POGREB`].
const POGREB_DATABASE: &str = "db";
/// The maximum length of the name of a file, in bytes.
const MAX_NAME: usize = 255;
/// What a file costs in the size of a cache, in bytes, besides its content: creating one takes
/// about as long as writing this many bytes.
const FILE_COST: u64 = 64 << 10;
/// The limit for the caches of small catalogs, in bytes. Writing that much takes 2 to 4 seconds of
/// CPU time.
const MIN_LIMIT: u64 = 512 << 20;
/// The maximum size of a cache, as a multiple of the size of the files of the catalog. The cache
/// repeats a bundle for each of its channels, and the icon of a package for each of its bundles:
/// with [`FILE_COST`], 26 published catalogs need 6 together, and those of more than 100 kB at most
/// 24 each. The limit does not depend on the texts that are served, because they can be 12 times as
/// large as the files.
const MAX_RATIO: u64 = 32;

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
    /// The format repeats each bundle for each of its channels, and the cache would be too large.
    #[error(
        "the format of opm's cache needs more than {limit} bytes for the catalog, with {FILE_COST} bytes \
         for each file: a bundle has one file for each of its channels"
    )]
    Size {
        /// The maximum size of a cache for this catalog, in bytes.
        limit: u64,
    },
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

/// The size that a cache may have, and what is left of it, in bytes.
struct Room {
    limit: u64,
    rest: u64,
}

/// Writes a cache of the catalog in the directory `catalog` to `directory`, and replaces an older
/// one. Nothing is left of a cache that cannot be completed.
pub(crate) fn write(index: &Index, catalog: &Path, directory: &Path) -> Result<(), Error> {
    write_within(Room::for_catalog(catalog)?, index, catalog, directory)
}

fn write_within(
    mut room: Room,
    index: &Index,
    catalog: &Path,
    directory: &Path,
) -> Result<(), Error> {
    let [contents, own, pogreb] = [CONTENTS, DIGEST, POGREB].map(|name| directory.join(name));
    check_old(catalog, &contents, &own)?;
    // opm prefers this directory, even an incomplete one that a killed opm has left, and stops if
    // its digest is not that of the catalog.
    if is_directory(&pogreb) {
        let is_cache = is_file(&pogreb.join(DIGEST))
            || is_directory(&pogreb.join(POGREB_DATABASE))
            || fs::read_dir(&pogreb).is_ok_and(|mut files| files.next().is_none());
        if !is_cache || contains(&pogreb, catalog)? {
            return Err(Error::Foreign(pogreb));
        }
        remove(&pogreb, |path| fs::remove_dir_all(path))?;
    }
    let clear = || {
        remove(&own, |path| fs::remove_file(path))?;
        remove(&contents, |path| fs::remove_dir_all(path))
    };
    clear()?;
    let written = write_contents(index, &contents, &mut room)
        .and_then(|()| digest(catalog, &contents))
        .and_then(|digest| write_file(&own, |file| file.write_all(digest.as_bytes())));
    written.map(|_| ()).inspect_err(|_| _ = clear())
}

impl Room {
    /// Returns the room for the cache of a catalog.
    fn for_catalog(catalog: &Path) -> Result<Self, Error> {
        let len = size(catalog).map_err(failed(catalog))?;
        Ok(Self::new(len.saturating_mul(MAX_RATIO).max(MIN_LIMIT)))
    }

    fn new(limit: u64) -> Self {
        Self { limit, rest: limit }
    }

    fn take(&mut self, n_bytes: u64) -> Result<(), Error> {
        let rest = self.rest.checked_sub(n_bytes);
        self.rest = rest.ok_or(Error::Size { limit: self.limit })?;
        Ok(())
    }
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

fn write_contents(index: &Index, contents: &Path, room: &mut Room) -> Result<(), Error> {
    // First, because each file repeats the names.
    for key in &*index.listed {
        check_names(key)?;
        room.take(FILE_COST)?;
    }
    create_directory(contents)?;
    room.take(write_json(&contents.join(PACKAGES), &packages(index))?)?;
    for Key { channel, package, name } in &*index.listed {
        let Ok(located) = index.entry(package, channel, Some(name)) else { continue };
        let path = contents.join(format!("{package}_{channel}_{name}.json"));
        let written = write_bundle(index, &located, &path).map_err(|error| match error {
            // The names of two bundles lead to the same file.
            Error::System { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                Error::Name(shorten(name))
            }
            error => error,
        });
        room.take(written?)?;
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
                room.take(FILE_COST + span.len() as u64)?;
                let mut blob = Vec::new();
                index.content.read(*span, &mut blob).map_err(failed(&directory))?;
                let mut hash = FnvHasher::default();
                hash.write(&blob);
                let path = directory.join(format!("{:x}.json", hash.finish()));
                // The format has one file for equal metas.
                if !path.exists() {
                    write_file(&path, |file| file.write_all(&blob))?;
                }
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
    let list = |root: &Path| opm_cache::list(root).map_err(failed(root));
    opm_cache::digest(list(catalog)?, list(contents)?).map_err(failed(catalog))
}

/// Returns the size of all files in the directory, in bytes. Links are left out.
fn size(root: &Path) -> io::Result<u64> {
    let sizes = WalkDir::new(root).into_iter().map(|entry| {
        let metadata = entry?.metadata()?;
        Ok(if metadata.is_file() { metadata.len() } else { 0 })
    });
    sizes.sum()
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

fn write_bundle(index: &Index, located: &Located<'_>, path: &Path) -> Result<u64, Error> {
    let encoded = bundle::encode_complete(index, located).map_err(failed(path))?;
    let decoded = message::Bundle::decode(encoded).map_err(io::Error::other);
    write_json(path, &decoded.map_err(failed(path))?)
}

fn remove(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> Result<(), Error> {
    match remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// Writes the JSON of `value` to a new file, and returns its length in bytes.
fn write_json(path: &Path, value: &impl Serialize) -> Result<u64, Error> {
    write_file(path, |file| Ok(serde_json::to_writer(file, value)?))
}

/// Writes a new file that every user can read, whatever the umask of the process: upstream's caches
/// cannot be read by other users, which prevents them from being served. Returns its length in
/// bytes.
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<u64, Error> {
    let create = || {
        let mut file = BufWriter::new(File::create_new(path)?);
        write(&mut file)?;
        file.flush()?;
        allow(path, 0o644)?;
        Ok(file.get_ref().metadata()?.len())
    };
    create().map_err(failed(path))
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
