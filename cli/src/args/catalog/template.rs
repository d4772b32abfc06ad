//! The arguments of `unlade catalog template`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};
use unlade_catalog::template;

use super::render::{Migrations, Written};
use crate::args::ImageArgs;

/// Render templates of catalogs, and convert catalogs into templates
///
/// A template describes a catalog by the images of its bundles.
#[derive(Debug, Group)]
pub(crate) struct Template {
    #[command(subcommand)]
    pub(crate) command: TemplateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    Render(TemplateRender),
    Convert(TemplateConvert),
}

/// Write the catalog that a template describes
///
/// The bundles are read from the registries of their images.
#[derive(Debug, Group)]
pub(crate) struct TemplateRender {
    /// The kind of the template, and its file; both are optional
    ///
    /// The kind is `basic`, `semver` or `substitutes`; by default, the schema of the template
    /// decides. Without a file, or with `-`, the template is read from standard input.
    #[arg(value_name = "[KIND] [FILE]", num_args = 0..=2)]
    pub(crate) kind_and_file: Vec<OsString>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TemplateOutput,

    #[command(flatten)]
    pub(crate) migrations: Migrations,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// The format of what a template describes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TemplateOutput {
    /// JSON objects, one after another
    #[default]
    Json,
    /// YAML documents
    Yaml,
    /// The upgrade graphs, as `unlade catalog graph --draw-v0-semantics` writes them
    Mermaid,
}

/// Write a template that describes a catalog
#[derive(Debug, Group)]
pub(crate) struct TemplateConvert {
    /// The kind of the template
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: Convertible,

    /// The catalog, as a single file; without it, or with `-`, it is read from standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Written,
}

/// A kind of template into which a catalog can be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Convertible {
    /// Each bundle is reduced to its image
    Basic,
    /// The catalog, without substitutions
    Substitutes,
}

impl From<Convertible> for template::Kind {
    fn from(kind: Convertible) -> Self {
        match kind {
            Convertible::Basic => Self::Basic,
            Convertible::Substitutes => Self::Substitutes,
        }
    }
}
