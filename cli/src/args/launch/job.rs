//! The arguments that configure the Job.

use clap::{
    Args as Group, ValueEnum,
    builder::{NonEmptyStringValueParser, PossibleValue},
};
use unlade_launcher as launcher;

use crate::args::Time;

/// The default tool image, which is set when this program is built.
const TOOL_IMAGE: Option<&str> = option_env!("UNLADE_DEFAULT_TOOL_IMAGE");

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Job")]
pub(crate) struct JobArgs {
    /// Tool image, which contains unlade-unpacker
    #[arg(long, value_name = "IMAGE", env = "UNLADE_TOOL_IMAGE", hide_env_values = true)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    tool_image: Option<String>,

    /// How the unpacker gets access to the bundle
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    strategy: Strategy,

    /// Record the digest of the image that a tag refers to
    ///
    /// Images that are named by a tag then use the strategy `inject`, unless `--strategy` sets
    /// another, because most kubelets do not report the digest of an image volume.
    #[arg(long, hide_short_help = true)]
    resolve_digest: bool,

    /// Maximum time until the pod is scheduled to a node
    #[arg(long, value_name = "TIME", default_value = "2m", hide_short_help = true)]
    schedule_timeout: Time,

    /// Maximum time from scheduling until both images are pulled
    #[arg(long, value_name = "TIME", default_value = "6m", hide_short_help = true)]
    pull_timeout: Time,

    /// Maximum time from the end of the pulls until the ConfigMap is written
    #[arg(long, value_name = "TIME", default_value = "2m", hide_short_help = true)]
    run_timeout: Time,

    /// How long to keep a Job that succeeded
    #[arg(long, value_name = "TIME", default_value = "5m", hide_short_help = true)]
    ttl: Time,

    /// How long to keep a Job that failed
    #[arg(long, value_name = "TIME", default_value = "1h", hide_short_help = true)]
    failure_ttl: Time,
}

/// How the unpacker gets access to the bundle: the launcher's strategy with its help.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Strategy(launcher::Strategy);

impl ValueEnum for Strategy {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Strategy; 3] = [
            Strategy(launcher::Strategy::Auto),
            Strategy(launcher::Strategy::Inject),
            Strategy(launcher::Strategy::ImageVolume),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            launcher::Strategy::Auto => {
                "Use an image volume if the cluster supports it, else inject"
            }
            launcher::Strategy::Inject => {
                "Copy the unpacker into a container of the bundle image with an init container"
            }
            launcher::Strategy::ImageVolume => {
                "Mount the bundle image as a volume; no program of the bundle image runs"
            }
        };
        Some(PossibleValue::new(self.0.name()).help(help))
    }
}

/// When existing content is reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reuse {
    /// Only if the image is named by its digest
    #[default]
    Digest,
    /// Also if the image is named by a tag whose digest was recorded, even if the tag has moved
    Tag,
    /// Always create a Job
    Never,
}

impl JobArgs {
    /// Returns the launcher's options for these arguments, or `None` if the tool image is
    /// unknown.
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
        options.strategy = strategy.0;
        options.resolve_digest = *resolve_digest;
        options.reuse = match reuse {
            Reuse::Digest => launcher::Reuse::Digest,
            Reuse::Tag => launcher::Reuse::Tag,
            Reuse::Never => launcher::Reuse::Never,
        };
        options.deadlines = launcher::Deadlines::default()
            .with_schedule(schedule_timeout.0)
            .with_pull(pull_timeout.0)
            .with_run(run_timeout.0);
        options.retention =
            launcher::Retention::default().with_success(ttl.0).with_failure(failure_ttl.0);
        Some(options)
    }
}
