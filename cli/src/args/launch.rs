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

/// Unpack bundle images on a cluster
///
/// Creates a Job whose pod reads the bundle image and fills a ConfigMap, waits for it, and loads
/// the bundle from the ConfigMap. Content that is there already is taken as it is; a Job that is
/// already running for the same content is waited for. If it fails, the reason is told with its
/// evidence, and the exit code says which it was.
#[derive(Debug, Group)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that is typed by itself")]
pub(crate) struct Launch {
    /// The bundle images, as the nodes pull them
    #[arg(value_name = "IMAGE", required_unless_present = "filename")]
    #[arg(value_parser = image())]
    pub(crate) images: Vec<String>,

    /// A file with one image a line, `#` begins a comment; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Option<PathBuf>,

    /// What to write
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Output>,

    /// Don't tell of the phases on the way
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Fail if anything of the bundle would be lost or is not as it should be
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print what would be made instead of making it
    ///
    /// `client` asks no API server; `server` has it checked there, and nothing is kept.
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t, default_missing_value = "client")]
    pub(crate) dry_run: DryRun,

    /// Delete everything again once the bundle is loaded
    #[arg(long)]
    pub(crate) rm: bool,

    /// Delete the Job when interrupted (Ctrl-C); by default it goes on, and the next launch of the
    /// image takes it up
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

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Several images")]
pub(crate) struct Many {
    /// Most Jobs at once
    #[arg(long, value_name = "NUMBER", default_value = "5", hide_short_help = true)]
    #[arg(value_parser = number::parse::<NonZeroUsize>)]
    pub(crate) concurrency: NonZeroUsize,

    /// Go on with the others if one fails
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
}

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "ConfigMap")]
pub(crate) struct ConfigMapArgs {
    /// Its name
    ///
    /// By default one that follows from the image: whoever launches the same image in the same
    /// namespace meets in one ConfigMap.
    #[arg(long, value_name = "NAME", value_parser = crate::name::parse_launch)]
    pub(crate) name: Option<String>,

    /// A new random name each time
    #[arg(long, conflicts_with = "name", hide_short_help = true)]
    pub(crate) generate_name: bool,

    /// How its values are encoded
    #[arg(long, value_enum, default_value_t, value_name = "ENCODING", hide_short_help = true)]
    pub(crate) encoding: Encoding,

    /// The object that owns it, such as `deployment/etcd`: it goes when its owner goes
    #[arg(long, value_name = "KIND/NAME", value_parser = owner, hide_short_help = true)]
    pub(crate) owner: Option<String>,

    /// When content that is there already is taken without a Job
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) reuse: Reuse,
}

/// What is written on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// What `unlade load` shows of the bundle
    #[default]
    Summary,
    /// Events as they happen, one a line; the last one is the result
    Json,
    /// The filled ConfigMap, for `unlade load` and everything else
    Yaml,
    /// `configmap/NAME`
    Name,
}

/// Where nothing is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Everything is done
    #[default]
    None,
    /// The API server isn't asked
    Client,
    /// The API server checks and changes, and keeps nothing
    Server,
}

/// Parses the reference of an image that the nodes pull.
pub(super) fn image() -> impl TypedValueParser<Value = String> {
    NonEmptyStringValueParser::new().try_map(|text| crate::name::parse_image(&text))
}

fn owner(text: &str) -> Result<String, &'static str> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("expected KIND/NAME, such as deployment/etcd"),
    }
}
