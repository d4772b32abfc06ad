//! Templates: short descriptions of catalogs, from which catalogs are rendered (operator-registry
//! `alpha/template`).
//!
//! The bundles in images are rendered by the caller, because this crate does no I/O.
//!
//! ```
//! use unlade_catalog::{Limits, template};
//!
//! let text = "schema: olm.template.basic\nentries:\n- {schema: olm.package, name: tea}\n";
//! let no_image = |_: &str| Err("the template has no images");
//! let rendered = template::render(text.as_bytes(), None, &Limits::default(), no_image)?;
//! assert_eq!(rendered, [r#"{"schema":"olm.package","name":"tea","defaultChannel":""}"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod basic;
mod convert;
mod semver;
mod substitute;
#[cfg(test)]
mod tests;

use std::error;
use std::io::Read;

use unlade_bundle::typed;
use unlade_text::excerpt::shorten;
use unlade_yaml::{
    self as yaml, Documents, Reader,
    json::{Kind as Type, Tree, Value},
};

use crate::{
    Catalog, File, Limits, Meta, MetaError, Problem, Rule, Severity,
    meta::{properties, text},
    render::Rendered,
    shape::{self, Shape, format_path},
};

pub use convert::convert;

/// A kind of template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A catalog whose bundles are only images (`olm.template.basic`).
    Basic,
    /// Images, whose channels follow from the versions of their bundles (`olm.semver`).
    Semver,
    /// A catalog, and bundles that take the place of others in it (`olm.template.substitutes`).
    Substitutes,
}

/// The reason why a template cannot be rendered. The message shows only the beginnings of long
/// names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input cannot be read.
    #[error("failed to read the template")]
    Read(#[source] yaml::StreamError),
    /// The input has no document.
    #[error("the template is empty")]
    Empty,
    /// The document is neither YAML nor JSON, or exceeds a limit.
    #[error("failed to parse the template")]
    Syntax(#[source] yaml::Error),
    /// The document does not have the schema of a template.
    #[error("the schema {:?} is not {expected}", shorten(.schema))]
    Schema {
        /// The schema. Empty if the document has no schema.
        schema: String,
        /// The schemas of the expected kinds of templates.
        expected: &'static str,
    },
    /// A field has a value of the wrong type, or is unknown and not allowed.
    #[error("{} {problem}", shorten(.path))]
    Field {
        /// The path of the field.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A document in the template cannot be read.
    #[error("entry {index}: {}", .problem.message)]
    Entry {
        /// Its index, counted from 0.
        index: u64,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A bundle in a basic template has no image.
    #[error("the bundle {:?} has no image", shorten(.0))]
    NoImage(String),
    /// A bundle in a basic template has more fields than a name and an image.
    #[error("the bundle {:?} may have only an image and a name", shorten(.0))]
    BundleFields(String),
    /// A bundle was not rendered.
    #[error("failed to render the bundle {}", shorten(.image))]
    Bundle {
        /// Its image.
        image: String,
        /// The cause.
        #[source]
        source: Box<dyn error::Error + Send + Sync>,
    },
    /// The JSON of a rendered bundle is not a meta.
    #[error("the bundle {} was not rendered as a valid bundle", shorten(.image))]
    Rendered {
        /// Its image.
        image: String,
        /// The cause.
        #[source]
        source: MetaError,
    },
    /// A bundle does not have exactly one valid `olm.package` property.
    #[error("the bundle {}: {problem}", shorten(.name))]
    Package {
        /// The name of the bundle.
        name: String,
        /// What is wrong with the property.
        problem: String,
    },
    /// The template has no bundles.
    #[error("the template has no bundles")]
    NoBundles,
    /// The preferred kind of channel is unknown, or is not generated.
    #[error(
        "the defaultChannelTypePreference {:?} is not the type of a generated channel: minor \
         or major",
        shorten(.0)
    )]
    Preference(String),
    /// Bundles belong to two packages.
    #[error(
        "the bundle {} belongs to the package {}, but other bundles belong to {}",
        shorten(.name), shorten(.package), shorten(.other)
    )]
    Packages {
        /// The name of the bundle.
        name: String,
        /// Its package.
        package: String,
        /// The package of the bundles before it.
        other: String,
    },
    /// Two bundles of a channel have the same name.
    #[error("the bundle {} occurs twice", shorten(.0))]
    Duplicate(String),
    /// Two versions in a channel differ only in their build metadata, so they have no order.
    #[error(
        "the versions {} and {} differ only in their build metadata", shorten(.0), shorten(.1)
    )]
    Build(String, String),
    /// The catalog in a template, or the rendered catalog, is invalid.
    #[error("the catalog is invalid: {0}")]
    Invalid(Problem),
    /// A bundle cannot take the place of another.
    #[error(
        "{:?} cannot replace {:?}: {problem}", shorten(.substitute), shorten(.base)
    )]
    Substitution {
        /// The image that takes the place.
        substitute: String,
        /// The name of the bundle whose place it takes.
        base: String,
        /// The reason.
        problem: String,
    },
    /// A list is longer than its limit.
    #[error("the template has more than {limit} {what}")]
    TooMany {
        /// What the list contains.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl Error {
    /// Checks whether a limit was exceeded.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Read(error) => matches!(error, yaml::StreamError::TooLarge { .. }),
            Self::Syntax(error) => error.is_limit(),
            Self::Entry { problem, .. } | Self::Invalid(problem) => problem.rule == Rule::Limit,
            Self::TooMany { .. } => true,
            _ => false,
        }
    }
}

