//! A file-based catalog of operator bundles (FBC): what its files contain, and which rules apply.
//!
//! A catalog is a stream of [metas](Meta): JSON objects with a `schema`. OLM knows four schemas:
//! packages, channels, bundles and deprecations. Metas with other schemas are kept as they are.
//!
//! [`File::read`] reads one file of a catalog, [`Catalog`] collects the files, and
//! [`Catalog::validate`] checks what `opm validate` of operator-registry 1.73 checks. A catalog
//! within the [limits](Limits) has an [error](Severity::Error) if, and only if, `opm` refuses it,
//! except for the differences in docs/compatibility.md. All problems are found at once, each with
//! its place.
//!
//! This crate does no I/O, has no async code and uses no API client.
//!
//! ```
//! use unlade_catalog::{Catalog, File, Limits, Severity};
//!
//! let text = "schema: olm.package\nname: tea\ndefaultChannel: stable\n";
//! let mut catalog = Catalog::default();
//! catalog.add(File::read("catalog.yaml", text.as_bytes(), &Limits::default()));
//! let problems = catalog.validate();
//! assert_eq!(
//!     problems[0].to_string(),
//!     "catalog.yaml:1: the default channel stable of the package tea does not exist"
//! );
//! assert_eq!(problems[0].severity, Severity::Error);
//! ```

mod catalog;
mod check;
pub mod diff;
pub mod edit;
mod file;
pub mod filter;
pub mod graph;
mod meta;
mod name;
mod object;
mod problem;
mod rank;
mod reader;
mod record;
mod release;
pub mod render;
mod rule;
mod served;
mod shape;
pub mod template;
mod version;
mod write;

pub use catalog::Catalog;
pub use file::File;
pub use meta::{Meta, MetaError};
pub use name::Names;
pub use problem::{MAX_PROBLEM_TEXT, MAX_PROBLEMS, Place, Problem, Problems, Severity, locate};
pub use rank::Rank;
pub use reader::FileReader;
pub use record::{Bundle, Channel, Deprecation, Deprecations, Entry, Package};
pub use rule::Rule;
pub use served::{MAX_OBJECTS, ServedBundle, ServedCsv, ServedPackage, TooLarge};
pub use write::Form;

/// The schema of a package.
pub const PACKAGE: &str = "olm.package";
/// The schema of a channel.
pub const CHANNEL: &str = "olm.channel";
/// The schema of a bundle.
pub const BUNDLE: &str = "olm.bundle";
/// The schema of the deprecations of a package.
pub const DEPRECATIONS: &str = "olm.deprecations";

/// The maximum work to which the bytes of all files of a catalog add up, in units. It takes about 3
/// seconds.
const MAX_WORK: u64 = 300_000_000;

/// The limits of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The limits of each document. The largest published document has 2 MB. The budget, such as
    /// the work, is that of all documents of a file and of the objects in its bundles.
    pub document: unlade_yaml::Limits,
    /// The maximum number of metas in a file. The largest public catalog has some 4,000.
    pub metas: usize,
    /// The maximum memory for the records of all files of a catalog, in bytes. The records contain
    /// what the rules need, such as names, images and entries. The names of each meta count even if
    /// no records are kept, because most callers keep them. A published bundle needs about 2
    /// KiB, and the largest published catalogs have a few thousand bundles.
    pub records: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let document = unlade_yaml::Limits::default()
            .with_input(64 << 20)
            .with_tree(128 << 20)
            .with_output(128 << 20)
            .with_work(20_000_000);
        Self { document, metas: 1_000_000, records: 96 << 20 }
    }
}

impl Limits {
    /// Returns the limits of each file of a catalog with `n_files` files of `n_bytes` bytes
    /// together. The files share the budget equally, because a hostile catalog may consist of many
    /// small files. What their bytes add to it suffices for all files that are published, even if
    /// all of them need as much as the most expensive one and have 120 MB.
    #[must_use]
    pub fn shared_by(&self, n_files: usize, n_bytes: u64) -> Self {
        let n_files = n_files.max(1);
        let mut limits = self.clone();
        let document = &mut limits.document;
        document.work /= n_files as u64;
        document.stream_work = document.stream_work.min(MAX_WORK * 1024 / n_bytes.max(1));
        document.aliased /= n_files as u64;
        document.total_output /= n_files;
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_large_catalog_add_less_work_for_each_byte() {
        let work = |n_bytes| Limits::default().shared_by(1, n_bytes).document.stream_work;
        assert_eq!([work(0), work(50_000_000)], [6 * 1024; 2]);
        assert!(work(120_000_000) * 10 >= 24 * 1024);
        assert_eq!(work(MAX_WORK), 1024);
    }
}
