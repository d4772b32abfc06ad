//! What is settable of the Job.

use clap::{Args as Group, ValueEnum, builder::NonEmptyStringValueParser};
use unlade_launcher as launcher;

use crate::args::Time;

/// The image of the unpacker that this program was built to use.
const TOOL_IMAGE: Option<&str> = option_env!("UNLADE_DEFAULT_TOOL_IMAGE");

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Job")]
pub(crate) struct JobArgs {
    /// The image of unlade-unpacker
    #[arg(long, value_name = "IMAGE", env = "UNLADE_TOOL_IMAGE", hide_env_values = true)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    tool_image: Option<String>,

    /// How the unpacker and the bundle come together
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    strategy: Strategy,

    /// Record the digest that a tag stands for
    ///
    /// Tags are then injected: nothing tells the digest of an image volume.
    #[arg(long, hide_short_help = true)]
    resolve_digest: bool,

    /// Longest time until the pod has a node
    #[arg(long, value_name = "TIME", default_value = "2m", hide_short_help = true)]
    schedule_timeout: Time,

    /// Longest time from there until both images are pulled
    #[arg(long, value_name = "TIME", default_value = "6m", hide_short_help = true)]
    pull_timeout: Time,

    /// Longest time from there until the ConfigMap is written
    #[arg(long, value_name = "TIME", default_value = "2m", hide_short_help = true)]
    run_timeout: Time,

    /// How long a Job stays after it succeeded
    #[arg(long, value_name = "TIME", default_value = "5m", hide_short_help = true)]
    ttl: Time,

    /// How long a Job stays after it failed
    #[arg(long, value_name = "TIME", default_value = "1h", hide_short_help = true)]
    failure_ttl: Time,
}

/// How the unpacker and the bundle come together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// An image volume where the cluster has them, else injected
    #[default]
    Auto,
    /// An init container copies the unpacker into the bundle image's own container
    Inject,
    /// The bundle image is mounted beside the unpacker; nothing of it runs
    ImageVolume,
}

/// When content that is there already is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reuse {
    /// If the image is named by its digest
    #[default]
    Digest,
    /// Also for a tag whose digest was recorded, even if the tag has moved since
    Tag,
    /// There is always a Job
    Never,
}

impl JobArgs {
    /// What of the options these arguments settle; `None` without an image of the unpacker.
    pub(crate) fn options(&self, reuse: Reuse) -> Option<launcher::Options> {
        let Self {
            tool_image,
            strategy,
            resolve_digest,
            schedule_timeout,
            pull_timeout,
            run_timeout,
            ttl,
            failure_ttl,
        } = self;
        let mut options = launcher::Options::new(tool_image.as_deref().or(TOOL_IMAGE)?);
        options.strategy = match strategy {
            Strategy::Auto => launcher::Strategy::Auto,
            Strategy::Inject => launcher::Strategy::Inject,
            Strategy::ImageVolume => launcher::Strategy::ImageVolume,
        };
        options.resolve_digest = *resolve_digest;
        options.reuse = match reuse {
            Reuse::Digest => launcher::Reuse::Digest,
            Reuse::Tag => launcher::Reuse::Tag,
            Reuse::Never => launcher::Reuse::Never,
        };
        options.deadlines = launcher::Deadlines {
            schedule: schedule_timeout.0,
            pull: pull_timeout.0,
            run: run_timeout.0,
        };
        options.retention = launcher::Retention { success: ttl.0, failure: failure_ttl.0 };
        Some(options)
    }
}
