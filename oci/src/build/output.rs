//! Writes blobs as a layout or an archive, which becomes visible only when it is complete.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirEntry, File};
use std::io::{self, BufWriter, Write};
use std::path::Path as FilePath;

use oci_spec::image::{Descriptor, OciLayoutBuilder};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;
use unlade_name::ImageReference;

use super::blob::Blobs;
use super::{Error, Written, WrittenImage, document};
use crate::layout::{CONTAINERD_NAME, INDEX, MARKER, REF_NAME};
use crate::{Reference, Select, Transport};

/// The beginning of the names of temporary directories.
const STAGE: &str = ".unlade-image-";
/// The name of a new `index.json` until it is complete.
const STAGED_INDEX: &str = ".unlade-index.json";

/// Calls `fill` to add blobs, and writes `output` with the root descriptor that it returns.
pub(super) fn write_staged(
    output: &Reference,
    fill: impl FnOnce(&mut Blobs) -> Result<(Descriptor, Vec<WrittenImage>), Error>,
) -> Result<Written, Error> {
    let name = name_of(output)?;
    let path = output.path.as_path();
    match output.transport {
        Transport::Oci if is_filled(path) => {
            return Err(Error::Exists { path: path.to_owned() });
        }
        Transport::Oci | Transport::OciArchive => {}
        Transport::DockerArchive | Transport::Dir => {
            return Err(Error::Unsupported { output: output.to_string() });
        }
    }
    let fails = |source| Error::Output { path: path.to_owned(), source };
    let stage = stage(path).map_err(fails)?;
    let mut blobs = Blobs::new(stage.path().join("layout"))?;
    let (root, images) = fill(&mut blobs)?;
    let digest = root.digest().clone();
    let files = LayoutFiles::new(named(root, name))?;
    let written = match output.transport {
        Transport::OciArchive => {
            let stage = stage.path().join("archive");
            files.write_archive(&blobs.directory, &blobs.sizes, path, &stage)
        }
        _ => files.write_directory(&blobs.directory, path),
    };
    written.map_err(fails)?;
    Ok(Written { digest, size: blobs.sizes.values().sum(), images })
}

/// Returns the name that `output` gives to an image.
pub(crate) fn name_of(output: &Reference) -> Result<Option<&str>, Error> {
    match &output.select {
        None => Ok(None),
        Some(Select::Name(name)) => Ok(Some(name)),
        Some(_) => Err(Error::Unsupported { output: output.to_string() }),
    }
}

/// Checks whether `path` is a directory that is not empty. Temporary directories of this crate do
/// not count.
pub(crate) fn is_filled(path: &FilePath) -> bool {
    fs::read_dir(path).is_ok_and(|mut files| files.any(|file| !file.is_ok_and(|f| is_stage(&f))))
}

/// Creates a temporary directory in the file system of `path`, because renaming works only within
/// one: in `path` if it is an empty directory, which can be a mount point, and else next to it.
pub(crate) fn stage(path: &FilePath) -> io::Result<Stage> {
    let is_empty = path.is_dir() && !is_filled(path);
    stage_in(if is_empty { path } else { parent_of(path) })
}

/// Creates a directory next to `path`, whose name begins with `prefix`.
pub(crate) fn new_directory(path: &FilePath, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).tempdir_in(parent_of(path))
}

pub(crate) fn parent_of(path: &FilePath) -> &FilePath {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(FilePath::new("."))
}

/// Creates a temporary directory in `directory`, and deletes those that killed processes left
/// there.
pub(crate) fn stage_in(directory: &FilePath) -> io::Result<Stage> {
    delete_abandoned(directory);
    loop {
        let dir = tempfile::Builder::new().prefix(STAGE).tempdir_in(directory)?;
        let lock = lock(dir.path());
        // Another process may have deleted it before it was locked.
        if dir.path().is_dir() {
            return Ok(Stage { dir, _lock: lock });
        }
    }
}

/// Locks a directory until the result is dropped. Some file systems do not support locks. Other
/// processes cannot lock the directory there, either.
pub(crate) fn lock(directory: &FilePath) -> Option<File> {
    File::open(directory).and_then(|lock| lock.lock().map(|()| lock)).ok()
}

