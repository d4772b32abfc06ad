use tar::{Builder, EntryType, Header};

use super::*;
use crate::Limits;

/// An entry of a layer: its path, its kind and the target of a link.
type Raw<'a> = (&'a str, EntryType, &'a str);

/// Reads a layer of these entries, without any others for their parent directories. Everything in
/// it may take `names` bytes.
fn push(root: &str, names: u64, entries: &[Raw<'_>]) -> Result<Tree, Error> {
    push_all(root, names, &[entries])
}

fn push_all(root: &str, names: u64, layers: &[&[Raw<'_>]]) -> Result<Tree, Error> {
    let into = tempfile::tempdir().unwrap();
    let budget = Budget::new(Limits { names, ..Limits::default() });
    let mut extraction = Extraction::new(root.as_bytes(), into.path(), &budget)?;
    for layer in layers {
        extraction.push(&mut tar(layer).as_slice())?;
    }
    Ok(extraction.tree)
}

fn tar(entries: &[Raw<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for &(path, kind, target) in entries {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(0);
        if target.is_empty() {
            builder.append_data(&mut header, path, io::empty()).unwrap();
        } else {
            builder.append_link(&mut header, path, target).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn is_names(result: Result<Tree, Error>) -> bool {
    result
        .is_err_and(|error| unlade_text::chain(&error).contains("names, link targets and digests"))
}

#[test]
fn a_parent_that_is_a_link_into_the_directory_is_stored_without_its_target() {
    for path in ["configs", "configs/a", "configs/a/b"] {
        let entry = (path, EntryType::Symlink, "/configs/a/b/x");
        let tree = push("configs/a/b", Limits::default().names, &[entry]).unwrap();
        assert_eq!(tree.node(path.as_bytes()), Some(&Node::Blocked), "{path}");
    }
}

#[test]
fn an_absolute_link_becomes_relative_unless_it_has_two_dots() {
    for (target, expected) in [
        ("/configs//b/./c", "../b/c"),
        ("/configs/s/../b", "/configs/s/../b"),
        ("/etc/../configs/b", "/etc/../configs/b"),
        ("/etc/b", "/etc/b"),
        ("../s/../b", "../s/../b"),
    ] {
        let entry = ("configs/a/x", EntryType::Symlink, target);
        let tree = push("configs", Limits::default().names, &[entry]).unwrap();
        let expected = Node::Link(expected.as_bytes().to_owned());
        assert_eq!(tree.node(b"configs/a/x"), Some(&expected), "{target}");
    }
}

#[test]
fn an_entry_that_a_link_could_lead_into_the_directory_is_refused() {
    let file = |path| (path, EntryType::Regular, "");
    for (link, path) in [
        (("lnk", EntryType::Symlink, "configs"), "lnk/a"),
        (("lnk", EntryType::Symlink, "."), "lnk/.wh.configs"),
        (("configs/lnk", EntryType::Symlink, "/etc"), "configs/lnk/a"),
    ] {
        let error = push("configs", Limits::default().names, &[link, file(path)]).unwrap_err();
        assert_eq!(error.to_string(), format!("{path} is inside a link"));
    }
    let elsewhere = [("lib", EntryType::Symlink, "usr/lib"), file("lib/a"), file("configs/a")];
    let tree = push("configs", Limits::default().names, &elsewhere).unwrap();
    assert_eq!(tree.nodes().count(), 1);
}

#[test]
fn a_global_header_or_device_at_a_path_of_the_directory_or_a_whiteout_is_refused() {
    let names = Limits::default().names;
    for kind in [EntryType::XGlobalHeader, EntryType::Char] {
        for path in ["configs/a", "configs", "configs/.wh.a", ".wh.configs", "usr/.wh..wh..opq"] {
            let error = push("configs", names, &[(path, kind, "")]).unwrap_err().to_string();
            assert_eq!(error, format!("{path} is the path of a device or a global header"));
        }
        push("configs", names, &[("x", kind, "")]).unwrap();
    }
}

#[test]
fn a_whiteout_inside_a_file_or_a_link_of_a_lower_layer_is_refused() {
    let names = Limits::default().names;
    for whiteout in [".wh.x", ".wh..wh..opq", ".wh..wh.x"] {
        let path = format!("configs/b.yaml/{whiteout}");
        let upper = (path.as_str(), EntryType::Regular, "");
        let file = ("configs/b.yaml", EntryType::Regular, "");
        let error = push_all("configs", names, &[&[file], &[upper]]).unwrap_err().to_string();
        assert!(error.starts_with("configs/b.yaml is a file or a link, and"), "{error}");
        let link = ("configs/b.yaml", EntryType::Symlink, "c");
        let error = push_all("configs", names, &[&[link], &[upper]]).unwrap_err().to_string();
        assert_eq!(error, format!("{path} is inside a link"));
        // An empty directory.
        let tree = push_all("configs", names, &[&[], &[upper]]).unwrap();
        assert_eq!(tree.node(b"configs/b.yaml"), Some(&Node::Directory));
    }
}

#[test]
fn an_entry_in_or_from_a_directory_with_the_name_of_a_whiteout_is_refused() {
    let names = Limits::default().names;
    let shared = (".wh..wh.plnk/1", EntryType::Regular, "");
    let link = ("configs/a", EntryType::Link, ".wh..wh.plnk/1");
    push("configs", names, &[shared]).unwrap();
    // Engines remove the directory with the whiteout `configs/.wh..wh.e`.
    let hidden = ("configs/.wh.e/b.json", EntryType::Regular, "");
    for (root, entries, path) in [
        ("configs", &[shared, link][..], "configs/a"),
        (".wh..wh.plnk", &[shared], ".wh..wh.plnk/1"),
        ("configs", &[hidden], "configs/.wh.e/b.json"),
    ] {
        let error = push(root, names, entries).unwrap_err().to_string();
        let problem = "is in, or a link into, a directory with the name of a whiteout";
        assert_eq!(error, format!("{path} {problem}"));
    }
}

#[test]
fn files_and_directories_are_limited_also_those_without_an_entry() {
    let is_refused = |paths: Vec<String>, kind| {
        let entries: Vec<_> = paths.iter().map(|path| (path.as_str(), kind, "")).collect();
        match push("configs", u64::MAX, &entries) {
            Ok(_) => false,
            Err(Error::TooMany { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    };
    // One more is `configs`.
    let flat = |count| (1..count).map(|n| format!("configs/{n}")).collect();
    assert!(!is_refused(flat(limit::CREATED), EntryType::Directory));
    assert!(is_refused(flat(limit::CREATED + 1), EntryType::Directory));
    let again = |count| vec!["configs/a".to_owned(); count];
    assert!(is_refused(again(limit::CREATED), EntryType::Directory));
    // Each directory has 99 more in it, and a file or a whiteout in the last one.
    let deep = |name: &str, count| {
        (0..count).map(|n| format!("configs/{n}/{}{name}", "d/".repeat(99))).collect()
    };
    assert!(!is_refused(deep("x", 198), EntryType::Regular));
    assert!(is_refused(deep("x", 199), EntryType::Regular));
    assert!(!is_refused(deep(".wh.x", 199), EntryType::Regular));
    assert!(is_refused(deep(".wh.x", 200), EntryType::Regular));
}

#[test]
fn whiteouts_count_as_names() {
    for name in [".wh.x", ".wh..wh..opq"] {
        let path = format!("configs/{name}");
        let entries = vec![(path.as_str(), EntryType::Regular, ""); 10];
        assert!(is_names(push("configs", 10 * 128, &entries)), "{name}");
        push("configs", 10 * 160, &entries).unwrap();
    }
}

#[test]
fn no_file_is_created_for_an_entry_that_a_later_one_can_replace() {
    let into = tempfile::tempdir().unwrap();
    let budget = Budget::new(Limits::default());
    let mut extraction = Extraction::new(b"configs", into.path(), &budget).unwrap();
    let again = [("configs/a", EntryType::Regular, ""); 10];
    extraction.push(&mut tar(&again).as_slice()).unwrap();
    assert_eq!(std::fs::read_dir(into.path()).unwrap().count(), 0);
    let directory = into.path().join("directory");
    create(&extraction.tree, b"configs", &extraction.contents, &directory).unwrap();
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 1);
}

#[test]
fn a_hard_link_to_a_file_that_its_layer_hides_is_refused() {
    let names = Limits::default().names;
    let lower = [("configs/d/foo.yaml", EntryType::Regular, "")];
    let link = ("configs/bar.yaml", EntryType::Link, "configs/d/foo.yaml");
    push_all("configs", names, &[&lower, &[link]]).unwrap();
    for path in [
        "configs/d/.wh.foo.yaml",
        "configs/.wh.d",
        "configs/d/.wh..wh..opq",
        "configs/.wh..wh..opq",
        "configs/d",
    ] {
        let hidden = (path, EntryType::Regular, "");
        let error = push_all("configs", names, &[&lower, &[hidden, link]]).unwrap_err();
        let problem = "is a hard link to something other than a file in the directory";
        assert_eq!(error.to_string(), format!("configs/bar.yaml {problem}"), "{path}");
    }
    // Engines create the hard link first.
    let hidden = ("configs/d/.wh.foo.yaml", EntryType::Regular, "");
    let tree = push_all("configs", names, &[&lower, &[link, hidden]]).unwrap();
    assert_eq!(tree.node(b"configs/bar.yaml"), Some(&Node::File(0)));
}
