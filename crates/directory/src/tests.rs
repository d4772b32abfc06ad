use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use tempfile::TempDir;
use unlade_bundle::Reading;
use unlade_bundle::{
    Limits,
    source::{self, Entry, Error, LinkFault, Tree as _},
};

use super::beneath::{Dir, Resolution};
use super::{read, read_at_most};

mod hostile;

/// Creates a bundle with one manifest and the files that `add` creates in its root.
fn bundle(add: impl FnOnce(&Path)) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("manifests")).unwrap();
    fs::create_dir(root.path().join("metadata")).unwrap();
    fs::write(root.path().join("manifests/csv.yaml"), "kind: ClusterServiceVersion\n").unwrap();
    fs::write(root.path().join("metadata/annotations.yaml"), "annotations: {}\n").unwrap();
    add(root.path());
    root
}

fn refusal(resolution: Resolution, add: impl FnOnce(&Path)) -> Error {
    read_by(resolution, &bundle(add)).unwrap_err()
}

fn read_by(resolution: Resolution, root: &TempDir) -> Result<Reading, Error> {
    source::read(Dir::open_root_by(root.path(), resolution)?, &Limits::default())
}

/// The ways in which a reader resolves paths.
const READERS: [Resolution; 3] = [Resolution::Auto, Resolution::Walk, Resolution::Portable];

#[test]
fn walk_and_kernel_agree_on_every_path() {
    let root = bundle(|root| {
        let m = |name: &str| root.join("manifests").join(name);
        fs::create_dir_all(m("sub/deep")).unwrap();
        fs::write(m("sub/deep/file"), "deep").unwrap();
        symlink("csv.yaml", m("inside")).unwrap();
        symlink("sub/deep", m("linked")).unwrap();
        symlink("linked/file", m("through")).unwrap();
        symlink("sub/../csv.yaml", m("back")).unwrap();
        symlink("./sub//deep/./file", m("dots")).unwrap();
        symlink("inside", m("chain")).unwrap();
        symlink("../manifests/csv.yaml", m("out-and-back")).unwrap();
        symlink("../metadata/annotations.yaml", m("out")).unwrap();
        symlink("/etc/hostname", m("absolute")).unwrap();
        symlink(m("csv.yaml"), m("absolute-inside")).unwrap();
        symlink("nowhere", m("dangling")).unwrap();
        symlink("csv.yaml/", m("slash")).unwrap();
        symlink("csv.yaml/x", m("through-file")).unwrap();
        symlink("loop-b", m("loop-a")).unwrap();
        symlink("loop-a", m("loop-b")).unwrap();
        symlink(".", m("self")).unwrap();
        symlink("..", m("parent")).unwrap();
        symlink("link-1", m("link-0")).unwrap();
        for n in 1..41 {
            symlink(format!("link-{}", n + 1), m(&format!("link-{n}"))).unwrap();
        }
        fs::write(m("link-41"), "end").unwrap();
    });
    let paths = [
        "csv.yaml",
        "./csv.yaml",
        "csv.yaml/",
        "csv.yaml/.",
        "sub",
        "sub/",
        "sub/..",
        "..",
        "../manifests",
        "sub/../..",
        "sub/deep/file",
        "inside",
        "inside/",
        "linked",
        "linked/",
        "linked/file",
        "linked/..",
        "linked/../../csv.yaml",
        "through",
        "back",
        "dots",
        "chain",
        "out-and-back",
        "out",
        "absolute",
        "absolute-inside",
        "dangling",
        "dangling/x",
        "slash",
        "through-file",
        "loop-a",
        "loop-a/x",
        "self",
        "self/self/csv.yaml",
        "parent",
        "parent/manifests",
        "link-0",
        "link-1",
        "link-2",
        "missing",
        "sub/missing",
        "missing/..",
        "/",
        "/etc",
        ".",
        "",
    ];
    for path in paths {
        let all = [Resolution::Kernel, Resolution::Walk, Resolution::Portable];
        let found = all.map(|resolution| {
            let root = Dir::open_root_by(root.path(), resolution).unwrap();
            let directory = root.open_dir("manifests").unwrap();
            directory
                .look_up(path)
                .map(|found| found.stat.st_ino)
                .map_err(|error| error.to_string())
        });
        let [kernel, walk, portable] = &found;
        // The kernel takes no empty path; the walk is never given one.
        if path.is_empty() {
            continue;
        }
        assert_eq!(kernel.as_ref().ok(), walk.as_ref().ok(), "{path}: {kernel:?} {walk:?}");
        assert_eq!(walk, portable, "{path}");
    }
}