/// A temporary directory, which is locked as long as it is used.
pub(crate) struct Stage {
    dir: TempDir,
    _lock: Option<File>,
}

impl Stage {
    pub(crate) fn path(&self) -> &FilePath {
        self.dir.path()
    }
}

/// Deletes the temporary directories that nobody has locked. What cannot be deleted stays.
fn delete_abandoned(directory: &FilePath) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_stage(&entry)
            && let Ok(lock) = File::open(entry.path())
            && lock.try_lock().is_ok()
        {
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_stage(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(STAGE.as_bytes())
        && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Moves the directory `from` to `to`. An empty directory at `to` stays, because a mount point, the
/// current directory or the target of a link cannot be replaced. It gets the files, and finally
/// the one with the name `last`, without which they are not an image. The marker of a layout is the
/// last but one, because a directory with a marker is read as a layout.
pub(crate) fn place(from: &FilePath, to: &FilePath, last: &str) -> io::Result<()> {
    if !to.is_dir() {
        return fs::rename(from, to);
    }
    let _lock = lock(to);
    if is_filled(to) {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    let names = fs::read_dir(from)?.map(|file| Ok(file?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| (name == last, name == MARKER));
    names.iter().try_for_each(|name| fs::rename(from.join(name), to.join(name)))
}

/// Returns the entry of `index.json` for the image or index under its name.
pub(crate) fn named(mut root: Descriptor, name: Option<&str>) -> Descriptor {
    if let Some(name) = name {
        let mut annotations = HashMap::from([(REF_NAME.to_owned(), name.to_owned())]);
        // A tag alone is not the name of a repository.
        if let Ok(image) = ImageReference::parse(name)
            && name.contains('/')
        {
            annotations.insert(CONTAINERD_NAME.to_owned(), image.normalized());
        }
        root.set_annotations(Some(annotations));
    }
    root
}

/// Writes the `index.json` of a layout to `stage` first, so that a reader finds the old one or the
/// new one.
pub(crate) fn replace_index(layout: &FilePath, bytes: &[u8], stage: &FilePath) -> io::Result<()> {
    let mut file = File::create(stage)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(stage, layout.join(INDEX))
}

/// The files of a layout that are not blobs.
pub(crate) struct LayoutFiles {
    marker: Vec<u8>,
    index: Vec<u8>,
}

impl LayoutFiles {
    /// Creates the files of a layout whose only image or index is `root`.
    pub(crate) fn new(root: Descriptor) -> Result<Self, Error> {
        let marker = OciLayoutBuilder::default().image_layout_version("1.0.0").build()?;
        let index = document::bytes(&document::index(vec![root])?)?;
        Ok(Self { marker: document::bytes(&marker)?, index })
    }

    /// Adds the files to the blobs in `directory`.
    pub(super) fn write(&self, directory: &FilePath) -> io::Result<()> {
        fs::write(directory.join(MARKER), &self.marker)?;
        replace_index(directory, &self.index, &directory.join(STAGED_INDEX))
    }

    /// Adds the files to the blobs in `directory`, and moves it to `path`.
    pub(crate) fn write_directory(&self, directory: &FilePath, path: &FilePath) -> io::Result<()> {
        self.write(directory)?;
        place(directory, path, INDEX)
    }

    /// Writes an archive with the blobs in `directory`, whose `sizes` in bytes are known by their
    /// paths. Writes it to `stage` first, and moves it to `path`.
    pub(crate) fn write_archive(
        &self,
        directory: &FilePath,
        sizes: &BTreeMap<String, u64>,
        path: &FilePath,
        stage: &FilePath,
    ) -> io::Result<()> {
        let mut builder = Builder::new(BufWriter::new(File::create(stage)?));
        for (name, bytes) in [(MARKER, &self.marker), (INDEX, &self.index)] {
            builder.append_data(&mut header(bytes.len() as u64), name, bytes.as_slice())?;
        }
        for (name, size) in sizes {
            let blob = File::open(directory.join(name))?;
            builder.append_data(&mut header(*size), name, blob)?;
        }
        let mut writer = builder.into_inner()?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        fs::rename(stage, path)
    }
}

fn header(size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}