/// The schemas of all kinds of templates.
const ANY_SCHEMA: &str = "olm.template.basic, olm.semver or olm.template.substitutes";

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Basic, Self::Semver, Self::Substitutes];

    /// Returns the name that the commands of upstream use for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Semver => "semver",
            Self::Substitutes => "substitutes",
        }
    }

    /// Returns the schema of the template.
    pub fn schema(self) -> &'static str {
        match self {
            Self::Basic => "olm.template.basic",
            Self::Semver => "olm.semver",
            Self::Substitutes => "olm.template.substitutes",
        }
    }
}

/// Renders a template: returns the compact JSON of each meta of the catalog, in any order. Only the
/// first document of the input is read. `kind` is the expected kind; without it, the schema
/// decides. `bundle` renders the bundle in an image.
///
/// # Errors
///
/// Returns an error if the template is not valid, or if a bundle cannot be rendered.
pub fn render<E: Into<Box<dyn error::Error + Send + Sync>>>(
    input: impl Read,
    kind: Option<Kind>,
    limits: &Limits,
    mut bundle: impl FnMut(&str) -> Result<Rendered, E>,
) -> Result<Vec<String>, Error> {
    let tree = read(input, limits)?;
    let root = tree.root();
    let schema = match root.kind() {
        Type::Object => text(root, "schema"),
        _ => String::new(),
    };
    let found = Kind::ALL
        .into_iter()
        .find(|it| it.schema() == schema && kind.is_none_or(|kind| kind == *it));
    let Some(found) = found else {
        let expected = kind.map_or(ANY_SCHEMA, Kind::schema);
        return Err(Error::Schema { schema, expected });
    };
    let mut bundle = |image: &str| {
        bundle(image)
            .map_err(|source| Error::Bundle { image: image.to_owned(), source: source.into() })
    };
    match found {
        Kind::Basic => basic::render(root, limits, &mut bundle),
        Kind::Semver => semver::render(root, limits, &mut bundle),
        Kind::Substitutes => substitute::render(root, limits, &mut bundle),
    }
}

