//! Reads the directory of a file-based catalog, even a hostile one.
//!
//! Every file in every directory belongs to the catalog, whatever its name, except those that an
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

mod change;
mod digest;
mod ignore;
mod locate;
mod opened;
pub mod opm_cache;
mod render;
mod staged;
mod store;
#[cfg(test)]
mod tests;
mod visit;
mod walk;

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use opened::{Input, Opened};
use unlade_bundle::source;
use unlade_catalog::{Catalog, File, FileReader, Meta, Place, Problem};
use visit::read_and_visit;

pub use change::{ChangeError, Changes};
pub use digest::digest;
pub use render::Renderer;
pub use store::{Sorted, Store};

/// The maximum size of the files that are read again for the lines of problems, in bytes. Reading
/// them takes as much time again.
const MAX_LOCATED: u64 = 16 << 20;

/// A catalog, and what is wrong with it.
#[derive(Debug, Clone)]
#[must_use = "a file with an error was not read completely"]
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
    /// The maximum number of files, directories and other entries.
    pub entries: usize,
    /// The maximum size of all files together, in bytes. A file counts for each of its names. The
    /// largest published catalogs have about 100 MB. Reading a MiB of JSON takes up to 10 ms.
    pub bytes: u64,
    /// The maximum number of patterns in all `.indexignore` files.
    pub patterns: usize,
    /// The maximum work for patterns: the number of bytes in all patterns, multiplied by the number
    /// of bytes in the paths of all files. A unit takes about 3 ns.
    pub pattern_work: u64,
    /// The maximum number of threads.
    pub threads: NonZeroUsize,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let catalog = unlade_catalog::Limits::default();
        Self {
            catalog,
            entries: 1_000_000,
            bytes: 256 << 20,
            patterns: 1_000,
            pattern_work: 300_000_000,
            threads,
        }
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
    /// A directory cannot be listed.
    #[error("failed to list a directory of the catalog")]
    Directory(#[from] source::Error),
    /// The name of an entry is not UTF-8. Upstream refuses it too.
    #[error("{directory}: the name {name} is not UTF-8")]
    Name {
        /// The directory of the entry.
        directory: String,
        /// The name, with bytes that are not printable ASCII escaped.
        name: String,
    },
    /// The directory has too many entries.
    #[error("the catalog has more than {limit} files and directories")]
    Entries {
        /// [`Limits::entries`].
        limit: usize,
    },
    /// The files are too large together.
    #[error("the files of the catalog have more than {limit} bytes")]
    Size {
        /// [`Limits::bytes`].
        limit: u64,
    },
    /// The names, images, entries and other texts that the rules need are too large together.
    #[error("the names, images and entries of the catalog need more than {limit} bytes of memory")]
    Records {
        /// [`unlade_catalog::Limits::records`].
        limit: usize,
    },
    /// An `.indexignore`, or one of the [`files`], cannot be read.
    #[error("failed to read {path}")]
    File {
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
    /// A file cannot be read, so the catalog has no digest.
    #[error("failed to compute the digest of {path}: {message}")]
    Digest {
        /// The path of the file.
        path: String,
        /// Why.
        message: String,
    },
    /// The documents cannot be kept in a temporary file.
    #[error("failed to keep the documents in a temporary file")]
    Temporary(#[source] io::Error),
    /// The `.indexignore` files have too many patterns.
    #[error("the .indexignore files have more than {limit} patterns")]
    Patterns {
        /// [`Limits::patterns`].
        limit: usize,
    },
    /// The patterns of the `.indexignore` files are too long.
    #[error("the patterns in .indexignore files have more than {limit} bytes")]
    PatternSize {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The paths of the files are too long.
    #[error("the paths of the files have more than {limit} bytes")]
    Paths {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The patterns would have to be compared with too many files: [`Limits::pattern_work`].
    #[error("the .indexignore files have too many patterns for {n_files} files")]
    PatternWork {
        /// The number of files, without regard to the patterns.
        n_files: usize,
    },
}

impl Error {
    /// Checks whether a limit of the reader was exceeded, such as one of the [`Limits`].
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Entries { .. }
            | Self::Size { .. }
            | Self::Records { .. }
            | Self::Patterns { .. }
            | Self::PatternSize { .. }
            | Self::Paths { .. }
            | Self::PatternWork { .. }
            | Self::IgnoreLine { .. } => true,
            Self::Directory(source) | Self::File { source, .. } => source.is_limit(),
            _ => false,
        }
    }
}

/// Reads and validates the catalog in the directory `root`, or in the single file `root`.
///
/// # Errors
///
/// Returns an error if the directory cannot be listed. What is wrong with single files is in
/// [`Reading::problems`].
pub fn read(root: &Path, limits: &Limits) -> Result<Reading, Error> {
    read_files(
        root,
        limits,
        &Texts::new(),
        |path, file, reader, _| reader.read(path, file),
        Catalog::validate,
    )
}

/// Calls `visit` with each meta of the catalog in the directory `root`, or in the single file
/// `root`, that upstream can load. Several threads read the files, so only metas of the same file
/// have a fixed order. Returns the problems that prevent upstream from loading the catalog, and
/// warnings ([`Catalog::loading_problems`]).
///
/// If there are two threads for each file, the second one calls `visit` from a large meta of a
/// large file on. The memory contains up to two documents for each thread, or some tens of KiB of
/// small ones.
///
/// # Errors
///
/// Returns the errors of [`read`].
pub fn visit_metas(
    root: &Path,
    limits: &Limits,
    visit: impl Fn(Meta, &Place) + Sync,
) -> Result<Vec<Problem>, Error> {
    let read = |path: &str, file: Input<'_>, reader: &FileReader<'_>, is_thread_idle| {
        read_and_visit(&visit, is_thread_idle, |visit| reader.read_each(path, file, visit))
    };
    let reading = read_files(root, limits, &Texts::new(), read, Catalog::loading_problems)?;
    Ok(reading.problems)
}

/// Reads and validates a catalog as [`read`] does, and calls `visit` as [`visit_metas`] does.
///
/// # Errors
///
/// Returns the errors of [`read`].
pub fn validate_and_visit(
    root: &Path,
    limits: &Limits,
    visit: impl Fn(Meta, &Place) + Sync,
) -> Result<Reading, Error> {
    validate_changed(root, limits, &Texts::new(), visit)
}

/// Returns the files of the catalog in the directory or the single file `root`: their paths in the
/// catalog, and their paths on this machine without links.
///
/// # Errors
///
/// Returns the errors of [`read`], and an error if a link leads out of the directory.
pub fn files(root: &Path, limits: &Limits) -> Result<BTreeMap<String, PathBuf>, Error> {
    let failed = |source| Error::Root { path: root.to_owned(), source };
    let base = root.canonicalize().map_err(failed)?;
    if !base.is_dir() {
        return Ok(BTreeMap::from([(opened::file_name(root), base)]));
    }
    let directory = opened::open_root(root)?;
    let place = |path: String| {
        // The error says why a link is not followed.
        if let Err(source) = directory.open_file(&path) {
            return Err(Error::File { path, source });
        }
        let file = base.join(&path).canonicalize().map_err(failed)?;
        Ok((path, file))
    };
    walk::list(&directory, limits, std::iter::empty())?.into_iter().map(place).collect()
}

/// The texts of files, by their paths in the catalog.
type Texts = BTreeMap<String, Vec<u8>>;

/// Reads and validates a catalog as [`validate_and_visit`] does, with the content of some files
/// replaced.
fn validate_changed(
    root: &Path,
    limits: &Limits,
    changed: &Texts,
    visit: impl Fn(Meta, &Place) + Sync,
) -> Result<Reading, Error> {
    let read = |path: &str, file: Input<'_>, reader: &FileReader<'_>, is_thread_idle| {
        read_and_visit(&visit, is_thread_idle, |visit| reader.read_with(path, file, visit))
    };
    read_files(root, limits, changed, read, Catalog::validate)
}

/// Reads each file with `read`, and looks for problems with `check`.
fn read_files<'t>(
    root: &Path,
    limits: &Limits,
    changed: &'t Texts,
    read: impl Fn(&str, Input<'t>, &FileReader<'_>, bool) -> File + Sync,
    check: impl Fn(&Catalog) -> Vec<Problem>,
) -> Result<Reading, Error> {
    let opened = Opened::new(root, limits, changed)?;
    let is_thread_idle = opened.files().len().saturating_mul(2) <= limits.threads.get();
    let file_limits = limits.catalog.shared_by(opened.files().len(), opened.size());
    let reader = FileReader::new(&file_limits);
    let read = |path: &String| {
        // The catalog is refused, whatever this file contains.
        if reader.is_full() {
            return File::default();
        }
        match opened.open(path) {
            Ok(file) => read(path, file, &reader, is_thread_idle),
            Err(message) => File::unreadable(path, message),
        }
    };
    let mut catalog = Catalog::default();
    for file in unlade_parallel::map(opened.files(), limits.threads.get(), read) {
        catalog.add(file);
    }
    if reader.is_full() {
        return Err(Error::Records { limit: file_limits.records });
    }
    let problems = locate_and_sort(check(&catalog), |path| opened.open(path), &file_limits);
    Ok(Reading { catalog, problems, n_files: opened.files().len() })
}

/// Sets the lines of the problems, and sorts them.
fn locate_and_sort<'t>(
    mut problems: Vec<Problem>,
    open: impl Fn(&str) -> Result<Input<'t>, String>,
    limits: &unlade_catalog::Limits,
) -> Vec<Problem> {
    locate::locate(&mut problems, open, limits, MAX_LOCATED);
    problems.sort();
    problems
}
