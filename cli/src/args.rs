//! What was typed. Values are checked here one by one; what they mean together is decided by the
//! commands.

mod check;
mod connection;
mod example;
mod inventory;
mod launch;
mod limit;
mod number;
mod pair;
mod size;
mod time;
mod toleration;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{
    Args as Group, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use clap_complete::Shell;
use unlade_text as text;

pub(crate) use self::{
    check::{Check, CheckOutput},
    connection::Connection,
    inventory::{Delete, Describe, Get, Listing},
    launch::{ConfigMapArgs, DryRun, JobArgs, Launch, Output, PodArgs, Reuse},
    limit::Limits,
    pair::{Amounts, Pair},
    size::Size,
    time::Time,
    toleration::Tolerated,
};
use crate::{
    exit::{self, Exit},
    screen::Color,
};

/// Under which name the command was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `unlade`
    Unlade,
    /// `kubectl unlade`, by way of the plugin `kubectl-unlade`.
    KubectlPlugin,
}

/// Unpack Operator bundles into ConfigMaps and load them back
///
/// A bundle is the directory or image in which an operator for the Operator Lifecycle Manager is
/// published. `launch` has a cluster unpack it into a ConfigMap, `unpack` does the same without a
/// cluster, and `load` reads such ConfigMaps back.
#[derive(Debug, Parser)]
#[command(
    name = "unlade",
    version,
    long_version = concat!(env!("CARGO_PKG_VERSION"), "\nConfigMap format ", "1"),
    max_term_width = 100,
)]
pub(crate) struct Args {
    /// When to use colours
    ///
    /// `auto`: on terminals, unless NO_COLOR is set or TERM is `dumb`.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Unpack(Unpack),
    Load(Load),
    // Boxed: it is many times as large as the others.
    Launch(Box<Launch>),
    Check(Box<Check>),
    Get(Get),
    Describe(Describe),
    Delete(Delete),
    Completion(Completion),
    Man(Man),
}

/// Write the ConfigMap of a bundle
///
/// On a terminal a summary is shown. Piped, or with --output yaml or json, the ConfigMap itself is
/// written, ready for `kubectl create -f -`. Nothing is changed on any cluster.
#[derive(Debug, Group)]
pub(crate) struct Unpack {
    /// A bundle directory, or an image
    ///
    /// A directory with `manifests/` and `metadata/`, or an image by the names that skopeo uses:
    /// `oci:DIRECTORY[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]`. What a plain
    /// file or directory is, is found out by looking into it; `./` in front of a name keeps its
    /// colons from being read as a transport.
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,

    /// What to write: `summary` by default on a terminal, else `yaml`
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,

    /// How the values of the ConfigMap are encoded
    #[arg(long, value_enum, default_value_t, value_name = "ENCODING")]
    pub(crate) encoding: Encoding,

    /// Name of the ConfigMap
    ///
    /// By default the name of the ClusterServiceVersion, else of the package, else of the source,
    /// made a legal name.
    #[arg(long, value_name = "NAME", value_parser = crate::name::parse)]
    pub(crate) name: Option<String>,

    /// Namespace of the ConfigMap
    #[arg(short, long, value_name = "NAMESPACE", value_parser = crate::name::parse_namespace)]
    pub(crate) namespace: Option<String>,

    /// Which image of an index to take, as `os/architecture[/variant]`
    ///
    /// By default that of this machine, else the only one there is.
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,

    /// The image that the ConfigMap names as its source (`olm.sourceImage`)
    #[arg(long, value_name = "IMAGE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) source_image: Option<String>,

    /// An id that the ConfigMap carries, to tell this attempt from others
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) attempt: Option<String>,

    /// Fail if anything of the bundle would be lost or is not as it should be
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Load the bundles out of ConfigMaps
///
/// Reads what `unlade unpack`, OLM or `opm` wrote: one ConfigMap, a List of them, or a stream of
/// either, as YAML or JSON. Reports all that OLM would drop silently.
#[derive(Debug, Group)]
pub(crate) struct Load {
    /// The file with the ConfigMaps; `-`, or none in a pipe, is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The same, as kubectl takes it
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) filename: Option<PathBuf>,

    /// What to write
    ///
    /// `json` and `yaml` give `bundle` with the fields of upstream's api.Bundle, `packageManifest`
    /// and `report`. Of a List or a stream, `json` gives one document a line, `yaml` documents
    /// parted by `---`.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,

    /// Fail if anything of the bundle would be lost or is not as it should be
    #[arg(long)]
    pub(crate) strict: bool,

    /// Most bytes of input
    #[arg(
        long,
        value_name = "SIZE",
        default_value_t = Size(crate::input::SIZE),
        help_heading = "Limits",
        hide_short_help = true
    )]
    pub(crate) max_input_size: Size,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Write the completions for a shell
