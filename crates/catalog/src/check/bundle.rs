//! The rules of a bundle that concern no other meta.

use unlade_bundle::{
    property::PACKAGE as PACKAGE_PROPERTY,
    version::{self, Range},
};
use unlade_name::{
    ImageReference,
    image::{DEFAULT_REGISTRY, Error, Problem as ImageProblem},
};
use unlade_yaml::{Reader, json::Value};

use super::property;
use crate::{
    meta::{items, properties, text},
    object,
    problem::{Place, Problem, Problems},
    record::{BUNDLE_OBJECT, Bundle, CSV_METADATA},
    release,
    rule::Rule,
    shape::{self, format_path},
};

/// The maximum length of the registry and the repository of an image, in bytes
/// (go.podman.io/image `docker/reference`, `NameTotalLengthMax`).
const MAX_IMAGE_NAME: usize = 255;

/// Reads a bundle, and checks it.
pub(crate) fn read(value: Value<'_>, place: Place, reader: &Reader) -> (Bundle, Problems) {
    let mut bundle = Bundle {
        package: text(value, "package"),
        name: text(value, "name"),
        image: text(value, "image"),
        version: String::new(),
        plain_version: String::new(),
        related_images: items(value, "relatedImages")
            .map(|it| text(it, "image"))
            .filter(|image| !image.is_empty())
            .collect(),
        place,
    };
    let mut check = Check { bundle: &bundle, reader, problems: Problems::default() };
    let (versions, has_objects) = check.check_properties(value);
    check.check_images(value, has_objects);
    let problems = check.problems;
    Versions { full: bundle.version, plain: bundle.plain_version } = versions;
    (bundle, problems)
}

/// The versions of a bundle, with and without its release. Empty if they are invalid.
#[derive(Default)]
struct Versions {
    full: String,
    plain: String,
}

struct Check<'b> {
    bundle: &'b Bundle,
    /// The reader of the file, so that its budget includes the objects.
    reader: &'b Reader,
    problems: Problems,
}

