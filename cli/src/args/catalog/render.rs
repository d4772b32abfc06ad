//! The arguments of `unlade catalog render`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use unlade_catalog::{Form, render::Migration};

use crate::args::ImageArgs;

/// Write the documents of catalogs and bundles as `opm render` does
///
/// The documents are sorted by package and kind; channels and bundles are sorted by name, other
/// documents by schema. The command writes to standard output, refuses catalogs that `opm` cannot
/// load, and warns about what `opm` drops silently.
#[derive(Debug, Group)]
pub(crate) struct Render {
    /// A catalog or a bundle
    ///
    /// A catalog is a directory, a single file, an image with the label of a catalog, or `-` for
    /// standard input. A bundle is a directory that contains `manifests/` and `metadata/`, or any
    /// other image. Images are written as for `unlade unpack`, such as
    /// `docker://registry.example/bundles/etcd:0.9.4`.
    #[arg(value_name = "REF", required = true)]
    pub(crate) references: Vec<OsString>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Written,

    #[command(flatten)]
    pub(crate) migrations: Migrations,

    /// The image of a bundle directory, with `{{.Package}}`, `{{.Name}}` and `{{.Version}}`
    ///
    /// The default is no image, so that the catalog contains the objects of the bundle.
    #[arg(long = "alpha-image-ref-template", value_name = "TEMPLATE")]
    pub(crate) image_template: Option<String>,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// Write a catalog to one file for each package
///
/// Writes the same documents as `unlade catalog render`. The documents of the package NAME are
/// written to `DIRECTORY/NAME/catalog.json`, and the documents without a package to
/// `DIRECTORY/catalog.json`.
#[derive(Debug, Group)]
pub(crate) struct Migrate {
    /// A catalog: a directory, a single file, an image, or `-` for standard input
    #[arg(value_name = "REF")]
    pub(crate) catalog: OsString,

    /// The directory to write to; it must be empty or not exist
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,

    /// Format of the files
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Written,

    #[command(flatten)]
    pub(crate) migrations: Migrations,

    #[command(flatten)]
    pub(crate) images: ImageArgs,
}

/// Which migrations are applied.
#[derive(Debug, Group)]
pub(crate) struct Migrations {
    /// Apply all migrations; the same as `--migrate-level bundle-object-to-csv-metadata`
    #[arg(long)]
    migrate: bool,

    /// The last migration to apply
    #[arg(long, value_enum, value_name = "LEVEL", conflicts_with = "migrate")]
    migrate_level: Option<Level>,
}

/// The last migration to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Apply no migration
    None,
    /// In bundles that have an image, replace the objects with an `olm.csv.metadata` property
    #[value(name = "bundle-object-to-csv-metadata")]
    CsvMetadata,
}

/// The format in which a catalog is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Written {
    /// JSON objects, one after another
    #[default]
    Json,
    /// YAML documents
    Yaml,
}

impl From<Migrations> for Migration {
    fn from(Migrations { migrate, migrate_level }: Migrations) -> Self {
        match migrate_level {
            Some(Level::CsvMetadata) => Self::CsvMetadata,
            None if migrate => Self::CsvMetadata,
            Some(Level::None) | None => Self::None,
        }
    }
}

impl From<Written> for Form {
    fn from(written: Written) -> Self {
        match written {
            Written::Json => Self::Json,
            Written::Yaml => Self::Yaml,
        }
    }
}
