//! [`to_disk`]: a layout, an archive or a directory of the transport `dir:` as a destination.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oci_spec::image::{Descriptor, ImageIndex};
use serde_json::Value;

use super::{BoxError, Copied, Destination, Error};
use crate::build::{self, document, output};
use crate::document::Shape;
use crate::layout::{CONTAINERD_NAME, INDEX, MARKER, REF_NAME};
use crate::manifest::{blob_path, parse};
use crate::reference::is_same_image;
use crate::{Reference, Transport, dir, limit, store::input};

/// The beginning of the name of the directory with an image that is being replaced.
const REPLACED: &str = ".unlade-replaced-";

/// Creates the image in the file or directory `output` from the blobs and manifests that `copy`
/// stores.
///
/// The image becomes visible only when it is complete. An existing archive is replaced, and so is
/// an existing directory of the transport `dir:`. An existing image layout keeps its images; an
/// image with the same name loses the name. The blobs of a layout that already exist are not read.
/// An empty directory stays, and gets the files; it can be a mount point or a link.
///
/// # Errors
///
/// Returns the error of `copy`. Also returns an error if the output cannot be written, or if it is
/// a directory with other content.
pub fn to_disk(
    output: &Reference,
    copy: impl FnOnce(&dyn Destination) -> Result<Copied, Error>,
) -> Result<Copied, Error> {
    let refused = |error: build::Error| Error::Destination(error.into());
    let path = output.path.as_path();
    let name = output::name_of(output).map_err(refused)?;
    // Another copy may be moving its files into the directory.
    let lock = path.is_dir().then(|| output::lock(path));
    let is_layout = output.transport == Transport::Oci && path.join(MARKER).exists();
    match output.transport {
        Transport::DockerArchive => {
            return Err(refused(build::Error::Unsupported { output: output.to_string() }));
        }
        Transport::OciArchive => {}
        Transport::Oci if is_layout || !output::is_filled(path) => {}
        Transport::Dir if dir::is_dir(path) || !output::is_filled(path) => {}
        Transport::Oci | Transport::Dir => {
            return Err(refused(build::Error::Exists { path: path.to_owned() }));
        }
    }
    if is_layout {
        // If the image cannot be added to the index, nothing is copied.
        read_index(path).map_err(refused)?;
    }
    let fails = |source| refused(build::Error::Output { path: path.to_owned(), source });
    let stage = if is_layout { output::stage_in(path) } else { output::stage(path) };
    let stage = stage.map_err(fails)?;
    drop(lock);
    let disk = Disk {
        directory: stage.path().join("image"),
        existing: is_layout.then(|| path.to_owned()),
        is_dir: output.transport == Transport::Dir,
        written: Mutex::default(),
    };
    fs::create_dir(&disk.directory).map_err(fails)?;
    let copied = copy(&disk)?;
    disk.finish(output, name, stage.path()).map_err(refused)?;
    Ok(copied)
}

/// An image that is being written into the directory `directory`.
struct Disk {
    directory: PathBuf,
    /// The layout to which the image is added.
    existing: Option<PathBuf>,
    is_dir: bool,
    written: Mutex<Written>,
}

/// What was written so far.
#[derive(Default)]
struct Written {
    /// The size of each blob and each manifest in bytes, by its path.
    sizes: BTreeMap<String, u64>,
    root: Option<Descriptor>,
}

impl Destination for Disk {
    fn has(&self, blob: &Descriptor) -> Result<bool, BoxError> {
        let Some(layout) = &self.existing else { return Ok(false) };
        let file = layout.join(blob_path(blob.digest())).symlink_metadata();
        Ok(file.is_ok_and(|file| file.is_file() && file.len() == blob.size()))
    }

    fn blob(&self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), BoxError> {
        let digest = blob.digest();
        let name = if self.is_dir { dir::blob_name(digest) } else { blob_path(digest) };
        Ok(self.add(name, reader)?)
    }

    fn manifest(
        &self,
        manifest: &Descriptor,
        mut bytes: &[u8],
        is_root: bool,
    ) -> Result<(), BoxError> {
        let name = match (self.is_dir, is_root) {
            (true, true) => dir::MANIFEST.to_owned(),
            (true, false) => dir::manifest_name(manifest.digest()),
            (false, _) => blob_path(manifest.digest()),
        };
        self.add(name, &mut bytes)?;
        if is_root {
            self.written().root = Some(manifest.clone());
        }
        Ok(())
    }
}

