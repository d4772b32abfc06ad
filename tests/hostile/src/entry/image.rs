//! Images in files and directories.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::explain;
use crate::image;
use crate::program::image_file;

pub(super) fn layout(input: &[u8]) {
    scratch(|directory| {
        let path = directory.join("layout");
        let _ = fs::remove_dir_all(&path);
        for (name, bytes) in image::layout(input) {
            let file = path.join(name);
            if let Some(directory) = file.parent() {
                let _ = fs::create_dir_all(directory);
            }
            write(&file, &bytes);
        }
        read("oci", &path);
    });
}

pub(super) fn oci_archive(input: &[u8]) {
    archive("oci-archive", input, |template| image::archive(&image::layout(template)));
}

pub(super) fn docker_archive(input: &[u8]) {
    archive("docker-archive", input, |template| image::archive(&image::docker(template)));
}

pub(super) fn tar(input: &[u8]) {
    docker_archive(&image::over_bundle(input));
}

/// Extracts a catalog from a layer over a small one.
pub(super) fn extract(input: &[u8]) {
    let template = image::over_catalog(input);
    scratch(|directory| {
        let (path, into) = (directory.join("catalog.tar"), directory.join("extracted"));
        write(&path, &image_file(&template, |template| image::archive(&image::docker(template))));
        let _ = fs::remove_dir_all(&into);
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

fn archive(transport: &str, input: &[u8], build: fn(&[u8]) -> Vec<u8>) {
    scratch(|directory| {
        let path = directory.join("image.tar");
        write(&path, &image_file(input, build));
        read(transport, &path);
    });
}

fn read(transport: &str, path: &Path) {
    let source = format!("{transport}:{}", path.display()).parse();
    assert!(source.is_ok(), "{source:?}");
    let Ok(source) = source else { return };
    if let Err(error) = unlade_oci::read(&source, &unlade_oci::Options::default()) {
        explain(&error);
        let _ = (error.hint(), error.is_limit());
    }
}

fn write(path: &Path, bytes: &[u8]) {
    let written = fs::write(path, bytes);
    assert!(written.is_ok(), "{}: {written:?}", path.display());
}

/// Calls `work` with a directory of this thread's own, in memory where that can be.
pub(super) fn scratch(work: impl FnOnce(&Path)) {
    thread_local! {
        static DIRECTORY: RefCell<Option<TempDir>> = const { RefCell::new(None) };
    }
    DIRECTORY.with_borrow_mut(|directory| {
        if directory.is_none() {
            *directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).ok();
        }
        assert!(directory.is_some(), "no temporary directory");
        if let Some(directory) = directory {
            work(directory.path());
        }
    });
}
