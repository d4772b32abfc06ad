//! The arguments of `unlade catalog`.

mod build;
mod change;
mod render;
mod template;

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};

use unlade_catalog::filter::{BadChoice, Choice};

use super::{ImageArgs, Pair};

pub(crate) use build::Build;
pub(crate) use change::{Add, Change, Deprecate};
pub(crate) use render::{Migrate, Render, Written};
pub(crate) use template::{
    Template, TemplateCommand, TemplateConvert, TemplateOutput, TemplateRender,
};

/// Check, list, draw, compare, render, filter, change and build file-based catalogs
///
/// A catalog is a directory of YAML and JSON files, from which OLM offers operators.
#[derive(Debug, Group)]
pub(crate) struct Catalog {
    #[command(subcommand)]
    pub(crate) command: CatalogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    Validate(Validate),
    List(List),
    Render(Render),
    Migrate(Migrate),
    Template(Template),
    Graph(Graph),
    Diff(Diff),
    Filter(Filter),
    Add(Add),
    Deprecate(Deprecate),
    Build(Build),
    Init(Init),
    Generate(Generate),
}

/// Check whether a catalog is valid
///
/// Accepts and refuses the same catalogs as `opm validate`, with a few exceptions: for example,
/// links out of the catalog, devices and content above a limit are errors. Reports all problems at
/// once, with their files and lines. A warning is about something that `opm` accepts but drops, or
/// that is probably a mistake.
#[derive(Debug, Group)]
pub(crate) struct Validate {
    /// The directory of the catalog, a single file, or a catalog image; `-` means standard input
    ///
    /// An image is named as in `unlade unpack`, such as `docker://registry.example/catalog:v1`. Its
    /// label `operators.operatorframework.io.index.configs.v1` names the directory of the catalog.
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Report,

    /// Fail if there are warnings
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// List the content of a catalog
///
/// The catalog must be valid. Rows are sorted by their names.
#[derive(Debug, Group)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) what: Listed,

    /// The directory of the catalog, a single file, or a catalog image; `-` means standard input
    ///
    /// An image is named as in `unlade unpack`, such as `docker://registry.example/catalog:v1`. Its
    /// label `operators.operatorframework.io.index.configs.v1` names the directory of the catalog.
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// List only this package
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Rows,

    /// Do not print column headers
    #[arg(long)]
    pub(crate) no_headers: bool,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// Draw the upgrade graphs of a catalog
///
/// An arrow leads from a bundle to the bundle that replaces or skips it. The Mermaid text is the
/// same as the output of `opm alpha render-graph`. The catalog need not be valid: the command also
/// draws broken graphs.
#[derive(Debug, Group)]
pub(crate) struct Graph {
    /// The directory of the catalog, a single file, or a catalog image; `-` means standard input
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// Draw only this package
    #[arg(short, long, alias = "package-name", value_name = "PACKAGE")]
    pub(crate) package: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: GraphOutput,

    /// Draw only the package of this bundle, and only its version and higher ones
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) minimum_edge: Option<String>,

    /// Mark what OLM v0 does not use, as `opm` does (Mermaid)
    #[arg(long)]
    pub(crate) draw_v0_semantics: bool,

    /// Mark heads, and skipped and stranded entries (Mermaid)
    ///
    /// DOT and SVG always show these marks.
    #[arg(long)]
    pub(crate) marks: bool,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// The format of a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphOutput {
    /// Mermaid text, as `opm` writes it
    #[default]
    Mermaid,
    /// The language of Graphviz
    Dot,
    /// An SVG drawing
    Svg,
}

/// Show what differs between two catalogs
///
/// The order of documents, entries and skips has no effect. The order of the properties and the
/// related images of a bundle has no effect either.
#[derive(Debug, Group)]
pub(crate) struct Diff {
    /// The old catalog: a directory, a single file, or an image
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,

    /// The new catalog
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: DiffOutput,

    /// Exit with code 1 if the catalogs differ, and with a higher code if they cannot be compared
    #[arg(long)]
    pub(crate) exit_code: bool,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// The format of the differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffOutput {
    /// A line for each change
    #[default]
    Text,
    /// JSON, with a list of changes
    Json,
    /// Markdown tables, for pull requests
    Markdown,
}

