//! The arguments of `unlade check`.

use clap::{Args as Group, ValueEnum};

use super::{Connection, JobArgs, PodArgs, launch::image};

/// Find out whether launches would go well
///
/// Looks at the API server, your rights, Pod Security, quotas, pull secrets, image volumes and
/// nodes, with the options that `launch` has, and tells what to do about each problem. Nothing is
/// made: objects are created as dry runs only. The exit code is 1 if a launch would fail.
#[derive(Debug, Group)]
pub(crate) struct Check {
    /// A bundle image, as the nodes pull it; without one only the namespace is looked at
    #[arg(value_name = "IMAGE", value_parser = image())]
    pub(crate) image: Option<String>,

    /// Also whether the unpacker's image fits in place of those of OLM's catalog-operator
    ///
    /// Warns of CatalogSources, in all namespaces, that have `grpcPodConfig.extractContent`: OLM
    /// serves these with the `opm` of the same image, which the unpacker's doesn't have.
    #[arg(long)]
    pub(crate) olm: bool,

    /// What to write
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: CheckOutput,

    #[command(flatten)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    pub(crate) pod: PodArgs,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// What the checks are written as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckOutput {
    /// A line each, with what to do
    #[default]
    Summary,
    /// One document
    Json,
}
