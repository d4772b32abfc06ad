//! The arguments of `unlade check`.

use clap::{Args as Group, ValueEnum};

use super::{Connection, JobArgs, PodArgs, RegistryClient, launch::image};

/// Check whether a launch would succeed
///
/// Checks the API server, your permissions, Pod Security, quotas, pull secrets, image volumes and
/// nodes with the same options as `launch`, and suggests a remedy for each problem. Creates
/// nothing: it sends objects to the API server as dry runs only. The exit code is 1 if a launch
/// would fail.
#[derive(Debug, Group)]
pub(crate) struct Check {
    /// Reference of the bundle image, which the nodes pull; without it, the checks that depend on
    /// the image are skipped
    #[arg(value_name = "IMAGE", value_parser = image())]
    pub(crate) image: Option<String>,

    /// Also check which images of unlade can replace those of OLM's catalog-operator
    ///
    /// Reports the CatalogSources in all namespaces that set `grpcPodConfig.extractContent`: OLM
    /// serves these with `opm serve` from the image of `--opmImage`. Of the images of unlade, only
    /// `unlade-opm` contains that command.
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

    /// Check which mirrors and which registry this machine reads an image from, and which rules,
    /// certificates and credentials apply; no cluster is needed
    ///
    /// Requests the manifest from each mirror and from the registry itself, as `unpack`, `catalog`
    /// and `copy` do. The exit code is 1 if none of them returns the image.
    #[arg(
        long = "registry",
        value_name = "IMAGE",
        value_parser = image(),
        help_heading = "Registry",
        conflicts_with_all = ["image", "olm"]
    )]
    pub(crate) remote: Option<String>,

    #[command(flatten)]
    pub(crate) registry: RegistryClient,
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
