//! Reads the directory of a file-based catalog, even a hostile one.
//!
//! Every file in every folder belongs to the catalog, whatever its name, except those that an
//! `.indexignore` excludes (operator-registry `alpha/declcfg/load.go`). Links are followed only to
//! files inside the directory. Upstream follows every link.
//!
//! ```no_run
//! use unlade_catalog_directory::{Limits, read};
//!
//! let reading = read("catalog".as_ref(), &Limits::default())?;
//! for problem in &reading.problems {
//!     println!("{problem}");
//! }
//! # Ok::<(), unlade_catalog_directory::Error>(())
//! ```

mod ignore;
mod locate;
mod parallel;
#[cfg(test)]
mod tests;
mod walk;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unlade_bundle::source;
use unlade_catalog::{Catalog, File, Problem};
use unlade_directory::Folder;

/// A catalog, and what is wrong with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The catalog.
    pub catalog: Catalog,
    /// All problems, in the order of their places.
    pub problems: Vec<Problem>,
    /// The number of files that were read.
    pub n_files: usize,
}

/// The limits of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The limits of the documents.
    pub catalog: unlade_catalog::Limits,
    /// The maximum number of files, folders and other entries.
    pub entries: usize,
    /// The maximum number of patterns in all `.indexignore` files.
    pub patterns: usize,
    /// The maximum number of threads.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let catalog = unlade_catalog::Limits::default();
        Self { catalog, entries: 1_000_000, patterns: 1_000, threads }
    }
}

/// The reason why a directory was not read. A file that cannot be read is a [`Problem`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The catalog cannot be opened.
    #[error("failed to open the catalog {}", path.display())]
    Root {
        /// The path as the caller passed it.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A folder cannot be listed.
    #[error("failed to list a folder of the catalog")]
    Folder(#[source] source::Error),
    /// The name of an entry is not UTF-8. Upstream refuses it too.
    #[error("{folder}: the name {name} is not UTF-8")]
    Name {
        /// The folder of the entry.
        folder: String,
        /// The name, with bytes that are not printable ASCII escaped.
        name: String,
    },
    /// The directory has too many entries.
    #[error("the catalog has more than {limit} files and folders")]
    Entries {
        /// [`Limits::entries`].
        limit: usize,
    },
    /// An `.indexignore` cannot be read.
    #[error("failed to read {path}")]
    Ignore {
        /// Its path.
        path: String,
        /// Why.
        #[source]
        source: source::Error,
    },
    /// An `.indexignore` has a line of 64 KiB or more. Upstream refuses it too.
    #[error("{path} has a line of 64 KiB or more")]
    IgnoreLine {
        /// Its path.
        path: String,
    },
    /// The `.indexignore` files have too many patterns.
    #[error("the .indexignore files have more than {limit} patterns")]
    Patterns {
        /// [`Limits::patterns`].
        limit: usize,
    },
}

impl Error {
    /// Checks whether one of the [`Limits`] was exceeded.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Entries { .. } | Self::Patterns { .. } | Self::IgnoreLine { .. })
    }
}

/// Reads and validates the catalog in the directory `root`, or in the single file `root`.
///
/// # Errors
///
/// Returns an error if the directory cannot be listed. What is wrong with single files is in
/// [`Reading::problems`].
pub fn read(root: &Path, limits: &Limits) -> Result<Reading, Error> {
    let failed = |source| Error::Root { path: root.to_owned(), source };
    let mut catalog = Catalog::default();
    let metadata = fs::metadata(root).map_err(failed)?;
    if !metadata.is_dir() {
        // A pipe can be read only once, but a file with problems is read twice.
        if !metadata.is_file() {
            return Err(failed(io::Error::other("it is neither a directory nor a regular file")));
        }
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let open = |_: &str| fs::File::open(root).map_err(|error| error.to_string());
        catalog.add(read_file(&name, open, &limits.catalog));
        return Ok(finish(catalog, 1, open, limits));
    }
    let folder = match Folder::root(root) {
        Ok(folder) => folder,
        Err(source::Error::Root { source, .. }) => return Err(failed(source)),
        Err(error) => return Err(Error::Folder(error)),
    };
    let files = walk::list(&folder, limits)?;
    let open = |path: &str| folder.open_file(path).map_err(|error| unlade_text::chain(&error));
    let read = |path: &String| read_file(path, open, &limits.catalog);
    for file in parallel::map(&files, limits.threads, read) {
        catalog.add(file);
    }
    Ok(finish(catalog, files.len(), open, limits))
}

fn read_file(
    path: &str,
    open: impl Fn(&str) -> Result<fs::File, String>,
    limits: &unlade_catalog::Limits,
) -> File {
    match open(path) {
        Ok(file) => File::read(path, file, limits),
        Err(message) => File::unreadable(path, message),
    }
}

fn finish(
    catalog: Catalog,
    n_files: usize,
    open: impl Fn(&str) -> Result<fs::File, String>,
    limits: &Limits,
) -> Reading {
    let mut problems = catalog.validate();
    locate::locate(&mut problems, open, &limits.catalog);
    problems.sort();
    Reading { catalog, problems, n_files }
}
