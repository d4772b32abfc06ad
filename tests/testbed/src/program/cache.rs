//! Removes old programs from the cache of built programs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::{Error, file};

/// The time for which programs are kept that no testbed uses.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// Marks a directory of the cache as used.
pub(super) fn touch(directory: &Path) {
    // This fails if the user cannot write there. Then this user cannot prune the cache either, so
    // the time does not matter.
    let _ = File::open(directory).and_then(|directory| directory.set_modified(SystemTime::now()));
}

/// Creates an empty directory to build `name` in, beside its place in the cache, and removes the
/// files of interrupted builds, and programs that have not been used for long. The caller must hold
/// the lock of the cache.
///
/// The directory has a new name each time, because a killed compiler may still write into the last
/// one.
pub(super) fn create_build_directory(cache: &Path, name: &str) -> Result<PathBuf, Error> {
    for entry in fs::read_dir(cache).map_err(Error::file("read", cache))?.flatten() {
        let file_name = entry.file_name();
        let Some(rest) = file_name.to_str().and_then(|text| text.strip_prefix(name)) else {
            continue;
        };
        let is_left = Path::new(rest).extension().is_some_and(|extension| extension == "new");
        let age =
            entry.metadata().ok().and_then(|metadata| metadata.modified().ok()?.elapsed().ok());
        let is_old = rest.starts_with('-') && age.is_some_and(|age| age > KEPT);
        if is_left || is_old {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
        }
    }
    let build_directory = cache.join(format!("{name}.{}.new", std::process::id()));
    file::create_directory(&build_directory)?;
    Ok(build_directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_and_programs_out_of_use_go_and_others_stay() {
        let cache = tempfile::tempdir().unwrap();
        let directories = ["a-1", "a-2", "a.7.new", "a-1.7.new", "b-1", "b.7.new"];
        for name in directories {
            let path = cache.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("program"), "").unwrap();
            let long_ago = SystemTime::now() - 2 * KEPT;
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        touch(&cache.path().join("a-2"));
        let build_directory = create_build_directory(cache.path(), "a").unwrap();
        let left: Vec<_> =
            directories.iter().filter(|name| cache.path().join(name).exists()).collect();
        assert_eq!(left, [&"a-2", &"b-1", &"b.7.new"]);
        assert!(build_directory.starts_with(cache.path()) && build_directory.is_dir());
    }
}
