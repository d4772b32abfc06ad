//! The arguments of the command line. This module checks each value on its own; the commands check
//! combinations.

mod cache;
mod catalog;
mod check;
mod connection;
mod copy;
mod example;
mod inventory;
mod launch;
mod limit;
mod number;
mod opm;
mod pair;
mod registry;
mod size;
mod time;
mod toleration;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{
    Args as Group, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use clap_complete::Shell;
use unlade_config_map::mark;
use unlade_text as text;

pub(crate) use self::{
    cache::{Cache, CacheCommand, CacheDirectory, CacheList, CachePlace, CachePrune},
    catalog::{
        Add, Build, Catalog, CatalogCommand, Change, Deprecate, Diff, DiffOutput, Dockerfile,
        Filter, GenerateCommand, Graph, GraphOutput, Init, List, Listed, Migrate, Render, Report,
        Rows, Template, TemplateCommand, TemplateConvert, TemplateOutput, TemplateRender, Validate,
    },
    check::{Check, CheckOutput},
    connection::Connection,
    copy::Copy,
    inventory::{Delete, Describe, Get, Listing},
    launch::{ConfigMapArgs, DryRun, JobArgs, Launch, Many, Output, PodArgs, Reuse},
    limit::Limits,
    pair::{Amounts, Pair},
    registry::{ImageArgs, PullSecret, Registry, RegistryClient, stored_auth},
    size::Size,
    time::Time,
    toleration::Tolerated,
};
use crate::{
    exit::{self, Exit},
    screen::Color,
};

/// The name under which the command was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `unlade`
    Unlade,
    /// `kubectl unlade`, through the plugin `kubectl-unlade`.
    KubectlPlugin,
}

/// The version of the program and that of the ConfigMaps that it writes.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{}\nConfigMap format {}", env!("CARGO_PKG_VERSION"), mark::VERSION));

/// Unpack operator bundles, check catalogs, and copy images
///
/// A bundle is the directory or image in which an operator for the Operator Lifecycle Manager is
/// published. `launch` unpacks a bundle into a ConfigMap on a cluster, `unpack` does the same
/// without a cluster, and `load` reads such ConfigMaps. A catalog lists bundles; `catalog` checks,
/// changes and builds catalogs. Bundles and catalogs can be in a registry, and `copy` copies images
/// between registries and files.
#[derive(Debug, Parser)]
#[command(
    name = "unlade",
    version,
    long_version = LONG_VERSION.as_str(),
    max_term_width = 100,
)]
pub(crate) struct Args {
    /// When to use colours
    ///
    /// `auto` uses colours on terminals, unless NO_COLOR is set or TERM is `dumb`.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Unpack(Unpack),
    Load(Load),
    Copy(Copy),
    Cache(Cache),
    Catalog(Catalog),
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
/// Shows a summary on a terminal. In a pipe, or with `--output yaml` or `--output json`, writes the
/// ConfigMap itself, ready for `kubectl create -f -`. Does not change a cluster.
#[derive(Debug, Group)]
pub(crate) struct Unpack {
    /// A bundle directory, a bundle image, or a tar archive of the directory; `-` means standard
    /// input
    ///
    /// A directory that contains `manifests/` and `metadata/`, or an image in skopeo's notation:
    /// `docker://NAME[:TAG|@DIGEST]` for a registry, `oci:DIRECTORY[:TAG]`,
    /// `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:NAME[:TAG]]`, `dir:DIRECTORY`. The format of
    /// a plain file or directory is detected from its content. If no such file exists, a name that
    /// begins with a registry, such as `registry.example/bundles/etcd:0.9.4`, is read from there.
    /// If a path contains a colon, put `./` in front of it, so that the text before the colon is
    /// not read as a transport.
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,

    /// Output format; the default is `summary` on a terminal and `yaml` elsewhere
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,

    /// How the values of the ConfigMap are encoded
    #[arg(long, value_enum, default_value_t, value_name = "ENCODING")]
    pub(crate) encoding: Encoding,

    /// Name of the ConfigMap
    ///
    /// The default is the name of the ClusterServiceVersion, else of the package, else of the
    /// source, changed into a valid name where necessary.
    #[arg(long, value_name = "NAME", value_parser = crate::object_name::parse)]
    pub(crate) name: Option<String>,