/// Write only some packages, channels and versions of a catalog
///
/// The catalog must be valid. The result is valid too: the command also keeps the entries that the
/// upgrade graphs need and the dependencies of the bundles, and reports them on standard error.
#[derive(Debug, Group)]
pub(crate) struct Filter {
    /// The directory of the catalog, a single file, or a catalog image; `-` means standard input
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// What to keep: `PACKAGE[:CHANNEL[,CHANNEL]...][@RANGE]`, such as `etcd:stable@>=1.0.0`
    ///
    /// Without channels, all of them are kept, and without a range, all versions. A range is
    /// written as in `olm.skipRange`: `>=1.0.0 <2.0.0 || 3.1.x`.
    #[arg(short = 'p', long = "package", required_unless_present = "config", value_name = "CHOICE", value_parser = parse_choice)]
    pub(crate) choices: Vec<Choice>,

    /// Keep what an ImageSetConfiguration of oc-mirror selects
    ///
    /// If the file has several catalogs, the name of CATALOG selects one. The versions are selected
    /// as in oc-mirror v2: without a version, the head of a channel; without a channel, the default
    /// channel.
    #[arg(long, conflicts_with = "choices", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Do not keep the dependencies of the bundles
    #[arg(long)]
    pub(crate) no_dependencies: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Written,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// Write the document of a new package
///
/// Writes an `olm.package` document for a catalog, as `opm init` does.
#[derive(Debug, Group)]
pub(crate) struct Init {
    /// The name of the package
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,

    /// The default channel
    #[arg(
        short = 'c',
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "CHANNEL"
    )]
    pub(crate) default_channel: String,

    /// File with the description, such as a README.md
    #[arg(short, long, value_name = "FILE")]
    pub(crate) description: Option<PathBuf>,

    /// File with the icon
    #[arg(short, long, value_name = "FILE")]
    pub(crate) icon: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Written,
}

/// Generate files for a catalog
#[derive(Debug, Group)]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) command: GenerateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    Dockerfile(Dockerfile),
}

/// Write a Dockerfile for the image of a catalog
///
/// Writes CATALOG.Dockerfile beside the directory, with the instructions of `opm generate
/// dockerfile`. Does not overwrite an existing file.
#[derive(Debug, Group)]
pub(crate) struct Dockerfile {
    /// The directory of the catalog
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// Image that serves the catalog; `scratch` if OLM extracts the catalog from the image
    #[arg(short = 'i', long, required_unless_present = "binary_image", value_name = "IMAGE")]
    pub(crate) base_image: Option<String>,

    /// Image with `opm`, which builds the cache; by default the base image
    #[arg(short, long, value_name = "IMAGE")]
    pub(crate) builder_image: Option<String>,

    /// The old name of --base-image
    #[arg(long, hide = true, conflicts_with = "base_image", value_name = "IMAGE")]
    pub(crate) binary_image: Option<String>,

    /// Labels to add to the image; if a key is given more than once, the last value is used
    #[arg(short = 'l', long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) extra_labels: Vec<Pair>,
}

/// A kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Packages with their default channels
    Packages,
    /// Channels with their heads
    Channels,
    /// The entries of all channels, with the images of their bundles
    Bundles,
    /// Deprecated packages, channels and bundles
    Deprecations,
    /// The images of all bundles, and the images that the bundles use
    Images,
}

/// The format of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rows {
    /// A table
    #[default]
    Text,
    /// A JSON list of objects
    Json,
    /// A YAML list of mappings
    Yaml,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Report {
    /// Readable text, one line for each problem, with hints
    #[default]
    Text,
    /// JSON, with the fields of `opm validate -o json` and a list of problems
    Json,
    /// SARIF 2.1.0, which code review systems show beside the lines
    Sarif,
}

fn parse_choice(text: &str) -> Result<Choice, String> {
    text.parse().map_err(|error: BadChoice| unlade_text::chain(&error))
}
