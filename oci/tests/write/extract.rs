use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use unlade_oci::build::{Compression, Entry, Layer};
use unlade_oci::{Error, Options, extract, extract::Error as Problem};

use crate::fixture::*;

const LABEL: &str = "configs";

/// Writes an image of these layers whose label is `path`, and extracts the directory.
fn extracted(path: &str, layers: Vec<Vec<Entry>>) -> Result<BTreeMap<String, String>, Error> {
    let place = Place::new();
    let layers =
        layers.into_iter().map(|entries| Layer::new(entries).compressed(Compression::Gzip));
    let mut image = image(layers);
    image.config.labels.insert(LABEL.to_owned(), path.to_owned());
    let (written, source) = place.write(&image, "oci-archive");
    let into = tempfile::tempdir().unwrap();
    let source = source.parse().unwrap();
    let found = extract(&source, LABEL, into.path(), &Options::default())?;
    assert_eq!(found.digest.unwrap(), written.digest);
    assert_eq!(fs::read_dir(into.path()).unwrap().count(), 1, "nothing else is left");
    let mut files = BTreeMap::new();
    collect(&found.path, "", &mut files);
    Ok(files)
}

/// Lists the files below `directory` with their texts, and links with their targets.
fn collect(directory: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            files.insert(name, format!("-> {}", target.display()));
        } else {
            files.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn the_directory_of_all_layers_is_written() {
    let layers = vec![
        vec![
            Entry::file("configs/a/catalog.yaml", "a"),
            Entry::file("configs/b/catalog.yaml", "b"),
            Entry::file("configs/b/deep/er.json", "b"),
            Entry::file("configs/gone/x", "x"),
            Entry::file("configs/one", "1"),
            Entry::file("configs-not/x", "x"),
            Entry::file("bin/opm", "x"),
        ],
        vec![
            Entry::removed("configs/gone"),
            Entry::opaque("configs/b"),
            Entry::file("configs/b/new.yaml", "new"),
            Entry::file("configs/one", "2"),
            Entry::hard_link("configs/two", "configs/one"),
            Entry::link("configs/near", "a/catalog.yaml"),
            Entry::link("configs/a/absolute", "/configs/b/new.yaml"),
        ],
    ];
    let expected = map(&[
        ("a/absolute", "-> ../b/new.yaml"),
        ("a/catalog.yaml", "a"),
        ("b/new.yaml", "new"),
        ("near", "-> a/catalog.yaml"),
        ("one", "2"),
        ("two", "2"),
    ]);
    for path in ["/configs", "configs/", "./configs"] {
        assert_eq!(extracted(path, layers.clone()).unwrap(), expected, "{path}");
    }
    let one = extracted("/configs/a", layers.clone()).unwrap();
    assert_eq!(one, map(&[("absolute", "-> /configs/b/new.yaml"), ("catalog.yaml", "a")]));
    let all = extracted("/", layers).unwrap();
    assert!(all.contains_key("bin/opm") && all.contains_key("configs/one"), "{all:?}");
}

#[test]
fn nothing_is_written_through_a_link() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap();
    // A directory of a higher layer replaces a link.
    for (link, file, expected) in
        [("configs/out", "configs/out/evil", "out/evil"), ("configs", "configs/evil", "evil")]
    {
        let layers = vec![vec![Entry::link(link, target)], vec![Entry::file(file, "x")]];
        assert_eq!(extracted("/configs", layers).unwrap(), map(&[(expected, "x")]));
    }
    // A link to the outside stays a link, and is not followed.
    let layers = vec![vec![Entry::link("configs/out", target)]];
    assert_eq!(extracted("/configs", layers).unwrap(), map(&[("out", &format!("-> {target}"))]));
    let layers = vec![vec![Entry::link("configs", target)]];
    let error = extracted("/configs", layers).unwrap_err();
    assert!(matches!(error, Error::Extract(Problem::Directory { .. })), "{error}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_link_that_a_layer_replaces_is_gone() {
    let layers = vec![
        vec![Entry::link("configs/a", "/etc"), Entry::file("configs/b", "b")],
        vec![Entry::directory("configs/a"), Entry::file("configs/a/x", "x")],
    ];
    assert_eq!(extracted("configs", layers).unwrap(), map(&[("a/x", "x"), ("b", "b")]));
}

#[test]
fn entries_that_cannot_be_extracted_are_named() {
    let file = || vec![Entry::file("configs/a", "a")];
    for (path, layers, expected) in [
        ("", vec![file()], "the image has no label configs"),
        ("/other", vec![file()], "\"/other\", which is not a directory"),
        ("/configs/a", vec![file()], "which is not a directory"),
        ("../x", vec![file()], "which is not a directory"),
        (
            "/configs",
            vec![vec![Entry::file("x", "x")], vec![Entry::hard_link("configs/l", "x")]],
            "configs/l is a hard link",
        ),
    ] {
        let error = extracted(path, layers).unwrap_err().to_string();
        assert!(error.contains(expected), "{path}: {error}");
    }
}