#[test]
fn magic_links_and_mounts_lead_nowhere() {
    let all = [Resolution::Kernel, Resolution::Walk, Resolution::Portable, Resolution::Auto];
    for resolution in all {
        let proc = Dir::open_root_by(Path::new("/proc"), resolution).unwrap();
        for path in
            ["self/root", "self/cwd", "self/exe", "self/fd/0", "self/root/etc", "self/ns/mnt"]
        {
            let error = proc.look_up(path).unwrap_err();
            assert!(!matches!(error, Error::Changed { .. }), "{path}: {error}");
        }
        let root = Dir::open_root_by(Path::new("/"), resolution).unwrap();
        let error = root.look_up("proc/version").unwrap_err();
        if resolution != Resolution::Kernel {
            assert!(matches!(&error, Error::Mount { path } if path == "proc"), "{error:?}");
        }
    }
}

#[test]
fn refused_links_are_named_with_their_targets() {
    let cases = [
        ("../../outside", LinkFault::Outside),
        ("../metadata/annotations.yaml", LinkFault::Outside),
        ("/etc/hostname", LinkFault::Absolute),
        ("nowhere.yaml", LinkFault::Dangling),
        ("link.yaml", LinkFault::Loop),
        ("csv.yaml/x", LinkFault::NotADirectory),
    ];
    for resolution in READERS {
        for (to, expected) in cases {
            let error = refusal(resolution, |root| {
                symlink(to, root.join("manifests/link.yaml")).unwrap();
            });
            let Error::Link { path, target, fault } = &error else { panic!("{to}: {error:?}") };
            assert_eq!(
                (path.as_str(), target.as_str(), *fault),
                ("manifests/link.yaml", to, expected)
            );
        }
    }
}

#[test]
fn the_link_that_leads_out_is_named_and_not_a_link_to_it() {
    for resolution in READERS {
        let error = refusal(resolution, |root| {
            symlink("b", root.join("manifests/a")).unwrap();
            symlink("../c", root.join("manifests/b")).unwrap();
        });
        assert_eq!(
            error.to_string(),
            "the link manifests/b -> ../c leads out of the directory that it belongs to"
        );
    }
}

#[test]
fn manifests_may_be_a_link_inside_of_the_bundle_and_not_out_of_it() {
    for resolution in READERS {
        let replaced = |target: &'static str| {
            bundle(move |root| {
                fs::rename(root.join("manifests"), root.join("real")).unwrap();
                symlink(target, root.join("manifests")).unwrap();
            })
        };
        read_by(resolution, &replaced("real")).unwrap();
        let error = read_by(resolution, &replaced("../real")).unwrap_err();
        assert!(
            matches!(&error, Error::Link { path, target, fault: LinkFault::Outside }
                if path == "manifests" && target == "../real"),
            "{error:?}"
        );
    }
}

#[test]
fn directory_inside_manifests_is_an_error_that_names_it() {
    for resolution in READERS {
        let error = refusal(resolution, |root| {
            fs::create_dir(root.join("manifests/sub")).unwrap();
        });
        assert!(
            matches!(&error, Error::NestedDirectory { path } if path == "manifests/sub"),
            "{error:?}"
        );
        let error = refusal(resolution, |root| {
            fs::create_dir(root.join("metadata/sub")).unwrap();
        });
        assert!(
            matches!(&error, Error::NestedDirectory { path } if path == "metadata/sub"),
            "{error:?}"
        );
        let error = refusal(resolution, |root| symlink(".", root.join("manifests/self")).unwrap());
        assert!(
            matches!(&error, Error::NestedDirectory { path } if path == "manifests/self"),
            "{error:?}"
        );
    }
}

#[test]
fn fifos_sockets_and_devices_are_refused_without_blocking() {
    for resolution in READERS {
        for (file_type, expected) in [(FileType::Fifo, "FIFO"), (FileType::Socket, "socket")] {
            let error = refusal(resolution, |root| {
                let path = root.join("manifests/odd.yaml");
                mknodat(CWD, path, file_type, Mode::RUSR, 0).unwrap();
            });
            let Error::Special { path, kind } = &error else { panic!("{error:?}") };
            assert_eq!((path.as_str(), *kind), ("manifests/odd.yaml", expected));
        }
        // Checking the type of an existing device does not need root.
        let dev = Dir::open_root_by(Path::new("/dev"), resolution).unwrap();
        assert_eq!(
            FileType::from_raw_mode(dev.look_up("null").unwrap().stat.st_mode),
            FileType::CharacterDevice
        );
    }
}

