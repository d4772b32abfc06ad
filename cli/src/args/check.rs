//! The arguments of `unlade check`.

use clap::{Args as Group, ValueEnum};

use super::{Connection, JobArgs, PodArgs, launch::image};

/// Check whether a launch would succeed
///
/// Checks the API server, your permissions, Pod Security, quotas, pull secrets, image volumes and
/// nodes with the same options as `launch`, and suggests a remedy for each problem. Nothing is
/// created: objects are sent to the API server as dry runs only. The exit code is 1 if a launch
/// would fail.
#[derive(Debug, Group)]
pub(crate) struct Check {
    /// Reference of the bundle image, which the nodes pull; without it, only the namespace is checked
    #[arg(value_name = "IMAGE", value_parser = image())]
    pub(crate) image: Option<String>,

    /// Also check whether the image of the unpacker can replace the images of OLM's
    /// catalog-operator
    ///
    /// Warns about CatalogSources in all namespaces that set `grpcPodConfig.extractContent`: OLM
    /// serves these with `opm serve` from the same image, and the image of the unpacker does not
    /// contain that command.
    #[arg(long)]
    pub(crate) olm: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: CheckOutput,

    #[command(flatten)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    pub(crate) pod: PodArgs,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// The output format of the checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckOutput {
    /// One line for each check, with hints
    #[default]
    Summary,
    /// One JSON document
    Json,
}
