//! The rules of a bundle that concern no other meta.

use unlade_bundle::{
    property::PACKAGE as PACKAGE_PROPERTY,
    typed,
    version::{self, Range},
};
use unlade_name::ImageReference;
use unlade_yaml::{self as yaml, json::Value};

use crate::{
    base64,
    meta::{items, text},
    problem::{Place, Problem, Problems},
    record::{BUNDLE_OBJECT, Bundle},
    release,
    rule::Rule,
    shape::{self, format_path},
};

/// The maximum length of the registry and the repository of an image, in bytes
/// (go.podman.io/image `docker/reference`, `NameTotalLengthMax`).
const MAX_IMAGE_NAME: usize = 255;

/// Reads a bundle, and checks it.
pub(crate) fn read(value: Value<'_>, place: Place, limits: &yaml::Limits) -> (Bundle, Problems) {
    let mut bundle = Bundle {
        package: text(value, "package"),
        name: text(value, "name"),
        image: text(value, "image"),
        version: String::new(),
        related_images: items(value, "relatedImages").map(|it| text(it, "image")).collect(),
        place,
    };
    let mut check = Check { bundle: &bundle, limits, problems: Problems::default() };
    let (version, has_objects) = check.check_properties(value);
    check.check_images(has_objects);
    let problems = check.problems;
    bundle.version = version.unwrap_or_default();
    (bundle, problems)
}

struct Check<'b> {
    bundle: &'b Bundle,
    limits: &'b yaml::Limits,
    problems: Problems,
}

impl Check<'_> {
    /// Checks the properties. Returns the version, and whether the bundle has objects.
    fn check_properties(&mut self, value: Value<'_>) -> (Option<String>, bool) {
        let (mut packages, mut has_objects) = (Vec::new(), false);
        for (index, property) in items(value, "properties").enumerate() {
            let place = self.bundle.place.item("properties", index);
            let kind = text(property, "type");
            // A null value is a value of any type.
            let values = property.entries().filter(|(key, _)| is_value(key));
            let Some((_, value)) = values.last() else {
                let message = format!("property {index} ({kind}) has no value");
                self.problem(Rule::PropertyValue, place, message);
                continue;
            };
            has_objects |= kind == BUNDLE_OBJECT;
            if self.fits(value, &kind, index) {
                match kind.as_str() {
                    PACKAGE_PROPERTY => packages.push((value, place)),
                    BUNDLE_OBJECT => self.check_object(value, place),
                    _ => {}
                }
            }
        }
        let version = match packages.as_slice() {
            [(package, place)] => self.check_package(*package, place),
            several => {
                let message =
                    format!("the bundle has {} olm.package properties, not one", several.len());
                self.problem(Rule::PackageProperty, self.bundle.place.field("properties"), message);
                None
            }
        };
        (version, has_objects)
    }

    /// Checks the types of the value of a property.
    fn fits(&mut self, value: Value<'_>, kind: &str, index: usize) -> bool {
        let found = shape::compare(value, shape::property(kind), &[]);
        let place = self.bundle.place.item("properties", index).field("value");
        let is_fit = found.misfits.is_empty();
        let misfits = found.misfits.into_iter().map(|it| (Rule::PropertyValue, it));
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

    /// Checks the `olm.package` property. Returns the version with the release.
    fn check_package(&mut self, package: Value<'_>, place: &Place) -> Option<String> {
        let Bundle { package: own, name, .. } = self.bundle;
        let place = place.field("value");
        let text = |field| text(package, field);
        if text("packageName") != *own {
            let message = format!(
                "the bundle belongs to package {own}, but its olm.package property names {}",
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
                return None;
            }
        };
        if release.is_empty() {
            return Some(version);
        }
        if let Some(problem) = release::check(&release) {
            let message = format!("the release {release} {problem}");
            self.problem(Rule::Release, place.field("release"), message);
            return None;
        }
        if !parsed.build.is_empty() {
            let message =
                format!("the bundle has a release, but version {version} has build metadata");
            self.problem(Rule::Release, place.field("version"), message);
        }
        let expected = format!("{own}-v{version}-{release}");
        if *name != expected {
            let message = format!("a bundle with this release must have the name {expected}");
            self.problem(Rule::BundleName, self.bundle.place.field("name"), message);
        }
        Some(format!("{version}-{release}"))
    }

    /// Checks that an object is YAML. JSON is kept as it is, and not read
    /// (apimachinery `yaml.ToJSON`).
    fn check_object(&mut self, value: Value<'_>, place: Place) {
        let data = typed::field(value, "data").and_then(|data| data.as_str()).unwrap_or_default();
        let Ok(bytes) = base64::decode(data) else { return };
        let is_json = String::from_utf8_lossy(&bytes).trim_start().starts_with('{');
        if !is_json && let Err(error) = yaml::to_json(&bytes, self.limits) {
            let message = format!("the object is neither YAML nor JSON: {error}");
            self.problem(Rule::BundleObject, place, message);
        }
    }

    fn check_images(&mut self, has_objects: bool) {
        let Bundle { image, related_images, place, .. } = self.bundle;
        if image.is_empty() && !has_objects {
            let message = "the bundle has neither an image nor objects";
            self.problem(Rule::Image, place.clone(), message);
        }
        if let Some(problem) = image_problem(image) {
            self.problem(Rule::ImageReference, place.field("image"), problem);
        }
        for (index, image) in related_images.iter().enumerate() {
            if let Some(problem) = image_problem(image) {
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

/// Returns what is wrong with the reference of an image. An empty one is not checked.
fn image_problem(image: &str) -> Option<String> {
    if image.is_empty() {
        return None;
    }
    if image.starts_with('[') {
        return Some(format!("{image:?} has an IPv6 address as its registry, which opm refuses"));
    }
    match image.parse::<ImageReference>() {
        Err(error) => Some(error.to_string()),
        Ok(image) => {
            // opm's library includes the registry in the limit of the repository.
            let length = image.registry().len() + 1 + image.repository().len();
            let limit = MAX_IMAGE_NAME;
            (length > limit).then(|| {
                format!("registry and repository have {length} bytes; at most {limit} are allowed")
            })
        }
    }
}

/// Returns what is wrong with a range of versions.
pub(crate) fn range_problem(range: &str) -> Option<String> {
    range.parse::<Range>().err().map(|error| unlade_text::chain(&error))
}

fn is_value(key: &str) -> bool {
    unlade_yaml::json::is_folded(key, "value")
}