#[test]
fn exchanged_file_is_neither_read_nor_waited_for() {
    for resolution in READERS {
        for file_type in [FileType::RegularFile, FileType::Fifo] {
            let root = bundle(|_| {});
            let directory =
                Dir::open_root_by(root.path(), resolution).unwrap().open_dir("manifests").unwrap();
            let found = directory.look_up("csv.yaml").unwrap();
            let path = root.path().join("manifests/csv.yaml");
            let new = root.path().join("manifests/new");
            mknodat(CWD, &new, file_type, Mode::RUSR, 0).unwrap();
            fs::rename(new, path).unwrap();
            let error = directory.open_found("csv.yaml", &found, OFlags::empty()).unwrap_err();
            assert!(matches!(error, Error::Changed { .. }), "{error:?}");
        }
    }
}

#[test]
fn file_that_grows_after_it_was_found_is_refused_at_the_limit() {
    for resolution in READERS {
        let root = bundle(|_| {});
        let directory =
            Dir::open_root_by(root.path(), resolution).unwrap().open_dir("manifests").unwrap();
        let Entry::File(found) = directory.find(&directory, "csv.yaml").unwrap() else { panic!() };
        fs::write(root.path().join("manifests/csv.yaml"), vec![b'a'; 101]).unwrap();
        assert_eq!(directory.read(&directory, "csv.yaml", found, 100).unwrap(), None);
    }
}

/// The files of `/proc` have the size 0.
#[test]
fn limits_count_what_is_read_and_not_the_reported_size() {
    let status = || fs::File::open("/proc/self/status").unwrap();
    assert_eq!(status().metadata().unwrap().len(), 0);
    assert_eq!(read_at_most(status(), 10).unwrap(), None);
    assert!(read_at_most(status(), 1 << 20).unwrap().unwrap().len() > 10);
}

#[test]
fn missing_directories_are_named() {
    for resolution in READERS {
        for name in ["manifests", "metadata"] {
            let error = refusal(resolution, |root| fs::remove_dir_all(root.join(name)).unwrap());
            assert!(matches!(&error, Error::Missing { path } if path == name), "{error:?}");
            let error = refusal(resolution, |root| {
                fs::remove_dir_all(root.join(name)).unwrap();
                fs::write(root.join(name), "").unwrap();
            });
            assert!(matches!(&error, Error::NotADirectory { path } if path == name), "{error:?}");
        }
    }
    let error = read(Path::new("/nowhere-at-all"), &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Root { .. }), "{error:?}");
}

#[test]
fn limits_hold_while_reading() {
    let big = |root: &Path| {
        fs::write(root.join("manifests/a"), vec![b'a'; 100]).unwrap();
        fs::write(root.join("manifests/b"), vec![b'b'; 100]).unwrap();
    };
    let root = bundle(big);
    let mut limits = Limits::default().with_file_size(99);
    let error = read(root.path(), &limits).unwrap_err();
    assert!(
        matches!(&error, Error::FileSize { path, limit: 99 } if path == "manifests/a"),
        "{error:?}"
    );

    limits.file_size = 100;
    limits.total_size = 215;
    let error = read(root.path(), &limits).unwrap_err();
    assert!(
        matches!(&error, Error::TotalSize { path, limit: 215 } if path == "manifests/b"),
        "{error:?}"
    );

    limits.total_size = 10_000;
    limits.files = 3;
    let error = read(root.path(), &limits).unwrap_err();
    assert!(
        matches!(&error, Error::Files { directory, limit: 3 } if directory == "manifests"),
        "{error:?}"
    );

    limits.files = 4;
    read(root.path(), &limits).unwrap();
}

#[test]
fn listing_a_directory_stops_at_the_first_failure() {
    for resolution in READERS {
        let root = bundle(|root| {
            (0..100).for_each(|n| fs::write(root.join(format!("manifests/{n}")), "").unwrap());
        });
        let root = Dir::open_root_by(root.path(), resolution).unwrap();
        let directory = root.open("manifests").unwrap().unwrap();
        let mut n_visited = 0;
        let result = root.list(&directory, |_| {
            n_visited += 1;
            let failure = || Error::Files { directory: String::new(), limit: 3 };
            if n_visited > 3 { Err(failure()) } else { Ok(()) }
        });
        assert!(matches!(result, Err(Error::Files { .. })), "{result:?}");
        assert_eq!(n_visited, 4);
    }
}

