//! Lists the files of a catalog.

use std::vec;

use unlade_bundle::source::{self, Tree as _};
use unlade_directory::{Dir, Kind, read_at_most};

use crate::{
    Error, Limits,
    ignore::{Excess, Ignore, MAX_PATTERNS},
};

/// The name of the files with patterns for files that do not belong to the catalog.
const IGNORE_FILE: &str = ".indexignore";

/// The maximum size of an `.indexignore`, in bytes.
const MAX_IGNORE_FILE: usize = 1 << 20;

/// The maximum size of the paths of all files, in bytes. A million paths of 64 bytes fit.
const MAX_PATHS: usize = 64 << 20;

/// A directory that is being walked: its path, and its remaining entries.
struct Level {
    path: String,
    names: vec::IntoIter<(String, Kind)>,
}

/// Returns the paths of the files that belong to the catalog, in the order of `fs.WalkDir`: the
/// entries of each directory in byte order, and those of a directory in place of the directory.
/// `new` are files that do not exist yet, which come last.
pub(crate) fn list<'n>(
    root: &Dir,
    limits: &Limits,
    new: impl Iterator<Item = &'n String>,
) -> Result<Vec<String>, Error> {
    let (mut files, mut ignore, mut n_entries, mut n_bytes) =
        (Vec::new(), Ignore::default(), 0, 0_usize);
    let mut levels = vec![open(root, String::new(), limits, &mut n_entries)?];
    while let Some(level) = levels.last_mut() {
        let Some((name, kind)) = level.names.next() else {
            levels.pop();
            continue;
        };
        let path = join(&level.path, &name);
        match kind {
            Kind::Directory => levels.push(open(root, path, limits, &mut n_entries)?),
            Kind::Other if name == IGNORE_FILE => {
                let text = read_ignore_file(root, &path)?;
                ignore.add(&level.path, &text, limits.patterns).map_err(|excess| match excess {
                    Excess::Line => Error::IgnoreLine { path },
                    Excess::Patterns => Error::Patterns { limit: limits.patterns },
                    Excess::Size => Error::PatternSize { limit: MAX_PATTERNS },
                })?;
            }
            Kind::Other => {
                n_bytes += path.len();
                if n_bytes > MAX_PATHS {
                    return Err(Error::Paths { limit: MAX_PATHS });
                }
                files.push(path);
            }
        }
    }
    files.extend(new.cloned());
    let work = files.iter().fold(0_u64, |sum, path| sum.saturating_add(ignore.work(path)));
    if work > limits.pattern_work {
        return Err(Error::PatternWork { n_files: files.len() });
    }
    files.retain(|path| !ignore.is_ignored(path));
    Ok(files)
}

/// Lists the directory at `path`.
fn open(root: &Dir, path: String, limits: &Limits, n_entries: &mut usize) -> Result<Level, Error> {
    let directory = root.open_dir(if path.is_empty() { "." } else { &path })?;
    let mut names = Vec::new();
    directory.list(&directory, |name| {
        *n_entries += 1;
        if *n_entries > limits.entries {
            return Err(Error::Entries { limit: limits.entries });
        }
        let text = std::str::from_utf8(name).map_err(|_| Error::Name {
            directory: path.clone(),
            name: name.escape_ascii().to_string(),
        })?;
        names.push(text.to_owned());
        Ok(())
    })?;
    names.sort_unstable();
    let kind = |name: String| directory.read_kind(&name).map(|kind| (name, kind));
    let names = names.into_iter().map(kind).collect::<Result<Vec<_>, _>>()?;
    Ok(Level { path, names: names.into_iter() })
}

fn read_ignore_file(root: &Dir, path: &str) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let file = root.open_file(path).map_err(failed)?;
    let bytes = read_at_most(file, MAX_IGNORE_FILE as u64)
        .map_err(|source| failed(source::Error::System { path: path.to_owned(), source }))?;
    let too_large = || source::Error::FileSize { path: path.to_owned(), limit: MAX_IGNORE_FILE };
    bytes.ok_or_else(|| failed(too_large()))
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
