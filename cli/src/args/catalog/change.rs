//! The arguments of `unlade catalog add` and `unlade catalog deprecate`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use clap::{Args as Group, builder::NonEmptyStringValueParser};

use super::{DiffOutput, render::Migrations};
use crate::args::ImageArgs;

/// Add a bundle to channels of a catalog
///
/// The files of the catalog are changed in place, and everything else in them keeps its text.
/// Writes the differences to standard output. If the catalog would be invalid, the problems are
/// reported, and nothing is written. A bundle that the catalog already has is only added to the
/// channels.
#[derive(Debug, Group)]
pub(crate) struct Add {
    #[command(flatten)]
    pub(crate) change: Change,

    /// The bundle: a directory, an image or an archive, as for `unlade unpack`
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: OsString,

    /// Add the bundle to this channel; by default, to the channels that the bundle names
    #[arg(short, long = "channel", value_delimiter = ',', value_name = "CHANNEL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) channels: Vec<String>,

    /// Create the package and the channels if they do not exist
    ///
    /// A new package gets the description and the icon of the bundle.
    #[arg(long)]
    pub(crate) create: bool,

    /// The default channel of a new package; the default is that of the bundle if it is one of the
    /// channels, or else the first channel
    #[arg(long, requires = "create", value_name = "CHANNEL")]
    pub(crate) default_channel: Option<String>,

    /// The entry that the bundle replaces; the default is `spec.replaces`, and `''` means none
    #[arg(long, value_name = "NAME")]
    pub(crate) replaces: Option<String>,

    /// The entries that the bundle skips; the default is `spec.skips`, and `''` means none
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) skips: Option<Vec<String>>,

    /// The versions that the bundle skips; the default is the annotation `olm.skipRange`
    #[arg(long, value_name = "RANGE")]
    pub(crate) skip_range: Option<String>,

    /// The image of a bundle that is read from a directory or an archive
    ///
    /// Without it, the catalog contains the objects of such a bundle.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    #[command(flatten)]
    pub(crate) migrations: Migrations,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// Deprecate a package, channels or bundles of a catalog
///
/// Users of OLM see the message. An existing message is replaced. The files of the catalog are
/// changed in the same way as with `unlade catalog add`.
#[derive(Debug, Group)]
pub(crate) struct Deprecate {
    #[command(flatten)]
    pub(crate) change: Change,

    /// The package
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,

    /// Deprecate this channel instead of the package
    #[arg(short, long = "channel", value_delimiter = ',', value_name = "CHANNEL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) channels: Vec<String>,

    /// Deprecate this bundle instead of the package
    #[arg(short, long = "bundle", value_delimiter = ',', value_name = "BUNDLE", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) bundles: Vec<String>,

    /// Message that users of OLM see
    #[arg(short, long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) message: String,
}

/// How a catalog is changed.
#[derive(Debug, Group)]
pub(crate) struct Change {
    /// The catalog: a directory or a single file
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// The file for new documents, relative to the catalog
    ///
    /// The default is the file with the last document of the same kind of the package, else the
    /// file of the package, else `PACKAGE/catalog.yaml`.
    #[arg(long, value_name = "FILE", value_parser = parse_file)]
    pub(crate) file: Option<String>,

    /// Only check and show the change
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Output format of the differences
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: DiffOutput,
}

/// Brings the path of a file of a catalog into the form that reports have: `./a//b` is `a/b`. A
/// path that leaves the catalog keeps its form, and is refused later.
#[expect(clippy::unnecessary_wraps, reason = "clap parses values with functions that can fail")]
fn parse_file(text: &str) -> Result<String, Infallible> {
    let components = Path::new(text).components().filter(|it| *it != Component::CurDir);
    let names: Option<Vec<_>> = components
        .map(|it| match it {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    Ok(names.filter(|it| !it.is_empty()).map_or_else(|| text.to_owned(), |it| it.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_catalog_has_one_path() {
        for (text, expected) in [
            ("a.yaml", "a.yaml"),
            ("./a.yaml", "a.yaml"),
            ("tea//./a.yaml", "tea/a.yaml"),
            ("", ""),
            (".", "."),
            ("../a.yaml", "../a.yaml"),
            ("tea/../a.yaml", "tea/../a.yaml"),
            ("/a.yaml", "/a.yaml"),
        ] {
            assert_eq!(parse_file(text), Ok(expected.to_owned()), "{text}");
        }
    }
}
