use std::io::Read;

use tar::{Archive, EntryType};
use unlade_oci::build::{Entry, Error, Layer, write};

use crate::fixture::*;

/// Returns the type, path, mode and link of each entry of the tar of a layer.
fn entries(layer: Layer) -> Vec<(EntryType, String, u32, String)> {
    let place = Place::new();
    place.write(&image([layer]), "oci");
    let layout = place.path().join("image");
    let (manifest, _) = documents(&layout);
    let tar = blob(&layout, &manifest["layers"][0]);
    let mut archive = Archive::new(tar.as_slice());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(
            (header.mtime().unwrap(), header.username(), header.groupname()),
            (0, Ok(Some("")), Ok(Some("")))
        );
        let text = |bytes: Option<std::borrow::Cow<'_, [u8]>>| {
            String::from_utf8(bytes.unwrap_or_default().into_owned()).unwrap()
        };
        let found = (
            header.entry_type(),
            String::from_utf8(entry.path_bytes().into_owned()).unwrap(),
            header.mode().unwrap(),
            text(entry.link_name_bytes()),
        );
        entry.read_to_end(&mut Vec::new()).unwrap();
        found
    });
    entries.collect()
}

fn refused(entries: Vec<Entry>) -> Error {
    let place = Place::new();
    let output = format!("oci-archive:{}", place.path().join("image").display());
    let error = write(&image([Layer::new(entries)]), &output.parse().unwrap()).unwrap_err();
    assert_eq!(place.names(), [""; 0]);
    error
}

#[test]
fn directories_come_before_what_is_in_them_and_hard_links_last() {
    let found = entries(Layer::new([
        Entry::hard_link("a/hard", "/b/file"),
        Entry::link("bin", "usr/bin"),
        Entry::file("b/file", "x").with_mode(0o4755),
        Entry::directory("b").with_mode(0o700),
    ]));
    let expected = [
        (EntryType::Directory, "b/", 0o700, ""),
        (EntryType::Regular, "b/file", 0o4755, ""),
        (EntryType::Symlink, "bin", 0o777, "usr/bin"),
        (EntryType::Directory, "a/", 0o755, ""),
        (EntryType::Link, "a/hard", 0o644, "b/file"),
    ];
    assert_eq!(
        found,
        expected.map(|(kind, path, mode, link)| (kind, path.into(), mode, link.into()))
    );
}

#[test]
fn removals_come_before_everything_but_their_directories() {
    let found = entries(Layer::new([
        Entry::file("a/b", "x"),
        Entry::file("c/.hidden", "x"),
        Entry::removed("c/z"),
        Entry::opaque("d").with_mode(0o711),
        Entry::removed("e"),
    ]));
    let paths: Vec<_> = found.iter().map(|(_, path, mode, _)| (path.as_str(), *mode)).collect();
    assert_eq!(
        paths,
        [
            ("c/", 0o755),
            ("c/.wh.z", 0o644),
            ("d/", 0o711),
            ("d/.wh..wh..opq", 0o644),
            (".wh.e", 0o644),
            ("a/", 0o755),
            ("a/b", 0o644),
            ("c/.hidden", 0o644),
        ]
    );
}

#[test]
fn long_names_and_targets_are_written() {
    let (path, target) = ("x/".repeat(200) + "file", "t/".repeat(200));
    let found = entries(Layer::new([Entry::link(path.clone(), target.clone())]));
    let (_, found_path, _, found_target) = found.last().unwrap();
    assert_eq!((found_path, found_target), (&path, &target));
}

#[test]
fn paths_that_leave_the_image_or_mean_a_whiteout_are_refused() {
    for path in ["", "/", "..", "a/../b", "./a", "a//b", "a\0b"] {
        let error = refused(vec![Entry::file(path, "")]);
        assert!(matches!(error, Error::Path { .. }), "{path:?}: {error}");
    }
    for path in [".wh.a", "a/.wh..wh..opq", ".wh.a/b"] {
        let error = refused(vec![Entry::file(path, "")]);
        assert!(matches!(error, Error::Whiteout { .. }), "{path:?}: {error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn entries_that_contradict_one_another_are_refused() {
    let error = refused(vec![Entry::file("a", ""), Entry::removed("/a/")]);
    assert!(matches!(error, Error::Twice { .. }), "{error}");
    let error = refused(vec![Entry::link("a", "b"), Entry::file("a/b", "")]);
    assert!(matches!(error, Error::Beneath { .. }), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let place = Place::new();
    let missing = place.path().join("missing");
    let error = refused(vec![Entry::copy("a", &missing)]);
    assert!(matches!(&error, Error::Input { path, .. } if *path == missing), "{error}");
    let error = refused(vec![Entry::copy("a", place.path())]);
    assert!(matches!(error, Error::Input { .. }), "{error}");
}
