//! The arguments of `unlade get`, `describe` and `delete`.

use clap::{Args as Group, ValueEnum};

use super::{Connection, DryRun};

/// List the ConfigMaps that launches created
#[derive(Debug, Group)]
pub(crate) struct Get {
    /// Names of ConfigMaps; the default is all ConfigMaps of launches in the namespace
    #[arg(value_name = "NAME", value_parser = crate::object_name::parse_config_map)]
    pub(crate) names: Vec<String>,

    /// Include all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(crate) all_namespaces: bool,

    /// Select ConfigMaps by their labels, such as `tier=backend`
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) selector: Option<String>,

    /// Output format; the default is a table
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Listing>,

    /// Do not print column headers
    #[arg(long)]
    pub(crate) no_headers: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Show details of ConfigMaps that launches created
///
/// Shows the bundle, the reason why the last attempt failed, and the Jobs, pods and events.
#[derive(Debug, Group)]
pub(crate) struct Describe {
    /// Names of ConfigMaps
    #[arg(value_name = "NAME", required = true, value_parser = crate::object_name::parse_config_map)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Delete ConfigMaps that launches created, and everything that they own
#[derive(Debug, Group)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
pub(crate) struct Delete {
    /// Names of ConfigMaps
    #[arg(value_name = "NAME", value_parser = crate::object_name::parse_config_map)]
    #[arg(group = "which")]
    pub(crate) names: Vec<String>,

    /// Delete all ConfigMaps that launches created in the namespace
    #[arg(long, group = "which", conflicts_with_all = ["names", "selector"])]
    pub(crate) all: bool,

    /// Select ConfigMaps by their labels, such as `tier=backend`
    #[arg(short = 'l', long, group = "which", value_name = "SELECTOR", conflicts_with = "names")]
    pub(crate) selector: Option<String>,

    /// Include all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(crate) all_namespaces: bool,

    /// Do not fail if a name does not exist
    #[arg(long)]
    pub(crate) ignore_not_found: bool,

    /// Print what would be deleted without deleting it
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t, default_missing_value = "client")]
    pub(crate) dry_run: DryRun,

    /// Write only `configmap/NAME`
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<NameOnly>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// The output format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// A table with more columns
    Wide,
    /// The ConfigMaps as YAML
    Yaml,
    /// The ConfigMaps as JSON
    Json,
    /// `configmap/NAME` for each ConfigMap
    Name,
}

/// The output format of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameOnly {
    /// `configmap/NAME`
    Name,
}
