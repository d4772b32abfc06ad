//! Images in files and directories.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::json;
use unlade_bundle::{Directory, Limits, layout};
use unlade_oci::Image;
use unlade_oci::build::{self, Entry, Layer};
use unlade_oci::tar_reader;

use super::{CHECKED_AGAIN, explain};
use crate::image;
use crate::program::image_file;

/// Reads an image layout, and its manifest and blobs as a directory of the transport `dir:`.
pub(super) fn layout(input: &[u8]) {
    scratch(|directory| {
        let path = directory.join("layout");
        write_all(&path, image::layout(input));
        let found = read_and_check("oci", &path, input.len() <= CHECKED_AGAIN);
        let path = directory.join("directory");
        write_all(&path, image::directory(input));
        let same = read("dir", &path);
        if let (Some(found), Some(same)) = (found, same)
            && found.digest == same.digest
        {
            assert_eq!(found.reading, same.reading, "read as a directory");
        }
    });
}

pub(super) fn oci_archive(input: &[u8]) {
    archive("oci-archive", input, |template| image::archive(&image::layout(template)));
}

pub(super) fn docker_archive(input: &[u8]) {
    docker(input);
}

fn docker(template: &[u8]) -> Option<Image> {
    archive("docker-archive", template, |template| image::archive(&image::docker(template)))
}

/// Reads a layer, and the same tar as that of a bundle directory. Checks that a layer and its
/// compressed form are the same.
pub(super) fn tar(input: &[u8]) {
    let found = docker(&image::over_bundle(input));
    let plain = image::layer(input);
    read_as_directory(&plain);
    if input.len() > CHECKED_AGAIN || image::is_compressed(input) {
        return;
    }
    entries_are_in_the_stream(&plain);
    if let Some(again) = docker(&image::over_bundle(&image::gzip(&plain))) {
        assert!(found.as_ref() == Some(&again), "compressed: {again:?}, plain: {found:?}");
    }
}

/// Reads the tar of a bundle directory.
fn read_as_directory(tar: &[u8]) {
    scratch(|directory| {
        let path = directory.join("bundle.tar");
        write(&path, tar);
        if let Err(error) = unlade_oci::read_tar(&path, &unlade_oci::Options::default()) {
            explain(&error);
            let _ = (error.hint(), error.is_limit());
        }
    });
}

/// Checks that the data of each entry is where its offset and size say, and that entries are the
/// same if their data is not read.
fn entries_are_in_the_stream(tar: &[u8]) {
    let limits = unlade_oci::Limits::default();
    let (mut read, mut skipped) = (Vec::new(), Vec::new());
    let mut end = 0;
    let result = tar_reader::each(tar, &limits, |entry| {
        assert!(entry.offset >= end, "the entry at {} overlaps another one", entry.offset);
        end = entry.offset.saturating_add(entry.size);
        let mut data = Vec::new();
        entry.read_to_end(&mut data)?;
        let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
        let place = tar.get(start..).unwrap_or_default();
        assert!(place.starts_with(&data), "other data at {}", entry.offset);
        read.push((entry.path.clone(), entry.kind, entry.link.clone(), entry.size, entry.offset));
        Ok::<_, io::Error>(())
    });
    let again = tar_reader::each(tar, &limits, |entry| {
        skipped.push((
            entry.path.clone(),
            entry.kind,
            entry.link.clone(),
            entry.size,
            entry.offset,
        ));
        Ok::<_, io::Error>(())
    });
    assert_eq!(read, skipped, "other entries if data is not read");
    assert_eq!(result.is_ok(), again.is_ok(), "{result:?} {again:?}");
    assert!(result.is_err() || end <= tar.len() as u64, "data up to {end} of {}", tar.len());
}

/// Extracts a catalog from a layer over a small one.
pub(super) fn extract(input: &[u8]) {
    let template = image::over_catalog(input);
    scratch(|directory| {
        let (path, into) = (directory.join("catalog.tar"), directory.join("extracted"));
        write(&path, &image_file(&template, |template| image::archive(&image::docker(template))));
        let created = fs::create_dir(&into);
        assert!(created.is_ok(), "{created:?}");
        let Ok(source) = format!("docker-archive:{}", path.display()).parse() else { return };
        let options = unlade_oci::Options::default();
        match unlade_oci::extract(&source, image::CATALOG_LABEL, &into, &options) {
            Ok(extracted) => assert!(extracted.path.starts_with(&into), "{extracted:?}"),
            Err(error) => {
                explain(&error);
                let _ = (error.hint(), error.is_limit());
            }
        }
    });
}

