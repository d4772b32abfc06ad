//! Lists the files of a catalog.

use std::vec;

use unlade_bundle::source::{self, Tree as _};
use unlade_directory::{Folder, Kind, read_at_most};

use crate::{Error, Limits, ignore::Ignore};

/// The name of the files with patterns for files that do not belong to the catalog.
const IGNORE_FILE: &str = ".indexignore";

/// The maximum size of an `.indexignore`, in bytes.
const MAX_IGNORE_FILE: usize = 1 << 20;

/// A folder that is being walked: its path, and its remaining entries.
struct Level {
    path: String,
    names: vec::IntoIter<(String, Kind)>,
}

/// Returns the paths of the files that belong to the catalog, in the order of `fs.WalkDir`: the
/// entries of each folder in byte order, and those of a folder in place of the folder. `new` are files
/// that do not exist yet, which come last.
pub(crate) fn list<'n>(
    root: &Folder,
    limits: &Limits,
    new: impl Iterator<Item = &'n String>,
) -> Result<Vec<String>, Error> {
    let (mut files, mut ignore, mut n_entries) = (Vec::new(), Ignore::default(), 0);
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
                if !ignore.add(&level.path, &text) {
                    return Err(Error::IgnoreLine { path });
                }
                if ignore.len() > limits.patterns {
                    return Err(Error::Patterns { limit: limits.patterns });
                }
            }
            Kind::Other => files.push(path),
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

/// Lists the folder at `path`.
fn open(
    root: &Folder,
    path: String,
    limits: &Limits,
    n_entries: &mut usize,
) -> Result<Level, Error> {
    let folder = root.folder(if path.is_empty() { "." } else { &path }).map_err(Error::Folder)?;
    let (mut names, mut refused) = (Vec::new(), None);
    let listed = folder.list(&folder, |name| {
        *n_entries += 1;
        match std::str::from_utf8(name) {
            _ if *n_entries > limits.entries => {
                refused = Some(Error::Entries { limit: limits.entries });
            }
            Ok(name) => names.push(name.to_owned()),
            Err(_) => {
                let name = name.escape_ascii().to_string();
                refused = Some(Error::Name { folder: path.clone(), name });
            }
        }
        // Any error ends the list.
        let end = || source::Error::Missing { path: path.clone() };
        if refused.is_some() { Err(end()) } else { Ok(()) }
    });
    if let Some(error) = refused {
        return Err(error);
    }
    listed.map_err(Error::Folder)?;
    names.sort_unstable();
    let kind = |name: String| folder.kind(&name).map(|kind| (name, kind)).map_err(Error::Folder);
    let names = names.into_iter().map(kind).collect::<Result<Vec<_>, _>>()?;
    Ok(Level { path, names: names.into_iter() })
}

fn read_ignore_file(root: &Folder, path: &str) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Ignore { path: path.to_owned(), source };
    let file = root.open_file(path).map_err(failed)?;
    let bytes = read_at_most(file, MAX_IGNORE_FILE)
        .map_err(|source| failed(source::Error::System { path: path.to_owned(), source }))?;
    let too_large = || source::Error::FileSize { path: path.to_owned(), limit: MAX_IGNORE_FILE };
    bytes.ok_or_else(|| failed(too_large()))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
