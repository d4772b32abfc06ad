//! The arguments of `unlade launch`.

mod job;
mod pod;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{
    Args as Group, ValueEnum,
    builder::{NonEmptyStringValueParser, TypedValueParser},
};

pub(crate) use self::{
    job::{JobArgs, Reuse},
    pod::PodArgs,
};
use super::{Connection, Encoding, number};
use unlade_launcher::batch::{AUTO_PACK, MAX_PACK};

/// Unpack bundle images on a cluster
///
/// Creates a Job whose pod reads the bundle image and fills a ConfigMap, waits until the ConfigMap
/// is filled, and loads the bundle from it. If an earlier launch has verified the content of the
/// ConfigMap, `--reuse` decides whether it is reused. If a Job is already running for the same
/// content, the launch waits for that Job. If the launch fails, the command reports the reason and
/// the evidence. Each reason has its own exit code.
#[derive(Debug, Group)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate switch")]
pub(crate) struct Launch {
    /// References of the bundle images, which the nodes pull
    #[arg(value_name = "IMAGE", required_unless_present = "filename")]
    #[arg(value_parser = image())]
    pub(crate) images: Vec<String>,

    /// File with one image per line; `#` starts a comment; `-` means standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Output>,

    /// Do not show progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Fail if a finding reports a loss; findings about reserved annotations, the annotations file,
    /// ignored paths and unused files of metadata/ are only warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print what would be created without creating it
    ///
    /// `client` does not contact the API server. `server` sends the objects to the API server,
    /// which validates them but does not store them.
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t, default_missing_value = "client")]
    pub(crate) dry_run: DryRun,

    /// After the bundle is loaded, delete everything that the launch created
    #[arg(long)]
    pub(crate) rm: bool,

    /// Delete the Job when interrupted (Ctrl-C); by default the Job keeps running, and the next
    /// launch of the image waits for it
    #[arg(long)]
    pub(crate) cancel_on_interrupt: bool,

    #[command(flatten)]
    pub(crate) many: Many,

    #[command(flatten)]
    pub(crate) config_map: ConfigMapArgs,

    #[command(flatten)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    pub(crate) pod: PodArgs,

    /// File with credentials for --pull-secret-from-login; the default is `REGISTRY_AUTH_FILE`,
    /// else the files of podman and docker
    #[arg(
        long,
        value_name = "FILE",
        requires = "pull_secret_from_login",
        help_heading = "Pod",
        hide_short_help = true
    )]
    pub(crate) authfile: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Several images")]
pub(crate) struct Many {
    /// Maximum number of Jobs at the same time
    #[arg(long, value_name = "NUMBER", default_value = "5", hide_short_help = true)]
    #[arg(value_parser = number::parse::<NonZeroUsize>)]
    pub(crate) concurrency: NonZeroUsize,

    /// Continue with the other images if one fails
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,

    /// Maximum number of images that one Job mounts and unpacks: `off`, `auto` (8) or a number up
    /// to 16
    ///
    /// Packs need fewer Jobs and requests. They need image volumes; without these, each image has
    /// its own Job. An image that the shared Job does not unpack gets its own Job afterwards. The
    /// service account of a shared Job may change all ConfigMaps that the Job fills.
    #[arg(long, value_name = "PACK", default_value = "off", hide_short_help = true)]
    #[arg(value_parser = pack)]
    pub(crate) pack: NonZeroUsize,
}

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "ConfigMap")]
pub(crate) struct ConfigMapArgs {
    /// Name of the ConfigMap
    ///
    /// The default is derived from the image, so that all launches of the same image in the same
    /// namespace share one ConfigMap.
    #[arg(long, value_name = "NAME", value_parser = crate::object_name::parse_launch)]
    pub(crate) name: Option<String>,

    /// Generate a new random name each time
    #[arg(long, conflicts_with = "name", hide_short_help = true)]
    pub(crate) generate_name: bool,

    /// How the values of the ConfigMap are encoded
    #[arg(long, value_enum, default_value_t, value_name = "ENCODING", hide_short_help = true)]
    pub(crate) encoding: Encoding,

    /// Owner of the ConfigMap, such as `deployment/etcd`; deleting the owner deletes the ConfigMap
    #[arg(long, value_name = "KIND/NAME", value_parser = owner, hide_short_help = true)]
    pub(crate) owner: Option<String>,

    /// When to reuse existing content instead of creating a Job
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) reuse: Reuse,
}

/// The format of standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The summary of the bundle that `unlade load` shows
    #[default]
    Summary,
    /// Events as they happen, one JSON document per line; the last one is the result
    Json,
    /// The filled ConfigMap as YAML, for `unlade load` and other programs
    Yaml,
    /// `configmap/NAME`
    Name,
}

/// Where a dry run ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// This is not a dry run
    #[default]
    None,
    /// Print only, without validation by the API server
    Client,
    /// The API server validates the requests, but changes nothing
    Server,
}

/// Returns the parser for the reference of an image that the nodes pull.
pub(super) fn image() -> impl TypedValueParser<Value = String> {
    NonEmptyStringValueParser::new().try_map(|text| crate::object_name::parse_image(&text))
}

/// Parses the maximum number of images in one Job.
fn pack(text: &str) -> Result<NonZeroUsize, String> {
    match text {
        "off" => Ok(NonZeroUsize::MIN),
        "auto" => Ok(AUTO_PACK),
        number => match number.parse::<NonZeroUsize>() {
            Ok(number) if number <= MAX_PACK => Ok(number),
            _ => Err(format!("expected off, auto, or a whole number from 1 to {MAX_PACK}")),
        },
    }
}

fn owner(text: &str) -> Result<String, &'static str> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("expected KIND/NAME, such as deployment/etcd"),
    }
}
