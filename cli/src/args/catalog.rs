//! The arguments of `unlade catalog`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};

/// Check and list file-based catalogs
///
/// A catalog is a directory of YAML and JSON files, from which OLM offers operators.
#[derive(Debug, Group)]
pub(crate) struct Catalog {
    #[command(subcommand)]
    pub(crate) command: CatalogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    Validate(Validate),
    List(List),
}

/// Check whether a catalog is valid
///
/// The verdict is that of `opm validate`. All problems are reported at once, with their files and
/// lines. A warning is something that `opm` accepts but loses.
#[derive(Debug, Group)]
pub(crate) struct Validate {
    /// The directory of the catalog, or a single file
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Report,

    /// Fail if there are warnings
    #[arg(long)]
    pub(crate) strict: bool,
}

/// List the content of a catalog
///
/// The catalog must be valid. Rows are sorted by their names.
#[derive(Debug, Group)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) what: Listed,

    /// The directory of the catalog, or a single file
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// Only this package
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Rows,

    /// Leave out the names of the columns
    #[arg(long)]
    pub(crate) no_headers: bool,
}

/// A kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Packages with their default channels
    Packages,
    /// Channels with their heads
    Channels,
    /// The entries of all channels, with the images of their bundles
    Bundles,
    /// Deprecated packages, channels and bundles
    Deprecations,
    /// The images of all bundles, and the images that the bundles use
    Images,
}

/// The format of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rows {
    /// A table
    #[default]
    Text,
    /// A JSON list of objects
    Json,
    /// A YAML list of mappings
    Yaml,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Report {
    /// Readable text, one line for each problem, with hints
    #[default]
    Text,
    /// JSON, with the fields of `opm validate -o json` and a list of problems
    Json,
    /// SARIF 2.1.0, which code review systems show beside the lines
    Sarif,
}