#[test]
fn file_name_that_is_not_utf8_is_an_error() {
    let error = refusal(Resolution::Auto, |root| {
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9\x1b[2J.yaml");
        fs::write(root.join("manifests").join(name), "").unwrap();
    });
    assert_eq!(error.to_string(), r"manifests: the file name caf\xe9\x1b[2J.yaml is not UTF-8");
}

/// Creates a bundle whose annotations name other paths, which exist.
fn laid_out(manifests: &str, metadata: &str) -> TempDir {
    bundle(|root| {
        let prefix = "operators.operatorframework.io.bundle";
        let annotations = format!(
            "annotations:\n  {prefix}.manifests.v1: {manifests:?}\n  \
             {prefix}.metadata.v1: {metadata:?}\n"
        );
        fs::write(root.join("metadata/annotations.yaml"), annotations).unwrap();
        fs::create_dir_all(root.join("deploy/manifests")).unwrap();
        fs::write(root.join("deploy/manifests/other.yaml"), "").unwrap();
        fs::create_dir_all(root.join("deploy/metadata")).unwrap();
        fs::write(root.join("deploy/metadata/dependencies.yaml"), "").unwrap();
        symlink("deploy/manifests", root.join("link")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
    })
}

/// Returns the paths of the files, and the number of findings.
fn paths(reading: &Reading) -> (Vec<String>, usize) {
    let paths = reading.content.files().iter().map(unlade_bundle::File::path);
    (paths.collect(), reading.findings.len())
}

#[test]
fn manifests_are_read_where_the_annotations_say() {
    for resolution in READERS {
        for (named, file, findings) in [
            ("deploy/manifests/", "manifests/other.yaml", 0),
            ("/deploy/manifests", "manifests/other.yaml", 0),
            ("link", "manifests/other.yaml", 0),
            ("manifests/", "manifests/csv.yaml", 0),
            ("", "manifests/csv.yaml", 0),
            // Does not exist: `manifests/` is read, as by upstream's writer, with a finding.
            ("bundle/manifests/", "manifests/csv.yaml", 1),
            (&"long".repeat(100), "manifests/csv.yaml", 1),
            (&"deep/".repeat(2_000), "manifests/csv.yaml", 1),
        ] {
            let root = laid_out(named, "metadata/");
            let found = paths(&read_by(resolution, &root).unwrap());
            assert_eq!(found, (vec![file.to_owned()], findings), "{named}");
        }
        for named in ["../x", "metadata", "deploy/../..", "out", "metadata/annotations.yaml"] {
            let error = read_by(resolution, &laid_out(named, "metadata/")).unwrap_err();
            let is_expected = matches!(
                error,
                Error::Layout(_)
                    | Error::Link { fault: LinkFault::Absolute, .. }
                    | Error::NotADirectory { .. }
            );
            assert!(is_expected, "{named}: {error:?}");
        }
    }
}

#[test]
fn another_path_of_metadata_is_reported_and_not_followed() {
    let root = laid_out("manifests/", "deploy/metadata/");
    let reading = read(root.path(), &Limits::default()).unwrap();
    assert_eq!(paths(&reading), (vec!["manifests/csv.yaml".to_owned()], 1));
}

#[test]
fn link_to_a_mount_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().canonicalize().unwrap().join("link");
    let depth = link.components().count() - 2;
    symlink("../".repeat(depth) + "proc", &link).unwrap();
    let link = link.to_str().unwrap().trim_start_matches('/');
    for resolution in READERS {
        let root = Dir::open_root_by(Path::new("/"), resolution).unwrap();
        for path in ["proc", "proc/self", "sys/kernel"] {
            let error = root.open_dir(path).unwrap_err();
            assert!(matches!(error, Error::Mount { .. }), "{error:?}");
        }
        match root.open_dir(link).unwrap_err() {
            Error::Link { path, fault: LinkFault::Mount, .. } => assert_eq!(path, link),
            // The directory for temporary files is a mount itself.
            error => assert!(matches!(error, Error::Mount { .. }), "{error:?}"),
        }
    }
}