    /// Namespace of the ConfigMap
    #[arg(short, long, value_name = "NAMESPACE", value_parser = crate::object_name::parse_namespace)]
    pub(crate) namespace: Option<String>,

    /// Platform of the image to read from an index, as `os/architecture[/variant]`
    ///
    /// The default is the platform of this machine, or the only image if the index has just one.
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,

    /// Image to record in the ConfigMap as its source (`olm.sourceImage`)
    #[arg(long, value_name = "IMAGE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) source_image: Option<String>,

    /// Fail if a finding reports a loss; findings about reserved annotations, the annotations file,
    /// ignored paths and unused files of metadata/ are only warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Do not show progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) registry: Registry,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Load bundles from ConfigMaps
///
/// Reads what `unlade unpack`, OLM or `opm` wrote: one ConfigMap, a List of ConfigMaps, or a stream
/// of either, as YAML or JSON. Reports everything that OLM would silently drop.
#[derive(Debug, Group)]
pub(crate) struct Load {
    /// File that contains the ConfigMaps; `-` means standard input, which is the default in a pipe
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The same as FILE, for users of kubectl
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) filename: Option<PathBuf>,

    /// Output format
    ///
    /// `json` and `yaml` write `bundle` with the fields of upstream's api.Bundle,
    /// `packageManifest` and `report`. For a List or a stream, `json` writes one document per line,
    /// and `yaml` writes documents separated by `---`.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,

    /// Fail if a finding reports a loss; findings about reserved annotations, the annotations file,
    /// ignored paths and unused files of metadata/ are only warnings
    #[arg(long)]
    pub(crate) strict: bool,

    /// Maximum size of the input
    #[arg(
        long,
        value_name = "SIZE",
        default_value_t = Size(crate::input::DEFAULT_MAX_SIZE),
        help_heading = "Limits",
        hide_short_help = true
    )]
    pub(crate) max_input_size: Size,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Write the completion script for a shell
#[derive(Debug, Group)]
pub(crate) struct Completion {
    /// Shell to write the script for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Write the man pages
///
/// Without a directory, writes the page of the command itself to standard output.
#[derive(Debug, Group)]
pub(crate) struct Man {
    /// Directory for the pages of the command and its subcommands; created if it does not exist
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: Option<PathBuf>,
}

/// The format of standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Readable text and tables
    #[default]
    Summary,
    /// YAML
    Yaml,
    /// JSON
    Json,
}

/// How the values of the ConfigMap are encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// Plain if the values leave room in the ConfigMap, else gzip
    #[default]
    Auto,
    /// Unchanged, readable with `kubectl describe`
    Plain,
    /// Compressed as gzip+base64, as upstream does for large bundles
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
    /// Returns the definition of the command under this name, for help, completions and man pages.
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

    /// Returns the name of the binary.
    pub(crate) fn binary(self) -> &'static str {
        match self {
            Self::Unlade => "unlade",
            Self::KubectlPlugin => "kubectl-unlade",
        }
    }
}

/// Parses `arguments`. The first one is the name of the program.
pub(crate) fn parse(
    program: Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Args, clap::Error> {
    let mut command = program.command();
    let matches = command.try_get_matches_from_mut(opm::translate(arguments))?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints clap's message: the help, the version, or the error in `arguments`.
pub(crate) fn explain(error: &clap::Error, arguments: impl Iterator<Item = OsString>) -> Exit {
    let mut texts = arguments.map(|argument| argument.to_string_lossy().into_owned());
    // Arguments can be file names that a shell expanded from `*`, and clap does not escape them.
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
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        // This builds all subcommands, and panics if one has two arguments with the same name.
        for program in [Program::Unlade, Program::KubectlPlugin] {
            program.command().debug_assert();
        }
    }

    #[test]
    fn usage_of_the_plugin_starts_with_kubectl() {
        let arguments = ["kubectl-unlade", "unpack"].map(OsString::from);
        let error = parse(Program::KubectlPlugin, arguments).unwrap_err().to_string();
        assert!(error.contains("Usage: kubectl unlade unpack"), "{error}");
    }
}
