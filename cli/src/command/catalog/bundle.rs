//! Renders bundle directories and bundle images.

use std::path::Path;

use unlade_bundle::{Content, Directory, File, Reading, Reason, csv, property};
use unlade_catalog::render::{self, Migration, Rendered, Source};
use unlade_loader::{self as loader, Loaded};
use unlade_oci::Source as Location;
use unlade_registry::ImageReader;
use unlade_yaml::{self as yaml, json::Tree};

use crate::{
    command::unpack,
    error::Error,
    screen::Screen,
    source::{self, Images},
};

/// The maximum memory for the objects of a bundle, in bytes: twice the default maximum size of its
/// files.
const MAX_MEMORY: usize = 64 << 20;

/// Checks whether `path` is a bundle directory: a directory with the two directories of a bundle,
/// which are not links (operator-registry `isBundle`).
pub(super) fn is_directory(path: &Path) -> bool {
    let is_directory = |name| path.join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
    is_directory("manifests") && is_directory("metadata")
}

/// The options for rendering a bundle.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) migration: Migration,
    pub(super) image_template: Option<String>,
    pub(super) images: Images,
}

/// Renders the bundle in an image. `image` is a reference in a registry.
pub(super) fn render_image(
    image: &str,
    options: &Options,
    screen: &Screen,
) -> Result<Rendered, Error> {
    let location = format!("docker://{image}").parse().map_err(source::Error::Notation)?;
    let image = source::image(location, &options.images)?;
    render(&image, options, screen)
}

/// Renders the bundle in a directory or an image.
pub(super) fn render(
    image: &ImageReader,
    options: &Options,
    screen: &Screen,
) -> Result<Rendered, Error> {
    render_with(image, options, screen).map(|(rendered, _)| rendered)
}

/// Renders the bundle in a directory or an image, and returns it as OLM loads it too.
pub(super) fn render_with(
    image: &ImageReader,
    options: &Options,
    screen: &Screen,
) -> Result<(Rendered, Loaded), Error> {
    read_and_render(image, options, screen).map_err(|error| Error::DefaultLimits(Box::new(error)))
}

fn read_and_render(
    image: &ImageReader,
    options: &Options,
    screen: &Screen,
) -> Result<(Rendered, Loaded), Error> {
    let source = image.source();
    let limits = unlade_bundle::Limits::default();
    let (mut reading, _) = unpack::read(image, &limits, &options.images)?;
    let name = source.to_string();
    let options_of_load = loader::Options::default().with_limits(limits);
    let load = |reading: &Reading| {
        loader::load(reading, &options_of_load)
            .map_err(|error| Error::load(name.clone(), error, screen))
    };
    let mut loaded = load(&reading)?;
    if loaded.report.iter().any(|finding| finding.reason == Reason::SeveralCsvs) {
        // The loader uses the last one, but upstream's reader of directories uses the first one.
        reading = keep_first_csv(reading, &options_of_load.limits)
            .map_err(|source| Error::Directory { path: name.clone(), source: source.into() })?;
        loaded = load(&reading)?;
    }
    let failed = |source| Error::Bundle { name: name.clone(), source };
    check(&loaded).map_err(failed)?;
    let image = match (source, &options.image_template) {
        (Location::Remote(image), _) => image.to_string(),
        (_, Some(template)) => expand(template, &loaded)?,
        (_, None) => String::new(),
    };
    let objects = objects(&reading).map_err(failed)?;
    let source = Source {
        package: &loaded.bundle.package_name,
        image: &image,
        properties: &loaded.bundle.catalog_properties,
        objects: &objects,
    };
    let rendered = render::bundle(&source, options.migration);
    Ok((rendered.map_err(|error| failed(error.into()))?, loaded))
}

/// Returns an error for a bundle that upstream does not render, although it can be loaded.
fn check(loaded: &Loaded) -> Result<(), Unrendered> {
    let missing = loaded.report.iter().find(|finding| finding.reason == Reason::MissingCrd);
    if let Some(finding) = missing {
        return Err(Unrendered::Crd {
            key: finding.subject.clone(),
            message: finding.message.clone(),
        });
    }
    let bundle = &loaded.bundle;
    let mut crds = bundle.owned_crds.iter().chain(&bundle.required_crds);
    match crds.find(|crd| !crd.name.contains('.')) {
        Some(crd) => Err(Unrendered::CrdName { name: crd.name.clone() }),
        None => Ok(()),
    }
}

