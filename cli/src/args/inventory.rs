//! The arguments of `unlade get`, `describe` and `delete`.

use clap::{Args as Group, ValueEnum};

use super::{Connection, DryRun};

/// List the ConfigMaps that launches made
#[derive(Debug, Group)]
pub(crate) struct Get {
    /// Names of ConfigMaps; all of the namespace without any
    #[arg(value_name = "NAME", value_parser = crate::name::parse_config_map)]
    pub(crate) names: Vec<String>,

    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(crate) all_namespaces: bool,

    /// Only those with these labels, such as `tier=backend`
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) selector: Option<String>,

    /// What to write: a table by default
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Listing>,

    /// No names of columns
    #[arg(long)]
    pub(crate) no_headers: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Tell all that is known of ConfigMaps that launches made
///
/// The bundle, why the last attempt failed, the Jobs, pods and events.
#[derive(Debug, Group)]
pub(crate) struct Describe {
    /// Names of ConfigMaps
    #[arg(value_name = "NAME", required = true, value_parser = crate::name::parse_config_map)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Delete ConfigMaps that launches made, with all that they own
#[derive(Debug, Group)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
pub(crate) struct Delete {
    /// Names of ConfigMaps
    #[arg(value_name = "NAME", value_parser = crate::name::parse_config_map)]
    #[arg(group = "which")]
    pub(crate) names: Vec<String>,

    /// All that launches made in the namespace
    #[arg(long, group = "which", conflicts_with_all = ["names", "selector"])]
    pub(crate) all: bool,

    /// Only those with these labels, such as `tier=backend`
    #[arg(short = 'l', long, group = "which", value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) selector: Option<String>,

    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(crate) all_namespaces: bool,

    /// Whether names of which there is nothing are fine
    #[arg(long)]
    pub(crate) ignore_not_found: bool,

    /// Say what would be deleted instead of deleting it
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t, default_missing_value = "client")]
    pub(crate) dry_run: DryRun,

    /// Write only `configmap/NAME`
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<NameOnly>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// What a list is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// A table with more columns
    Wide,
    /// The ConfigMaps
    Yaml,
    /// The ConfigMaps
    Json,
    /// `configmap/NAME`
    Name,
}

/// What a deletion is told as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameOnly {
    /// `configmap/NAME`
    Name,
}
