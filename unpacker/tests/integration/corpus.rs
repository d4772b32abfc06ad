//! The crafted bundles of the corpus whose point is the directory: links, nested directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use unlade_format::{Finding, Reason};
use unlade_tests::corpus;
use unlade_unpacker::directory::{self, Error, LinkFault, Options};

/// Files of the crafted bundles that are links, if a copy of the corpus made them files that hold
/// their targets.
const LINKS: [&str; 5] = [
    "symlink-dangling/manifests/link.yaml",
    "symlink-directory/manifests/meta",
    "symlink-inside/manifests/again.yaml",
    "symlink-manifests/manifests",
    "symlink-outside/manifests/link.yaml",
];

/// A copy of the crafted bundles with their links.
fn crafted(corpus: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("bundles/crafted");
    copy(&corpus.join("crafted"), &to);
    for link in LINKS {
        let path = to.join(link);
        if !path.is_symlink() {
            let target = fs::read_to_string(&path).unwrap();
            fs::remove_file(&path).unwrap();
            symlink(target, path).unwrap();
        }
    }
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), to).unwrap();
        } else if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::write(to, fs::read(&path).unwrap()).unwrap();
        }
    }
}

#[test]
fn directories_of_the_crafted_bundles_are_read_as_documented() {
    let Some(corpus) = corpus::directory() else { return };
    let folder = crafted(&corpus);
    let read = |name: &str| {
        directory::read(&folder.path().join("bundles/crafted").join(name), &Options::default())
    };
    // As upstream.
    let inside = read("symlink-inside").unwrap().content;
    let file = |name: &str| inside.files().iter().find(|file| file.name == name).unwrap();
    assert_eq!(file("again.yaml").bytes, file("crd.yaml").bytes);
    assert_eq!(read("symlink-manifests").unwrap().content.files().len(), 2);
    assert_eq!(read("dir-empty-manifests").unwrap().content.files().len(), 1);
    for (name, path) in [("dir-no-manifests", "manifests"), ("dir-no-metadata", "metadata")] {
        let error = read(name).unwrap_err();
        assert!(matches!(&error, Error::Missing { path: p } if p == path), "{name}: {error:?}");
    }
    for (name, path) in [("nested-dir", "manifests/sub"), ("nested-dir-metadata", "metadata/sub")] {
        let error = read(name).unwrap_err();
        let is_expected = matches!(&error, Error::NestedDirectory { path: p } if p == path);
        assert!(is_expected, "{name}: {error:?}");
    }
    // Errors as upstream's, but for the last one, which upstream follows out of the bundle.
    for (name, path, expected) in [
        ("symlink-dangling", "manifests/link.yaml", LinkFault::Outside),
        ("symlink-directory", "manifests/meta", LinkFault::Outside),
        ("symlink-outside", "manifests/link.yaml", LinkFault::Outside),
    ] {
        let Err(Error::Link { path: found, fault, .. }) = read(name) else { panic!("{name}") };
        assert_eq!((found.as_str(), fault), (path, expected), "{name}");
    }
}

/// With the files that `std::fs` finds, the reader of directories finds the same in every bundle.
#[test]
fn every_bundle_is_read_as_its_files_are() {
    let mut n = 0;
    for sample in corpus::samples() {
        if LINKS.iter().any(|link| {
            sample.name.strip_prefix("crafted/").is_some_and(|name| link.starts_with(name))
        }) {
            continue;
        }
        let limits = unlade_format::Limits::default();
        let expected = unlade_format::Content::assemble(sample.files(), &limits);
        match (directory::read(&sample.path, &Options::default()), expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.content, expected.content, "{}", sample.name);
                let is_ours = |finding: &Finding| finding.reason == Reason::PathIgnored;
                let (ours, others): (Vec<_>, Vec<_>) =
                    found.findings.into_iter().partition(is_ours);
                assert_eq!(others, expected.findings, "{}", sample.name);
                assert!(ours.is_empty() || sample.is_crafted(), "{}: {ours:?}", sample.name);
                n += 1;
            }
            // Directories are missing or nested, which the files alone do not show.
            (Err(_), _) => assert!(sample.is_crafted(), "{}", sample.name),
            (Ok(_), Err(error)) => panic!("{}: {error}", sample.name),
        }
    }
    assert!(n == 0 || n > 200, "{n}");
}