/// Decodes the objects in the manifests.
fn objects(reading: &Reading) -> Result<Vec<Tree>, Unrendered> {
    let (mut objects, mut memory) = (Vec::new(), 0);
    for tree in decode_objects(reading.content.files()).filter_map(|(_, tree)| tree) {
        memory += tree.memory();
        if memory > MAX_MEMORY {
            return Err(Unrendered::Memory);
        }
        objects.push(tree);
    }
    Ok(objects)
}

/// Decodes the object in each file. Upstream skips files that do not decode, and hidden files. The
/// files share one budget.
fn decode_objects<'f>(
    files: impl IntoIterator<Item = &'f File>,
) -> impl Iterator<Item = (&'f File, Option<Tree>)> {
    let reader = yaml::Reader::new(&yaml::Limits::default());
    files.into_iter().map(move |file| {
        let is_read = file.directory == Directory::Manifests && !file.name.starts_with('.');
        let decode = || reader.decode_unstructured(&file.bytes).ok()?.object;
        (file, is_read.then(decode).flatten())
    })
}

/// Removes all ClusterServiceVersions except the first one, as upstream's reader of directories
/// does.
fn keep_first_csv(
    reading: Reading,
    limits: &unlade_bundle::Limits,
) -> Result<Reading, unlade_bundle::content::Error> {
    let mut n_csvs = 0;
    let kept = decode_objects(reading.content.files()).filter(|(_, tree)| {
        let kind = tree.as_ref().and_then(|tree| tree.root().get("kind")?.as_str());
        let is_csv = kind == Some(csv::KIND);
        n_csvs += usize::from(is_csv);
        !is_csv || n_csvs == 1
    });
    let files = kept.map(|(file, _)| file.clone()).collect();
    let annotations = reading.content.annotations().clone();
    let content = Content::from_parts(annotations, files, limits)?;
    Ok(Reading { content, findings: reading.findings })
}

/// Expands the template of an image reference: `{{.Package}}`, `{{.Name}}` and `{{.Version}}`.
fn expand(template: &str, loaded: &Loaded) -> Result<String, Error> {
    let bundle = &loaded.bundle;
    let is_package = |it: &&unlade_bundle::Property| it.kind == property::PACKAGE;
    let package = bundle.properties.iter().find(is_package);
    let package = package.and_then(|it| property::Package::parse(&it.value).ok());
    let version = package.map_or_else(|| bundle.version.clone(), |package| package.version);
    let (mut image, mut rest) = (String::new(), template);
    while let Some((text, action)) = rest.split_once("{{") {
        image.push_str(text);
        let field = action.split_once("}}").map(|(name, behind)| (name.trim(), behind));
        let (value, behind) = match field {
            Some((".Package", behind)) => (&bundle.package_name, behind),
            Some((".Name", behind)) => (&bundle.csv_name, behind),
            Some((".Version", behind)) => (&version, behind),
            _ => {
                let message = "the template of an image may contain only {{.Package}}, {{.Name}} \
                               and {{.Version}}";
                return Err(Error::Usage(message.to_owned()));
            }
        };
        image.push_str(value);
        rest = behind;
    }
    Ok(image + rest)
}

/// The reason why a bundle is not rendered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unrendered {
    /// The bundle does not contain a CRD that its ClusterServiceVersion owns.
    #[error("{key}: {message}")]
    Crd { key: String, message: String },
    /// The name of a CRD in the ClusterServiceVersion does not contain a group.
    #[error("the CRD name {name:?} does not have the form <plural>.<group>")]
    CrdName { name: String },
    /// The objects need too much memory together.
    #[error("the objects need more than {} MiB of memory", MAX_MEMORY >> 20)]
    Memory,
    /// The bundle lacks something.
    #[error(transparent)]
    Incomplete(#[from] render::BundleError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_for_all_objects_is_limited() {
        let file = |n: usize| File {
            directory: Directory::Manifests,
            name: format!("{n}.yaml"),
            bytes: format!("{{\"kind\":\"A\",\"a\":[{}[]]}}", "[],".repeat(300_000)).into(),
        };
        let objects = |n_files: usize| {
            let files = (0..n_files).map(file).collect();
            let reading = Content::assemble(files, &unlade_bundle::Limits::default());
            objects(&reading.unwrap()).map(|objects| objects.len())
        };
        assert_eq!(objects(1).unwrap(), 1);
        assert!(matches!(objects(20), Err(Unrendered::Memory)));
    }
}
