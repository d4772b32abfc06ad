//! Images in files and directories.

use std::fs;
use std::path::Path;

use super::explain;
use crate::image;
use crate::program::image_file;

pub(super) fn layout(input: &[u8]) {
    scratch(|directory| {
        let path = directory.join("layout");
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

/// Calls `work` with an empty directory, in memory where that is possible.
pub(super) fn scratch(work: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    assert!(directory.is_ok(), "{directory:?}");
    let Ok(directory) = directory else { return };
    work(directory.path());
}