fn archive(transport: &str, input: &[u8], build: fn(&[u8]) -> Vec<u8>) -> Option<Image> {
    let mut found = None;
    scratch(|directory| {
        let path = directory.join("image.tar");
        write(&path, &image_file(input, build));
        found = read_and_check(transport, &path, input.len() <= CHECKED_AGAIN);
    });
    found
}

/// Reads an image. Checks that the bundle is within its limits and, if `is_checked`, that it is the
/// same if it is read again, or written as another image.
fn read_and_check(transport: &str, path: &Path, is_checked: bool) -> Option<Image> {
    let found = read(transport, path)?;
    let (files, limits) = (found.reading.content.files(), Limits::default());
    assert!(files.is_sorted_by(|a, b| a.path() < b.path()), "files are twice or not sorted");
    let size: usize = files.iter().map(|file| file.bytes.len()).sum();
    assert!(files.len() <= limits.files && size <= limits.total_size, "{} files", files.len());
    if is_checked {
        assert_eq!(read(transport, path).as_ref(), Some(&found), "read again");
        let other = path.with_file_name("again.tar");
        if write_again(&found, &other) {
            let again = read("oci-archive", &other);
            let again = again.as_ref().map(|again| &again.reading.content);
            assert_eq!(again, Some(&found.reading.content), "written and read again");
        }
    }
    Some(found)
}

/// Writes the bundle of an image as another image. Returns false if it has the name of a file that
/// an image cannot contain.
fn write_again(image: &Image, path: &Path) -> bool {
    let content = &image.reading.content;
    let annotations = json!({"annotations": content.annotations()}).to_string();
    let layout = layout::read(Some(annotations.as_bytes()), &Limits::default());
    let metadata = Directory::Metadata.as_str();
    let manifests = layout.map_or(Directory::Manifests.to_string(), |layout| layout.manifests);
    let mut layer = Layer::new([&manifests, metadata].map(Entry::directory));
    // Without the file, a bundle has no annotations.
    if !content.annotations().is_empty() {
        layer.entries.push(Entry::file(format!("{metadata}/annotations.yaml"), annotations));
    }
    layer.entries.extend(content.files().iter().map(|file| {
        let directory = match file.directory {
            Directory::Manifests => manifests.as_str(),
            Directory::Metadata => metadata,
        };
        Entry::file(format!("{directory}/{}", file.name), file.bytes.as_slice())
    }));
    let mut written = build::Image::from_scratch(image.platform.clone());
    written.layers.push(layer);
    let Ok(output) = format!("oci-archive:{}", path.display()).parse() else { return false };
    match build::write(&written, &output) {
        Ok(_) => true,
        Err(error) => {
            explain(&error);
            assert!(matches!(error, build::Error::Whiteout { .. }), "failed to write: {error}");
            false
        }
    }
}

fn read(transport: &str, path: &Path) -> Option<Image> {
    let source = format!("{transport}:{}", path.display()).parse();
    assert!(source.is_ok(), "{source:?}");
    match unlade_oci::read(&source.ok()?, &unlade_oci::Options::default()) {
        Ok(image) => Some(image),
        Err(error) => {
            explain(&error);
            let _ = (error.hint(), error.is_limit());
            None
        }
    }
}

fn write_all(directory: &Path, files: BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let file = directory.join(name);
        if let Some(directory) = file.parent() {
            let _ = fs::create_dir_all(directory);
        }
        write(&file, &bytes);
    }
}

fn write(path: &Path, bytes: &[u8]) {
    let written = fs::write(path, bytes);
    assert!(written.is_ok(), "{}: {written:?}", path.display());
}

/// Calls `work` with an empty directory, in memory where that is possible.
pub(super) fn scratch(work: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    assert!(directory.is_ok(), "{directory:?}");
    let Ok(directory) = directory else { return };
    work(directory.path());
}
