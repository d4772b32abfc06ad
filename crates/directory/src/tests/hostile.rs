//! Bundles of an attacker who wants to read files outside the bundle, or to use up the memory.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{RenameFlags, makedev, mkdirat, open, openat, renameat_with};

use super::*;

fn content(resolution: Resolution, root: &TempDir) -> unlade_bundle::Content {
    read_by(resolution, root).unwrap().content
}

#[test]
fn links_to_secrets_and_to_other_processes_are_refused() {
    for resolution in READERS {
        for target in [
            "/etc/passwd",
            "../../../../../../../etc/passwd",
            "/proc/self/environ",
            "/proc/self/fd/0",
            "/dev/stdin",
            // Leads out and back in, so a check of the resolved path alone would accept it.
            "../manifests/csv.yaml",
            "../../../../../../../proc/self/environ",
        ] {
            let error = refusal(resolution, |root| {
                symlink(target, root.join("manifests/link.yaml")).unwrap();
            });
            let Error::Link { path, target: named, fault } = &error else { panic!("{error:?}") };
            assert_eq!((path.as_str(), named.as_str()), ("manifests/link.yaml", target));
            assert!(matches!(fault, LinkFault::Absolute | LinkFault::Outside), "{error:?}");
        }
    }
}

#[test]
fn long_chains_of_links_end_in_an_error() {
    for resolution in READERS {
        let error = refusal(resolution, |root| {
            let link = |n: usize| root.join(format!("manifests/link-{n:02}"));
            for n in 0..45 {
                symlink(format!("link-{:02}", n + 1), link(n)).unwrap();
            }
            fs::write(link(45), "end").unwrap();
        });
        assert!(matches!(error, Error::Link { fault: LinkFault::Loop, .. }), "{error:?}");
    }
}

/// Without a budget, following all of them takes seconds.
#[test]
fn many_long_chains_of_links_exceed_a_budget() {
    for resolution in [Resolution::Auto, Resolution::Walk] {
        let error = refusal(resolution, |root| {
            let path = |name: &str| root.join("manifests").join(name);
            let through = "./".repeat(2_000);
            symlink("csv.yaml", path("link-00")).unwrap();
            for n in 1..38 {
                symlink(format!("{through}link-{:02}", n - 1), path(&format!("link-{n:02}")))
                    .unwrap();
            }
            for n in 0..100 {
                symlink("link-37", path(&format!("{n}.yaml"))).unwrap();
            }
        });
        assert!(matches!(error, Error::Link { fault: LinkFault::Budget, .. }), "{error:?}");
        assert!(error.is_limit());
    }
}

#[test]
fn manifests_that_are_a_link_out_of_the_bundle_are_refused() {
    for resolution in READERS {
        for target in ["/etc", "../../etc", "../../../../../../../etc", "/proc/self/cwd"] {
            let error = refusal(resolution, |root| {
                fs::rename(root.join("manifests"), root.join("real")).unwrap();
                symlink(target, root.join("manifests")).unwrap();
            });
            let Error::Link { path, fault, .. } = &error else { panic!("{error:?}") };
            assert_eq!(path, "manifests");
            assert!(matches!(fault, LinkFault::Absolute | LinkFault::Outside), "{error:?}");
        }
    }
}

/// A hard link cannot be distinguished from the file itself. The author of an image who can
/// create one could also copy the bytes.
#[test]
fn a_hard_link_is_the_file_that_it_names() {
    for resolution in READERS {
        let root = bundle(|root| {
            fs::write(root.join("outside"), "bytes").unwrap();
            fs::hard_link(root.join("outside"), root.join("manifests/hard.yaml")).unwrap();
        });
        let content = content(resolution, &root);
        let hard = content.files().iter().find(|file| file.name == "hard.yaml").unwrap();
        assert_eq!(hard.bytes, b"bytes");
    }
}

#[test]
#[ignore = "needs root"]
fn devices_are_refused_before_they_are_opened() {
    // /dev/zero, which has no end, and a block device that does not exist.
    for (file_type, device) in
        [(FileType::CharacterDevice, makedev(1, 5)), (FileType::BlockDevice, makedev(240, 7))]
    {
        for resolution in READERS {
            let root = bundle(|_| {});
            let path = root.path().join("manifests/device.yaml");
            mknodat(CWD, path, file_type, Mode::RUSR, device).unwrap();
            let error = read_by(resolution, &root).unwrap_err();
            let Error::Special { path, kind: "device" } = &error else { panic!("{error:?}") };
            assert_eq!(path, "manifests/device.yaml");
        }
    }
}

