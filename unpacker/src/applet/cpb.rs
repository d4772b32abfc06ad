//! `cpb DESTINATION`: copies a bundle out of its image, inside the container of that image.
//!
//! Upstream's `cpb` searches the whole file system for an `annotations.yaml`, ignores its argument
//! and copies links as links (OLM `util/cpb/main.go`). This one reads the bundle from the paths
//! that the bundle format defines, and follows no link that leads out of it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use unlade_bundle::{Directory, Limits, source};
use unlade_directory::Dir;

use super::report_findings;
use crate::log;

/// The directory that upstream's `cpb` always writes to, relative to the working directory.
const DESTINATION: &str = "bundle";

/// Why the bundle was not copied.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("unknown flag {0:?}: this is unlade's cpb, whose usage is cpb [DESTINATION]")]
    Flag(OsString),
    #[error("failed to read the bundle")]
    Read(#[from] source::Error),
    #[error("failed to write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

pub(super) fn run(args: Vec<OsString>) -> Result<(), Error> {
    if let Some(flag) = args.iter().find(|arg| arg.as_encoded_bytes().starts_with(b"-")) {
        return Err(Error::Flag(flag.clone()));
    }
    let destination = args.into_iter().next().map_or_else(|| DESTINATION.into(), PathBuf::from);
    // The bundle is at `/`. The image chooses the working directory.
    let n_files = copy(Path::new("/"), &destination)?;
    let destination = destination.display();
    log::line("info", format_args!("copied {n_files} files to {destination}"));
    Ok(())
}

/// Copies the bundle in `root`, and returns the number of files.
fn copy(root: &Path, destination: &Path) -> Result<usize, Error> {
    let (files, findings) = source::read_as_copier(Dir::open_root(root)?, &Limits::default())?;
    report_findings(&findings);
    for directory in [Directory::Manifests, Directory::Metadata] {
        let path = destination.join(directory.as_str());
        fs::create_dir_all(&path)
            // The container that reads the copy may run as another user.
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|source| Error::Write { path, source })?;
    }
    for file in &files {
        let path = destination.join(file.directory.as_str()).join(&file.name);
        write(&path, &file.bytes).map_err(|source| Error::Write { path, source })?;
    }
    Ok(files.len())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o644))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn bundle(annotations: &str, manifests: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("metadata/nested")).unwrap();
        fs::write(root.path().join("metadata/annotations.yaml"), annotations).unwrap();
        fs::write(root.path().join("metadata/dependencies.yaml"), "dependencies: []").unwrap();
        fs::create_dir_all(root.path().join(manifests)).unwrap();
        fs::write(root.path().join(manifests).join("csv.yaml"), "kind: x").unwrap();
        root
    }

    fn paths(dir: &Path) -> Vec<String> {
        let mut paths = Vec::new();
        for directory in ["manifests", "metadata"] {
            for entry in fs::read_dir(dir.join(directory)).unwrap() {
                paths.push(format!("{directory}/{}", entry.unwrap().file_name().to_str().unwrap()));
            }
        }
        paths
    }

    #[test]
    fn annotations_and_the_manifests_that_they_name_are_copied_and_no_more() {
        let named =
            "annotations: {operators.operatorframework.io.bundle.manifests.v1: deploy/olm/}";
        for (annotations, manifests) in
            [("annotations: {a: b}", "manifests"), (named, "deploy/olm")]
        {
            let root = bundle(annotations, manifests);
            let to = tempfile::tempdir().unwrap();
            // Twice: a pod may be tried again.
            for _ in 0..2 {
                assert_eq!(copy(root.path(), to.path()).unwrap(), 2);
            }
            assert_eq!(paths(to.path()), ["manifests/csv.yaml", "metadata/annotations.yaml"]);
        }
    }

    #[test]
    fn links_within_become_files_and_links_out_are_errors() {
        let root = bundle("annotations: {a: b}", "manifests");
        symlink("csv.yaml", root.path().join("manifests/link.yaml")).unwrap();
        let to = tempfile::tempdir().unwrap();
        copy(root.path(), to.path()).unwrap();
        let stat = fs::symlink_metadata(to.path().join("manifests/link.yaml")).unwrap();
        assert!(stat.is_file() && stat.permissions().mode() & 0o777 == 0o644);

        symlink("/etc/passwd", root.path().join("manifests/out.yaml")).unwrap();
        let to = tempfile::tempdir().unwrap();
        assert!(matches!(copy(root.path(), to.path()), Err(Error::Read(_))));
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0, "nothing is half-written");
    }

    #[test]
    fn a_bundle_without_annotations_is_refused() {
        let root = bundle("", "manifests");
        fs::remove_file(root.path().join("metadata/annotations.yaml")).unwrap();
        let error = copy(root.path(), Path::new("/nowhere")).unwrap_err();
        assert_eq!(
            unlade_text::chain(&error),
            "failed to read the bundle: metadata/annotations.yaml does not exist"
        );
    }
}