impl Disk {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: String, reader: &mut dyn Read) -> Result<(), build::Error> {
        let path = self.directory.join(&name);
        let mut write = || -> io::Result<u64> {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = File::create(&path)?;
            let size = io::copy(reader, &mut file)?;
            // An index must not name a blob that a power failure can still take away.
            file.sync_all()?;
            Ok(size)
        };
        let size = write().map_err(|source| build::Error::Output { path, source })?;
        self.written().sizes.insert(name, size);
        Ok(())
    }

    /// Moves the image to `output`.
    fn finish(
        self,
        output: &Reference,
        name: Option<&str>,
        stage: &Path,
    ) -> Result<(), build::Error> {
        let path = output.path.as_path();
        let fails = |source| build::Error::Output { path: path.to_owned(), source };
        let Written { sizes, root } = mem::take(&mut *self.written());
        let root = root.ok_or_else(|| fails(io::ErrorKind::InvalidData.into()))?;
        let root = output::named(root, name);
        if self.is_dir {
            return self.finish_dir(path).map_err(fails);
        }
        if self.existing.is_some() {
            return self.extend(&sizes, &root, name, (path, stage));
        }
        let files = output::LayoutFiles::new(root.clone())?;
        let written = match output.transport {
            Transport::OciArchive => {
                files.write_archive(&self.directory, &sizes, path, &stage.join("archive"))
            }
            _ => files.write_directory(&self.directory, path),
        };
        match written {
            Err(error) if is_occupied(&error) => {
                // Another program has created the directory in the meantime.
                if !path.join(MARKER).exists() {
                    return Err(build::Error::Exists { path: path.to_owned() });
                }
                self.extend(&sizes, &root, name, (path, stage))
            }
            written => written.map_err(fails),
        }
    }

    fn finish_dir(&self, path: &Path) -> io::Result<()> {
        fs::write(self.directory.join(dir::VERSION), dir::VERSION_TEXT)?;
        // Another copy to this directory waits, and then replaces the image.
        let _lock = output::lock(output::parent_of(path));
        if !dir::is_dir(path) {
            return output::place(&self.directory, path, dir::MANIFEST);
        }
        // Not in the stage, which another process deletes if this one is killed between the moves.
        let old = output::new_directory(path, REPLACED)?;
        let new = old.path().join("new");
        // The stage is in `path` if that was empty when the copy began.
        fs::rename(&self.directory, &new)?;
        // A new name, because `path` may be a link, which cannot replace a directory.
        let replaced = old.path().join("image");
        fs::rename(path, &replaced)?;
        fs::rename(&new, path).inspect_err(|_| {
            if fs::rename(&replaced, path).is_err() {
                _ = old.keep();
            }
        })
    }

    /// Adds the image to the layout at `path`: first everything that it consists of, and then its
    /// name.
    fn extend(
        &self,
        sizes: &BTreeMap<String, u64>,
        root: &Descriptor,
        name: Option<&str>,
        (path, stage): (&Path, &Path),
    ) -> Result<(), build::Error> {
        let fails = |source| build::Error::Output { path: path.to_owned(), source };
        // Another copy to this layout waits, so that neither loses the entry of the other.
        let _lock = output::lock(path);
        // Another program may have changed the index during the copy.
        let mut value = read_index(path)?;
        for file in sizes.keys() {
            let to = path.join(file);
            to.parent().map_or(Ok(()), fs::create_dir_all).map_err(fails)?;
            fs::rename(self.directory.join(file), to).map_err(fails)?;
        }
        if let Some(entries) = value.get_mut("manifests").and_then(Value::as_array_mut) {
            insert(entries, serde_json::to_value(root)?, name);
        }
        let index = document::bytes(&value)?;
        output::replace_index(path, &index, &stage.join(INDEX)).map_err(fails)
    }
}

/// Checks whether a directory could not be moved because the destination has files. The error
/// depends on the file system.
fn is_occupied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// Reads the index of the layout at `path`.
fn read_index(path: &Path) -> Result<Value, build::Error> {
    let index = path.join(INDEX);
    let fails = |source| build::Error::Input { path: index.clone(), source };
    let mut bytes = input::read(&index, limit::JSON).map_err(fails)?;
    let mut value = document::parse_value(&bytes, &index);
    if let Ok(value) = &mut value
        && let Some(manifests) = value.get_mut("manifests").filter(|list| list.is_null())
    {
        // A value has only the last of several equal keys, so check the original text.
        parse::<Shape>(&bytes, INDEX).map_err(|error| fails(io::Error::other(error)))?;
        // `umoci init` writes `"manifests": null`, because Go encodes a nil slice as null.
        *manifests = Value::Array(Vec::new());
        bytes = document::bytes(value)?;
    }
    parse::<ImageIndex>(&bytes, INDEX).map_err(|error| fails(io::Error::other(error)))?;
    value
}

/// Inserts `new` into the entries of `index.json`, as containers/image does: another image with the
/// same name loses it, and an entry without a name for the same image is replaced. Readers also
/// select an image by the full name that containerd writes, which containers/image leaves.
fn insert(entries: &mut Vec<Value>, new: Value, name: Option<&str>) {
    let annotation = |entry: &Value, key: &str| {
        let value = entry.get("annotations").and_then(|all| all.get(key));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    let named = |entry: &Value| annotation(entry, REF_NAME);
    if let Some(name) = name {
        for entry in entries.iter_mut() {
            let has_name = named(entry).as_deref() == Some(name);
            let full = annotation(entry, CONTAINERD_NAME);
            let has_full = full.is_some_and(|full| is_same_image(&full, name));
            if let Some(all) = entry.get_mut("annotations").and_then(Value::as_object_mut) {
                if has_name {
                    all.remove(REF_NAME);
                }
                if has_name || has_full {
                    all.remove(CONTAINERD_NAME);
                }
            }
        }
    }
    let same = |entry: &Value| named(entry).is_none() && entry.get("digest") == new.get("digest");
    match entries.iter().position(same) {
        Some(at) => {
            if let Some(entry) = entries.get_mut(at) {
                *entry = new;
            }
        }
        None => entries.push(new),
    }
}