/// Collects rendered metas in a catalog, for example to draw it. `name` stands for their file in
/// messages.
///
/// # Errors
///
/// Returns an error if a meta cannot be read, or if all of them exceed a limit.
pub fn catalog(metas: &[String], name: &str, limits: &Limits) -> Result<Catalog, Error> {
    let mut catalog = Catalog::default();
    catalog.add(File::read(name, metas.join("\n").as_bytes(), limits));
    match first_error(catalog.loading_problems()) {
        Some(problem) if catalog.is_incomplete() => Err(Error::Invalid(problem)),
        _ => Ok(catalog),
    }
}

/// A function that renders the bundle in an image.
type RenderBundle<'b> = &'b mut dyn FnMut(&str) -> Result<Rendered, Error>;

/// Reads the first document.
fn read(input: impl Read, limits: &Limits) -> Result<Tree, Error> {
    let reader = Reader::new(&limits.document);
    let mut documents = Documents::new(input, &reader);
    let first = documents.next().map_err(Error::Read)?.ok_or(Error::Empty)?;
    Ok(first.document.map_err(Error::Syntax)?.tree)
}

/// Checks the types of the fields, and, if `is_strict` is set, that all are known.
fn check(root: Value<'_>, shape: &Shape, is_strict: bool) -> Result<(), Error> {
    let found = shape::compare(root, shape, &[]);
    let unknown = found.unknown.into_iter().filter(|_| is_strict);
    match found.misfits.into_iter().chain(unknown).next() {
        Some((path, problem)) => Err(Error::Field { path: format_path(&path), problem }),
        None => Ok(()),
    }
}

/// Reads the entries of a template. Returns an error if upstream cannot load one.
fn entries(root: Value<'_>, limits: &Limits) -> Result<Vec<Meta>, Error> {
    let mut lines = String::new();
    for entry in typed::field(root, "entries").into_iter().flat_map(|entries| entries.items()) {
        lines.push_str(&entry.to_float_json());
        lines.push('\n');
        // Upstream refuses it, so the entries after it are not needed.
        if entry.kind() != Type::Object {
            break;
        }
    }
    let mut metas = Vec::new();
    let file = File::read_each("entries", lines.as_bytes(), limits, |meta, _| metas.push(meta));
    let mut catalog = Catalog::default();
    catalog.add(file);
    match first_error(catalog.loading_problems()) {
        None => Ok(metas),
        Some(problem) => Err(Error::Entry { index: problem.place.line.saturating_sub(1), problem }),
    }
}

/// Checks that a catalog is valid.
fn validate(catalog: &Catalog) -> Result<(), Error> {
    let problem = first_error(catalog.validate());
    problem.map_or(Ok(()), |problem| Err(Error::Invalid(problem)))
}

fn first_error(problems: Vec<Problem>) -> Option<Problem> {
    problems.into_iter().find(|problem| problem.severity == Severity::Error)
}

/// Converts the JSON of a rendered bundle into a meta.
fn parse(image: &str, json: &str, limits: &Limits) -> Result<Meta, Error> {
    Meta::from_json(json, &limits.document)
        .map_err(|source| Error::Rendered { image: image.to_owned(), source })
}

/// Returns the value of the only `olm.package` property of a bundle: the package, the version and
/// the release.
fn package(bundle: &Meta) -> Result<(String, ::semver::Version, String), Error> {
    let failed = |problem: String| Error::Package { name: bundle.name.clone(), problem };
    let packages =
        properties(bundle.value()).filter(|(kind, _)| kind == unlade_bundle::property::PACKAGE);
    let values: Vec<_> = packages.map(|(_, value)| value).collect();
    let [value] = values.as_slice() else {
        return Err(failed(format!(
            "it has {} olm.package properties, but must have one",
            values.len()
        )));
    };
    let Some(value) = *value else {
        return Err(failed("its olm.package property has no value".to_owned()));
    };
    let version = unlade_bundle::version::parse(&text(value, "version"))
        .map_err(|error| failed(unlade_text::chain(&error)))?;
    Ok((text(value, "packageName"), version, text(value, "release")))
}
