//! Lists the entries of the cache that an image of a catalog contains.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use unlade_oci::build::catalog::Cached;

/// The maximum depth of the directories of a cache.
const MAX_DEPTH: usize = 8;

/// The maximum number of files and directories of a cache.
const MAX_ENTRIES: usize = 1_000_000;

/// Lists the entries of a cache. Refuses links and devices.
pub(super) fn list(root: &Path) -> io::Result<Vec<Cached>> {
    let mut entries = Vec::new();
    let mut directories = vec![(String::new(), 0)];
    while let Some((path, depth)) = directories.pop() {
        let directory = root.join(&path);
        let mode = fs::metadata(&directory)?.permissions().mode() & 0o777;
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        entries.push(Cached { path, file: None, mode });
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let failed = |problem: String| {
                io::Error::other(format!("{}: {problem}", entry.path().display()))
            };
            let name = entry.file_name().into_string();
            let name = name.map_err(|_| failed("the name is not UTF-8".to_owned()))?;
            if entries.len() + directories.len() >= MAX_ENTRIES {
                return Err(failed(format!("the cache has more than {MAX_ENTRIES} entries")));
            }
            let path = format!("{prefix}{name}");
            let metadata = entry.metadata()?;
            if metadata.is_dir() && depth == MAX_DEPTH {
                return Err(failed(format!("the cache is more than {MAX_DEPTH} directories deep")));
            }
            if metadata.is_dir() {
                directories.push((path, depth + 1));
            } else if metadata.is_file() {
                let mode = metadata.permissions().mode() & 0o777;
                entries.push(Cached { path, file: Some(entry.path()), mode });
            } else {
                return Err(failed("it is neither a regular file nor a directory".to_owned()));
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_the_limit_or_the_kind_of_entry() {
        let root = tempfile::tempdir().unwrap();
        let deepest = root.path().join("1/2/3/4/5/6/7/8");
        fs::create_dir_all(&deepest).unwrap();
        assert_eq!(list(root.path()).unwrap().len(), 9);
        let too_deep = deepest.join("9");
        fs::create_dir(&too_deep).unwrap();
        let reason = list(root.path()).err().unwrap().to_string();
        assert!(reason.ends_with("/9: the cache is more than 8 directories deep"), "{reason}");
        fs::remove_dir(too_deep).unwrap();
        std::os::unix::fs::symlink("2", root.path().join("1/link")).unwrap();
        let reason = list(root.path()).err().unwrap().to_string();
        assert!(
            reason.ends_with("1/link: it is neither a regular file nor a directory"),
            "{reason}"
        );
    }
}