impl Check<'_> {
    /// Checks the properties. Returns the versions, and whether the bundle has objects.
    fn check_properties(&mut self, value: Value<'_>) -> (Versions, bool) {
        let (mut packages, mut has_objects, mut n_metadata) = (Vec::new(), false, 0);
        for (index, (kind, value)) in properties(value).enumerate() {
            let place = self.bundle.place.item("properties", index);
            let Some(value) = value else {
                let message = format!("property {index} ({kind}) has no value");
                self.problem(value_rule(&kind), place, message);
                continue;
            };
            has_objects |= kind == BUNDLE_OBJECT;
            if self.fits(value, &kind, index) {
                match kind.as_str() {
                    PACKAGE_PROPERTY => packages.push((value, place)),
                    BUNDLE_OBJECT => self.check_object(value, place),
                    CSV_METADATA => n_metadata += 1,
                    _ => {
                        if let Some((rule, problem)) = property::find_problem(&kind, value) {
                            let message = format!("property {index} ({kind}): {problem}");
                            self.problem(rule, place.field("value"), message);
                        }
                    }
                }
            }
        }
        if n_metadata > 1 {
            let message = format!(
                "the bundle has {n_metadata} olm.csv.metadata properties, so opm does not serve it"
            );
            self.problem(Rule::CsvMetadata, self.bundle.place.field("properties"), message);
        }
        let versions = match packages.as_slice() {
            [(package, place)] => self.check_package(*package, place),
            several => {
                let message = format!(
                    "the bundle has {} olm.package properties, but must have one",
                    several.len()
                );
                self.problem(Rule::PackageProperty, self.bundle.place.field("properties"), message);
                Versions::default()
            }
        };
        (versions, has_objects)
    }

    /// Checks the types of the value of a property.
    fn fits(&mut self, value: Value<'_>, kind: &str, index: usize) -> bool {
        let found = shape::compare(value, shape::property(kind), &[]);
        let place = self.bundle.place.item("properties", index).field("value");
        let is_fit = found.misfits.is_empty();
        let misfits = found.misfits.into_iter().map(|it| (value_rule(kind), it));
        for (rule, (path, text)) in
            misfits.chain(found.unknown.into_iter().map(|it| (Rule::UnknownField, it)))
        {
            let name = format_path(&path);
            let name = if name.is_empty() { "the value" } else { &name };
            let message = format!("property {index} ({kind}): {name} {text}");
            let mut place = place.clone();
            place.path.extend(path);
            self.problem(rule, place, message);
        }
        is_fit
    }

    /// Checks the `olm.package` property.
    fn check_package(&mut self, package: Value<'_>, place: &Place) -> Versions {
        let Bundle { package: own, name, .. } = self.bundle;
        let place = place.field("value");
        let text = |field| text(package, field);
        if text("packageName") != *own {
            let message = format!(
                "the bundle belongs to the package {own}, but its olm.package property names {}",
                text("packageName")
            );
            self.problem(Rule::PackageProperty, place.field("packageName"), message);
        }
        let (version, release) = (text("version"), text("release"));
        let parsed = match version::parse(&version) {
            Ok(version) => version,
            Err(error) => {
                let message = unlade_text::chain(&error);
                self.problem(Rule::Version, place.field("version"), message);
                return Versions::default();
            }
        };
        if release.is_empty() {
            return Versions { full: version.clone(), plain: version };
        }
        if let Some(problem) = release::check(&release) {
            let message = format!("the release {release} {problem}");
            self.problem(Rule::Release, place.field("release"), message);
            return Versions { full: String::new(), plain: version };
        }
        if !parsed.build.is_empty() {
            let message =
                format!("the bundle has a release, but the version {version} has build metadata");
            self.problem(Rule::Release, place.field("version"), message);
        }
        let expected = format!("{own}-v{version}-{release}");
        if *name != expected {
            let message = format!("a bundle with this release must have the name {expected}");
            self.problem(Rule::BundleName, self.bundle.place.field("name"), message);
        }
        Versions { full: format!("{version}-{release}"), plain: version }
    }

    /// Checks that an object is YAML or JSON.
    fn check_object(&mut self, value: Value<'_>, place: Place) {
        let bytes = object::data(value).unwrap_or_default();
        match object::to_json(&bytes, self.reader) {
            Ok(_) => {}
            Err(error) if error.is_limit() => {
                self.problem(Rule::Limit, place, format!("failed to read the object: {error}"));
            }
            Err(error) => {
                let message = format!("the object is neither YAML nor JSON: {error}");
                self.problem(Rule::BundleObject, place, message);
            }
        }
    }

    fn check_images(&mut self, value: Value<'_>, has_objects: bool) {
        let Bundle { image, place, .. } = self.bundle;
        if image.is_empty() && !has_objects {
            let message = "the bundle has neither an image nor objects";
            self.problem(Rule::Image, place.clone(), message);
        }
        if let Some(problem) = image_problem(image) {
            self.problem(Rule::ImageReference, place.field("image"), problem);
        }
        for (index, related) in items(value, "relatedImages").enumerate() {
            if let Some(problem) = image_problem(&text(related, "image")) {
                let place = place.item("relatedImages", index).field("image");
                self.problem(Rule::ImageReference, place, problem);
            }
        }
    }

    fn problem(&mut self, rule: Rule, place: Place, message: impl Into<String>) {
        let Bundle { package, name, .. } = self.bundle;
        self.problems.push(Problem::new(rule, place, message).package(package).bundle(name));
    }
}

/// Returns the rule that an invalid value of a property violates. Upstream decodes objects when it
/// loads the bundle.
fn value_rule(kind: &str) -> Rule {
    if kind == BUNDLE_OBJECT { Rule::BundleObject } else { Rule::PropertyValue }
}

/// Returns what is wrong with the reference of an image. An empty one is not checked.
fn image_problem(image: &str) -> Option<String> {
    if image.is_empty() {
        return None;
    }
    if image.starts_with('[') {
        return Some(format!("{image:?} has an IPv6 address as its registry, which opm refuses"));
    }
    match image.parse::<ImageReference>() {
        Err(Error { problem: ImageProblem::Registry { .. }, .. }) if is_repository(image) => None,
        Err(error) => Some(error.to_string()),
        Ok(image) => {
            // opm's library includes the registry in the limit of the repository.
            let length = image.registry().len() + 1 + image.repository().len();
            let limit = MAX_IMAGE_NAME;
            (length > limit).then(|| {
                format!(
                    "the registry and the repository are {length} bytes long, but the limit is \
                     {limit}"
                )
            })
        }
    }
}

/// Checks a reference whose first part cannot be a registry, such as `my_host.example/a`. opm's
/// library treats that part as one of the repository, whose length has the same limit.
fn is_repository(image: &str) -> bool {
    ImageReference::parse(&format!("{DEFAULT_REGISTRY}/{image}")).is_ok()
}

/// Returns what is wrong with a range of versions.
pub(crate) fn range_problem(range: &str) -> Option<String> {
    range.parse::<Range>().err().map(|error| unlade_text::chain(&error))
}