#[test]
fn deep_directories_are_not_entered() {
    for resolution in READERS {
        let error = refusal(resolution, |root| {
            let path = root.join("manifests/d.yaml");
            fs::create_dir(&path).unwrap();
            // A path of more than 4,095 bytes cannot be created at once.
            let mut parent = open(&path, OFlags::PATH, Mode::empty()).unwrap();
            for _ in 0..3_000 {
                mkdirat(&parent, "d", Mode::RWXU).unwrap();
                parent = openat(&parent, "d", OFlags::PATH, Mode::empty()).unwrap();
            }
        });
        assert!(
            matches!(&error, Error::NestedDirectory { path } if path == "manifests/d.yaml"),
            "{error:?}"
        );
    }
}

#[test]
fn names_for_a_terminal_are_replaced_in_keys_and_kept_as_names() {
    let name = "a\u{1b}[2J\n\u{202e}\u{7}.yaml";
    for resolution in READERS {
        let root = bundle(|root| fs::write(root.join("manifests").join(name), "").unwrap());
        let content = content(resolution, &root);
        let keys: Vec<_> =
            content.entries().map(|(key, file)| (key.as_str(), &file.name)).collect();
        assert_eq!(keys[0], ("a--2J---.yaml", &name.to_owned()));
    }
}

#[test]
fn names_that_differ_in_case_are_two_files() {
    for resolution in READERS {
        let root = bundle(|root| {
            fs::write(root.join("manifests/ABC.yaml"), "upper").unwrap();
            fs::write(root.join("manifests/abc.yaml"), "lower").unwrap();
        });
        let content = content(resolution, &root);
        let found: Vec<_> =
            content.entries().map(|(key, file)| (key.as_str(), &*file.bytes)).collect();
        assert_eq!(found[..2], [("ABC.yaml", &b"upper"[..]), ("abc.yaml", b"lower")]);
    }
}

/// With the limits of a user who sets none: the reader stops at them, whatever the size says.
#[test]
fn a_sparse_file_of_a_tebibyte_is_refused_at_the_limit() {
    for resolution in READERS {
        let error = refusal(resolution, |root| {
            let file = File::create(root.join("manifests/sparse.yaml")).unwrap();
            file.set_len(1 << 40).unwrap();
        });
        let limit = unlade_bundle::Limits::default().file_size;
        assert!(
            matches!(&error, Error::FileSize { path, limit: found }
                if path == "manifests/sparse.yaml" && *found == limit),
            "{error:?}"
        );
    }
}

#[test]
fn manifests_named_by_the_annotations_cannot_lead_out() {
    for resolution in READERS {
        for named in ["../..", "manifests/../../..", "a\0b", "link/../..", "out/passwd", "out"] {
            let error = read_by(resolution, &laid_out(named, "metadata/")).unwrap_err();
            assert!(matches!(error, Error::Layout(_) | Error::Link { .. }), "{named:?}: {error:?}");
        }
        // The bundle contains no such path, so the default directory is read.
        let found = read_by(resolution, &laid_out("/proc/self", "metadata/")).unwrap();
        assert!(
            found.content.files().iter().map(unlade_bundle::File::path).eq(["manifests/csv.yaml"])
        );
        assert!(!found.findings.is_empty());
        // No annotation of an object has this length.
        let root = laid_out(&"x/".repeat(400_000), "metadata/");
        let error = read_by(resolution, &root).unwrap_err();
        assert!(matches!(error, Error::Content(_)), "{error:?}");
    }
}

/// The result is the file or an error, and never a file that replaces it for a moment.
#[test]
fn exchanging_a_file_or_directory_while_it_is_read_gives_nothing_from_outside() {
    for resolution in READERS {
        for exchanged in ["manifests/csv.yaml", "manifests"] {
            let outside = tempfile::tempdir().unwrap();
            fs::write(outside.path().join("csv.yaml"), "the secret").unwrap();
            // The link leads to the file or directory that must not be read.
            let target = match exchanged {
                "manifests" => outside.path().to_owned(),
                _ => outside.path().join("csv.yaml"),
            };
            let root = bundle(|root| symlink(target, root.join("other")).unwrap());
            let is_done = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let (one, other) = (root.path().join(exchanged), root.path().join("other"));
                    while !is_done.load(Ordering::Relaxed) {
                        renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    }
                });
                let is_secret = |file: &unlade_bundle::File| file.bytes == b"the secret";
                let read: Vec<_> =
                    (0..300).filter_map(|_| read_by(resolution, &root).ok()).collect();
                // Set this before the assertions, or a failure would leave the thread running.
                is_done.store(true, Ordering::Relaxed);
                assert!(!read.is_empty(), "{exchanged}: some reads find the directory");
                let mut files = read.iter().flat_map(|reading| reading.content.files());
                assert!(!files.any(is_secret), "{exchanged}");
            });
        }
    }
}
