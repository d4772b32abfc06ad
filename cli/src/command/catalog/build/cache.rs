//! Lists the entries of the cache that an image of a catalog contains, and corrects its digest.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use unlade_catalog_directory::opm_cache::{self, CONTENTS, DIGEST, Entry, PACKAGES, POGREB};
use unlade_directory::read_at_most;
use unlade_oci::build::{
    Data, Kind,
    catalog::{Cached, Catalog},
};

/// The maximum depth of the directories of a cache.
const MAX_DEPTH: usize = 8;

/// The maximum number of files and directories of a cache.
const MAX_ENTRIES: usize = 1_000_000;

/// The maximum length of the file with the digest, in bytes. opm writes 16 hex digits.
const MAX_DIGEST: u64 = 1024;

/// Lists the entries of a cache. Refuses links and devices.
pub(super) fn list(root: &Path) -> io::Result<Vec<Cached>> {
    let mut entries = Vec::new();
    let mut directories = vec![(String::new(), 0)];
    while let Some((path, depth)) = directories.pop() {
        let directory = root.join(&path);
        let mode = fs::metadata(&directory)?.permissions().mode() & 0o7777;
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
                let mode = metadata.permissions().mode() & 0o7777;
                entries.push(Cached { path, file: Some(entry.path()), mode });
            } else {
                return Err(failed("it is neither a regular file nor a directory".to_owned()));
            }
        }
    }
    Ok(entries)
}

/// Replaces the digest of a cache in opm's JSON format with the one that opm computes in the image.
/// Without this, opm would not start: the digest depends on all files in the directory of the
/// catalog and on their modes, but the image has only the files of the catalog, with fixed modes.
///
/// `root` is the directory that the cache was built from. The new digest is written to `stage`.
/// Refuses the cache of another catalog.
pub(super) fn correct_digest(catalog: &mut Catalog, root: &Path, stage: &Path) -> io::Result<()> {
    let in_image = catalog.tree().into_iter().map(|(path, entry)| {
        let file = match entry.kind {
            Kind::File(Data::Path(file)) => Some(file),
            _ => None,
        };
        Ok(Entry { path, mode: entry.mode, file })
    });
    let Some(cache) = &mut catalog.cache else { return Ok(()) };
    let has = |name: &str| cache.iter().any(|it| it.path == name);
    // If there are caches in both formats, opm uses the other one.
    if has(POGREB) || !has(&format!("{CONTENTS}/{PACKAGES}")) {
        return Ok(());
    }
    let mut contents: Vec<_> = cache.iter().filter_map(entry_of_contents).collect();
    contents.sort_by(|a, b| a.path.cmp(&b.path));
    let contents = || contents.iter().cloned().map(Ok);
    let Some(digest) = cache.iter_mut().find(|it| it.path == DIGEST) else { return Ok(()) };
    let Some(file) = &digest.file else { return Ok(()) };
    let text = read_at_most(File::open(file)?, MAX_DIGEST)?.unwrap_or_default();
    let old = text.trim_ascii();
    let new = opm_cache::digest(in_image, contents())?;
    if old == new.as_bytes() {
        return Ok(());
    }
    if old != opm_cache::digest(opm_cache::list(root)?, contents())?.as_bytes() {
        return Err(io::Error::other(
            "it is not the cache of this catalog, so opm would not start; build it again with \
             unlade-server --cache-only",
        ));
    }
    let path = stage.join(DIGEST);
    fs::write(&path, new)?;
    digest.file = Some(path);
    Ok(())
}

/// Returns an entry of the contents of a cache.
fn entry_of_contents(cached: &Cached) -> Option<Entry> {
    let path = Path::new(&cached.path).strip_prefix(CONTENTS).ok()?.to_owned();
    Some(Entry { path, mode: cached.mode, file: cached.file.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a file and its directories with these modes, whatever the umask is.
    fn create(path: &Path, content: &str, [file, directory]: [u32; 2]) {
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let parent = path.parent().unwrap();
        fs::create_dir_all(parent).unwrap();
        fs::write(path, content).unwrap();
        set(path, file);
        set(parent, directory);
        set(parent.parent().unwrap(), directory);
    }

    #[test]
    fn the_digest_of_a_cache_becomes_that_of_the_image() {
        let directory = tempfile::tempdir().unwrap();
        let [root, image, cache, stage] =
            ["catalog", "image", "cache", "stage"].map(|name| directory.path().join(name));
        fs::create_dir(&stage).unwrap();
        create(&root.join("tea/catalog.yaml"), "a", [0o664, 0o775]);
        create(&root.join("tea-b/catalog.yaml"), "b", [0o600, 0o700]);
        create(&root.join("notes/ignored"), "", [0o644, 0o755]);
        create(&image.join("tea/catalog.yaml"), "a", [0o644, 0o755]);
        create(&image.join("tea-b/catalog.yaml"), "b", [0o644, 0o755]);
        create(&cache.join("cache/packages.json"), "{}", [0o640, 0o2750]);
        create(&cache.join("cache/a_b_c.json"), "{}", [0o640, 0o2750]);
        let list = |root: &Path| opm_cache::list(root).unwrap();
        let digest =
            |root: &Path| opm_cache::digest(list(root), list(&cache.join(CONTENTS))).unwrap();
        let files = ["tea/catalog.yaml", "tea-b/catalog.yaml"];
        // What opm finds in the image, and what the image has as the digest.
        let corrected = |built_from: &Path| {
            fs::write(cache.join(DIGEST), digest(built_from) + "\n").unwrap();
            let mut catalog = Catalog {
                files: files.map(|path| (path.to_owned(), root.join(path))).into(),
                cache: Some(super::list(&cache).unwrap()),
                ..Catalog::default()
            };
            correct_digest(&mut catalog, &root, &stage)?;
            let cached = catalog.cache.unwrap();
            let entry = cached.into_iter().find(|it| it.path == DIGEST).unwrap();
            fs::read_to_string(entry.file.unwrap())
        };
        assert_ne!(digest(&root), digest(&image));
        assert_eq!(corrected(&root).unwrap(), digest(&image));
        assert_eq!(corrected(&image).unwrap(), digest(&image) + "\n");
        let error = corrected(&stage).unwrap_err().to_string();
        assert!(error.starts_with("it is not the cache of this catalog"), "{error}");
        // opm would not read this cache.
        fs::create_dir(cache.join(POGREB)).unwrap();
        assert_eq!(corrected(&stage).unwrap(), digest(&stage) + "\n");
    }

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