#[derive(Debug, Group)]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Write the man pages
///
/// Without a directory the page of the command itself goes to standard output.
#[derive(Debug, Group)]
pub(crate) struct Man {
    /// Where to write a page for the command and for each of its subcommands; made if missing
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: Option<PathBuf>,
}

/// What is written on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Summary,
    /// For programs and people
    Yaml,
    /// For programs
    Json,
}

/// How the values of the ConfigMap are encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// Plain if the ConfigMap has room to spare, else gzip
    #[default]
    Auto,
    /// As they are, readable with `kubectl describe`
    Plain,
    /// As gzip+base64, upstream's way to fit large bundles
    Gzip,
}

impl From<Encoding> for unlade_config_map::Encoding {
    fn from(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Auto => Self::Auto,
            Encoding::Plain => Self::Plain,
            Encoding::Gzip => Self::Gzip,
        }
    }
}

impl Program {
    /// The arguments of the command under this name: for help, completions and man pages.
    pub fn command(self) -> clap::Command {
        let typed = match self {
            Self::Unlade => "unlade",
            Self::KubectlPlugin => "kubectl unlade",
        };
        let mut command = Args::command()
            .name(self.binary())
            .bin_name(typed)
            .after_help("Exit codes and more: --help")
            .after_long_help(format!("Exit codes:\n{}", exit::TABLE));
        for (name, examples) in example::ALL {
            let examples = examples.replace("{unlade}", typed).replace("{binary}", self.binary());
            command = command.mut_subcommand(name, |command| {
                command.after_long_help(format!("Examples:\n{}", examples.trim_end()))
            });
        }
        command
    }

    /// The name of the binary.
    pub(crate) fn binary(self) -> &'static str {
        match self {
            Self::Unlade => "unlade",
            Self::KubectlPlugin => "kubectl-unlade",
        }
    }
}

/// Reads `arguments`, the first of which is the name of the program.
pub(crate) fn parse(
    program: Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Args, clap::Error> {
    let mut command = program.command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Says what clap has to say: help, version, or what is wrong with `arguments`.
pub(crate) fn explain(error: &clap::Error, arguments: impl Iterator<Item = OsString>) -> Exit {
    let mut texts = arguments.map(|argument| argument.to_string_lossy().into_owned());
    // Arguments can come from a shell's `*` and be anybody's file names; clap prints them raw.
    let printed = if texts.all(|text| text::escape(&text) == text) {
        error.print()
    } else {
        let text = error.render().to_string();
        let lines = text.lines().map(text::line).collect::<Vec<_>>();
        writeln!(std::io::stderr(), "{}", lines.join("\n"))
    };
    match (error.exit_code(), printed) {
        (0, Ok(())) => Exit::Success,
        (0, Err(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => Exit::Success,
        (0, Err(_)) => Exit::Failure,
        _ => Exit::Usage,
    }
}

#[cfg(test)]
mod tests {
    use unlade_config_map::mark;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        for program in [Program::Unlade, Program::KubectlPlugin] {
            program.command().debug_assert();
        }
    }

    #[test]
    fn the_long_version_tells_the_version_of_the_format() {
        let long = Program::Unlade.command().render_long_version();
        assert!(long.ends_with(&format!("\nConfigMap format {}\n", mark::VERSION)), "{long}");
    }

    #[test]
    fn the_plugin_is_called_by_way_of_kubectl() {
        let arguments = ["kubectl-unlade", "unpack"].map(OsString::from);
        let error = parse(Program::KubectlPlugin, arguments).unwrap_err().to_string();
        assert!(error.contains("Usage: kubectl unlade unpack"), "{error}");
    }
}
