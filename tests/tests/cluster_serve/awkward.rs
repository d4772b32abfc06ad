//! Images of the example bundle in which unpacking is difficult.

use std::fs;
use std::path::Path;

use unlade_oci::build::{Compression, Entry, Image, Kind, Layer};
use unlade_tests::{example, trap};

use crate::image;

/// The number of layers that the image with the most layers has besides that of the bundle.
const TALL: usize = 40;

/// An image with something unusual.
pub(crate) struct Awkward {
    pub(crate) name: &'static str,
    pub(crate) image: Image,
    /// Whether it is pushed as an index with this one platform.
    pub(crate) is_index: bool,
}

fn awkward(name: &'static str, change: impl FnOnce(&mut Image)) -> Awkward {
    let mut image = image::bundle(&example());
    change(&mut image);
    Awkward { name, image, is_index: false }
}

/// Returns images that differ in their configuration, or in the files that they contain besides the
/// bundle.
pub(crate) fn settings() -> Vec<Awkward> {
    let program = |path: &str| Entry::file(path, "\u{7f}ELF and then no program").with_mode(0o755);
    vec![
        awkward("from-scratch", |_| {}),
        awkward("broken-cp", |image| {
            image.layers.insert(0, Layer::new(["bin/cp", "bin/sh", "usr/bin/cp"].map(program)));
        }),
        awkward("missing-workdir", |image| {
            image.config.working_dir = Some("/var/lib/bundle".to_owned());
        }),
        awkward("file-as-workdir", |image| {
            image.config.working_dir = Some("/metadata/annotations.yaml".to_owned());
        }),
        awkward("entrypoint", |image| {
            image.config.entrypoint = vec!["/bin/sh".to_owned(), "-c".to_owned()];
            image.config.command = vec!["exit 1".to_owned()];
            image.layers.push(Layer::new([program("bin/sh")]));
        }),
        awkward("env", |image| image.config.env = hostile_environment()),
        awkward("user-by-number", |image| image.config.user = Some("0:0".to_owned())),
        awkward("user-by-name", |image| image.config.user = Some("operator:bundle".to_owned())),
        awkward("users-listed", |image| {
            image.config.user = Some("operator".to_owned());
            image.layers.push(Layer::new([
                Entry::file("etc/passwd", "root:x:65532:0::/:/bin/sh\noperator:x:0:0::/:/bin/sh\n"),
                Entry::file("etc/group", "root:x:0:operator,root,65532\n"),
            ]));
        }),
        awkward("injected", |image| {
            // At the path to which the unpacker is copied.
            image.layers.push(Layer::new([program("injected/unlade-unpacker")]));
        }),
    ]
}

/// Returns images that contain the same files in other layers.
pub(crate) fn layers() -> Vec<Awkward> {
    vec![
        awkward("gzip", |image| image.layers[0].compression = Compression::Gzip),
        awkward("zstd", |image| {
            image.layers[0].compression = Compression::Zstd;
            let other = Layer::new([Entry::file("root/buildinfo", "x")]);
            image.layers.push(other.compressed(Compression::Zstd));
        }),
        awkward("a-layer-each", |image| {
            let entries = std::mem::take(&mut image.layers[0].entries);
            image.layers = entries.into_iter().map(|entry| Layer::new([entry])).collect();
        }),
        awkward("tall", |image| {
            // Each layer replaces a file of the one before, and the last removes it.
            let file = |n: usize| Entry::file("manifests/old.yaml", format!("kind: Old{n}\n"));
            image.layers.extend((0..TALL).map(|n| Layer::new([file(n)])));
            image.layers.push(Layer::new([Entry::removed("manifests/old.yaml")]));
        }),
        awkward("replaced", |image| {
            let wrong = image.layers[0].entries.iter().map(|entry| match entry.kind {
                Kind::Directory => entry.clone(),
                _ => Entry::file(entry.path.clone(), "kind: Wrong\n"),
            });
            image.layers.insert(0, Layer::new(wrong));
        }),
        awkward("opaque", |image| {
            image.layers.insert(
                0,
                Layer::new([
                    Entry::file("manifests/old.yaml", "kind: Old\n"),
                    Entry::file("metadata/old.yaml", "old: true\n"),
                ]),
            );
            for entry in &mut image.layers[1].entries {
                if entry.kind == Kind::Directory {
                    *entry = Entry::opaque(entry.path.clone());
                }
            }
        }),
        Awkward { is_index: true, ..awkward("index", |_| {}) },
    ]
}

/// Returns images with traps for a program that loads code from the image.
pub(crate) fn traps() -> Vec<Awkward> {
    let directory = tempfile::tempdir().unwrap();
    trap::lay(directory.path());
    let mut entries = Vec::new();
    take(directory.path(), "", &mut entries);
    vec![
        awkward("traps", |image| image.layers.push(Layer::new(entries.clone()))),
        awkward("traps-and-env", |image| {
            image.layers.push(Layer::new(entries.clone()));
            image.config.env = hostile_environment();
        }),
    ]
}

fn hostile_environment() -> Vec<String> {
    let own = [("PATH", "/lib"), ("KUBERNETES_SERVICE_HOST", "192.0.2.1")];
    trap::ENVIRONMENT.iter().chain(&own).map(|(name, value)| format!("{name}={value}")).collect()
}

/// Adds everything in `directory` as entries beneath `path`. The files are read immediately.
fn take(directory: &Path, path: &str, entries: &mut Vec<Entry>) {
    for file in fs::read_dir(directory).unwrap().flatten() {
        let path = format!("{path}/{}", file.file_name().to_str().unwrap());
        let kind = file.file_type().unwrap();
        if kind.is_dir() {
            take(&file.path(), &path, entries);
        } else if kind.is_symlink() {
            let target = fs::read_link(file.path()).unwrap();
            entries.push(Entry::link(path, target.to_str().unwrap()));
        } else {
            entries.push(Entry::file(path, fs::read(file.path()).unwrap()).with_mode(0o755));
        }
    }
}
