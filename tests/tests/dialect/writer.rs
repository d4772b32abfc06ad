//! Layers that other programs write are accepted, and are read as Go reads them.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::{Case, ask, tape};

/// Creates a tree with everything that the dialects write differently: long and unusual names,
/// links, and a file with holes.
fn tree(root: &Path) {
    let long = format!("manifests/{}/{}", "d".repeat(120), "n".repeat(140));
    for name in ["manifests/csv.yaml", "metadata/annotations.yaml", "usr/ä ö", &long] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    symlink("csv.yaml", root.join("manifests/link")).unwrap();
    symlink("t".repeat(180), root.join("usr/long-link")).unwrap();
    fs::hard_link(root.join("manifests/csv.yaml"), root.join("manifests/hard")).unwrap();
    fs::hard_link(root.join(&long), root.join("usr/hard")).unwrap();
    let holes = File::create(root.join("usr/holes")).unwrap();
    for at in 0..30_u64 {
        std::os::unix::fs::FileExt::write_all_at(&holes, b"data", at << 20).unwrap();
    }
    holes.set_len(40 << 20).unwrap();
}

/// Returns what `program` writes for the tree in `root`. Returns `None` if the program does not
/// support the format.
fn written(program: &str, arguments: &[&str], root: &Path) -> Option<Vec<u8>> {
    let output = Command::new(program).args(arguments).current_dir(root).output().unwrap();
    (!output.stdout.is_empty()).then_some(output.stdout)
}

/// Formats 1 and 2 are those of GNU and PAX. The names of the tree do not fit in ustar.
const PYTHON: &str = "import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode='w|', format=int(sys.argv[1])) as tar:
    tar.add('.')";

#[test]
#[ignore = "needs Go, busybox, python3"]
fn what_programs_write_is_read_as_go_reads_it() {
    let peer = unlade_tests::peer::dialect();
    let place = tempfile::tempdir().unwrap();
    tree(place.path());
    let gnu = ["v7", "oldgnu", "gnu", "ustar", "posix"];
    let mut commands: Vec<(&str, Vec<String>)> = gnu
        .iter()
        .map(|format| ("tar", vec![format!("--format={format}"), "-c".into(), ".".into()]))
        .collect();
    for version in ["0.0", "0.1", "1.0"] {
        let version = format!("--sparse-version={version}");
        commands.push((
            "tar",
            vec!["--format=posix".into(), "-S".into(), version, "-c".into(), ".".into()],
        ));
    }
    commands.push(("tar", vec!["--format=gnu".into(), "-Sc".into(), ".".into()]));
    commands.push(("busybox", vec!["tar".into(), "-c".into(), ".".into()]));
    commands.extend(
        (1..3).map(|format| ("python3", vec!["-c".into(), PYTHON.into(), format.to_string()])),
    );
    for (program, arguments) in commands {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let bytes = written(program, &arguments, place.path());
        let bytes = bytes.unwrap_or_else(|| panic!("{program} {arguments:?} wrote nothing"));
        let case = Case { kind: 't', bytes };
        let ours = tape::ours(&case);
        let ours = ours.unwrap_or_else(|error| panic!("{program} {arguments:?}: {error}"));
        let theirs = ask(&peer, &[case]).remove(0);
        assert_eq!(theirs.error, "", "{program} {arguments:?}");
        assert_eq!(ours, theirs.found, "{program} {arguments:?}");
        assert!(ours.as_array().unwrap().len() > 10, "{program} {arguments:?}: {ours}");
    }
}
