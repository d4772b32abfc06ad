//! [`ServedBundle`] and [`ServedPackage`]: what the gRPC API of catalogs shows of a meta
//! (operator-registry `alpha/declcfg/declcfg_to_model.go` and `pkg/api/model_to_api.go`).

use std::{fmt::Write as _, sync::Arc};

use unlade_bundle::{
    property::{GVK, GVK_REQUIRED, Gvk, PACKAGE as PACKAGE_PROPERTY, PACKAGE_REQUIRED, Property},
    typed::field,
};
use unlade_text::excerpt;
use unlade_yaml::{self as yaml, Limits, base64, json::quote};

use crate::{
    Meta,
    meta::{items, properties, text},
    object,
    record::{BUNDLE_OBJECT, CSV_METADATA},
    shape::{self, METADATA},
    write::escape_html,
};

/// The maximum size of the objects of a bundle, in bytes. It bounds the memory; clients of OLM
/// already refuse messages of more than 4 MiB.
pub const MAX_OBJECTS: usize = 32 << 20;

/// What the API shows of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedPackage {
    /// The description, as a field of a ClusterServiceVersion with a comma before it. Empty if the
    /// package has none.
    pub description: String,
    /// The icon, as a field of a ClusterServiceVersion with a comma before it. Empty if the package
    /// has none.
    pub icon: String,
}

/// What the API shows of a bundle, except for the values that depend on its channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedBundle {
    /// The image. Empty if the catalog contains the objects of the bundle.
    pub image: String,
    /// The version, without the release.
    pub version: String,
    /// The release. Empty if the bundle has none.
    pub release: String,
    /// The APIs that the bundle provides.
    pub provided_apis: Vec<Gvk>,
    /// The APIs that the bundle requires.
    pub required_apis: Vec<Gvk>,
    /// The dependencies.
    pub dependencies: Vec<Property>,
    /// The properties, without the objects.
    pub properties: Vec<Property>,
    /// The objects as JSON. An object without data shares the text of the one before it.
    pub objects: Vec<Arc<str>>,
    /// The ClusterServiceVersion.
    pub csv: ServedCsv,
}

/// The ClusterServiceVersion of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServedCsv {
    /// The bundle has no ClusterServiceVersion.
    #[default]
    None,
    /// The object with this index.
    Object(usize),
    /// Upstream makes it from the property `olm.csv.metadata` and from the package. It is the JSON
    /// `before`, the description of the package, `between`, the icon of the package, and `after`.
    Synthesized {
        /// The beginning.
        before: String,
        /// Whether the description of the package follows.
        has_package_description: bool,
        /// What is between the description and the icon of the package.
        between: String,
        /// The end.
        after: String,
    },
}

/// The objects of a bundle are too large. Each object without data repeats the one before it, so
/// they can be much larger than the catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the objects of the bundle {} are larger than {limit} bytes", excerpt::shorten(name))]
#[non_exhaustive]
pub struct TooLarge {
    /// The name of the bundle.
    pub name: String,
    /// The limit, in bytes.
    pub limit: usize,
}

impl ServedPackage {
    /// Converts an `olm.package`.
    pub fn new(meta: &Meta) -> Self {
        let package = meta.value();
        let description = match text(package, "description") {
            description if description.is_empty() => String::new(),
            description => escape_html(&format!(",\"description\":{}", quote(&description))),
        };
        let icon = field(package, "icon").map(|icon| {
            let data = field(icon, "base64data").map(shape::bytes).unwrap_or_default();
            let media_type = quote(&text(icon, "mediatype"));
            let mut json = String::from(",\"icon\":[{\"base64data\":\"");
            json.push_str(&base64::encode(data));
            _ = write!(json, "\",\"mediatype\":{media_type}}}]");
            escape_html(&json)
        });
        Self { description, icon: icon.unwrap_or_default() }
    }
}

impl ServedBundle {
    /// Converts an `olm.bundle` of a valid catalog. The work for the objects is not limited again.
    ///
    /// # Errors
    ///
    /// Returns an error if the objects are larger than 32 MiB, or than [`Limits::output`].
    pub fn new(meta: &Meta, limits: &Limits) -> Result<Self, TooLarge> {
        let bundle = meta.value();
        let mut served = Self { image: text(bundle, "image"), ..Self::default() };
        let mut n_bytes = 0;
        let (mut metadata, mut n_metadata) = (None, 0);
        let reader = object::checked_reader(limits);
        let to_json =
            |data: &[u8]| Arc::<str>::from(object::to_json(data, &reader).unwrap_or_default());
        let mut object = to_json(&[]);
        // An object without data is not converted again: its data may be large, and convert to
        // nothing.
        let mut is_csv = false;
        let mut csv = None;
        for (kind, value) in properties(bundle) {
            let Some(value) = value else { continue };
            let gvk = || Gvk {
                group: text(value, "group"),
                version: text(value, "version"),
                kind: text(value, "kind"),
            };
            let mut depends = |kind: &str, value| {
                served.dependencies.push(Property { kind: kind.to_owned(), value });
            };
            match kind.as_str() {
                BUNDLE_OBJECT => {
                    if let Some(data) = object::data(value) {
                        object = to_json(&data);
                        let tree = yaml::read_json(object.as_bytes(), limits);
                        is_csv = tree.is_ok_and(|tree| object::is_csv(tree.root()));
                    }
                    n_bytes += object.len();
                    let limit = limits.output.min(MAX_OBJECTS);
                    if n_bytes > limit {
                        return Err(TooLarge { name: meta.name.clone(), limit });
                    }
                    if is_csv {
                        csv.get_or_insert(served.objects.len());
                    }
                    served.objects.push(Arc::clone(&object));
                    continue;
                }
                CSV_METADATA => {
                    (metadata, n_metadata) = (Some(value), n_metadata + 1);
                    continue;
                }
                PACKAGE_PROPERTY => {
                    served.version = text(value, "version");
                    served.release = text(value, "release");
                }
                GVK => served.provided_apis.push(gvk()),
                GVK_REQUIRED => {
                    served.required_apis.push(gvk());
                    depends(GVK, value.to_float_json());
                }
                PACKAGE_REQUIRED => {
                    let (name, range) = (text(value, "packageName"), text(value, "versionRange"));
                    let (name, range) = (quote(&name), quote(&range));
                    let json = format!("{{\"packageName\":{name},\"version\":{range}}}");
                    depends(PACKAGE_PROPERTY, json);
                }
                _ => {}
            }
            served.properties.push(Property { kind, value: value.to_float_json() });
        }
        served.csv = match (csv, metadata) {
            (Some(index), _) => ServedCsv::Object(index),
            (None, Some(metadata)) if n_metadata == 1 => {
                synthesize(meta, metadata, &served.version)
            }
            _ => ServedCsv::None,
        };
        Ok(served)
    }
}

/// Makes a ClusterServiceVersion from `olm.csv.metadata` (`csvMetadataToCsv`).
fn synthesize(meta: &Meta, metadata: yaml::json::Value<'_>, version: &str) -> ServedCsv {
    let mut json = format!(
        "{{\"kind\":\"ClusterServiceVersion\",\"apiVersion\":\"operators.coreos.com/v1alpha1\",\
         \"metadata\":{{\"name\":{}",
        quote(&meta.name)
    );
    let append = |json: &mut String, source: &str, target: &str| {
        let fields = METADATA.fields().iter();
        for source in fields.filter(|field| field.name == source) {
            let before = json.len();
            _ = write!(json, ",\"{target}\":");
            if !shape::write_value(field(metadata, source.name), source, json) {
                json.truncate(before);
            }
        }
    };
    for name in ["labels", "annotations"] {
        append(&mut json, name, name);
    }
    json.push_str(
        "},\"spec\":{\"install\":{\"strategy\":\"deployment\",\"spec\":{\"deployments\":null}}",
    );
    _ = write!(json, ",\"version\":{}", quote(version));
    append(&mut json, "maturity", "maturity");
    append(&mut json, "crdDescriptions", "customresourcedefinitions");
    append(&mut json, "apiServiceDefinitions", "apiservicedefinitions");
    append(&mut json, "nativeAPIs", "nativeAPIs");
    append(&mut json, "minKubeVersion", "minKubeVersion");
    _ = write!(json, ",\"displayName\":{}", quote(&text(metadata, "displayName")));
    append(&mut json, "description", "description");
    let before = escape_html(&json);
    json.clear();
    for name in ["keywords", "maintainers", "provider", "links"] {
        append(&mut json, name, name);
    }
    let between = escape_html(&json);
    json.clear();
    append(&mut json, "installModes", "installModes");
    json.push_str(",\"cleanup\":{\"enabled\":false}");
    let mut separator = ",\"relatedImages\":[";
    for image in items(meta.value(), "relatedImages") {
        json.push_str(separator);
        shape::write(Some(image), &shape::RELATED_IMAGE, &mut json);
        separator = ",";
    }
    if separator == "," {
        json.push(']');
    }
    json.push_str("},\"status\":{\"cleanup\":{}}}");
    ServedCsv::Synthesized {
        before,
        has_package_description: text(metadata, "description").is_empty(),
        between,
        after: escape_html(&json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_objects_are_limited() {
        // `{"kind":"A"}`
        let object = r#"{"type":"olm.bundle.object","value":{"data":"eyJraW5kIjoiQSJ9"}}"#;
        let repeated = r#",{"type":"olm.bundle.object","value":{}}"#.repeat(9);
        let json =
            format!(r#"{{"schema":"olm.bundle","name":"b","properties":[{object}{repeated}]}}"#);
        let served = |output| {
            let limits = Limits::default().with_output(output);
            ServedBundle::new(&Meta::from_json(&json, &Limits::default()).unwrap(), &limits)
        };
        assert_eq!(served(1_000).unwrap().objects, vec![Arc::from(r#"{"kind":"A"}"#); 10]);
        let error = served(119).unwrap_err();
        assert_eq!(error.to_string(), "the objects of the bundle b are larger than 119 bytes");
    }

    /// The check of the file counts the work, and an object must not be missing without an error.
    #[test]
    fn objects_of_a_valid_catalog_are_never_too_much_work() {
        let data = base64::encode("kind: A");
        let object = format!(r#"{{"type":"olm.bundle.object","value":{{"data":"{data}"}}}}"#);
        let json = format!(r#"{{"schema":"olm.bundle","name":"b","properties":[{object}]}}"#);
        let limits = Limits::default().with_work(10);
        let served = ServedBundle::new(&Meta::from_json(&json, &limits).unwrap(), &limits).unwrap();
        assert_eq!(served.objects, [Arc::from(r#"{"kind":"A"}"#)]);
    }

    /// Converting the data again for each of the objects would take hours.
    #[test]
    fn objects_without_data_are_not_converted_again() {
        let data = base64::encode(format!("a: [{}", "0, ".repeat(200_000)));
        let object = format!(r#"{{"type":"olm.bundle.object","value":{{"data":"{data}"}}}}"#);
        let repeated = r#",{"type":"olm.bundle.object","value":{}}"#.repeat(50_000);
        let json =
            format!(r#"{{"schema":"olm.bundle","name":"b","properties":[{object}{repeated}]}}"#);
        let limits = crate::Limits::default().document;
        let served = ServedBundle::new(&Meta::from_json(&json, &limits).unwrap(), &limits).unwrap();
        assert_eq!(served.objects, vec![Arc::from(""); 50_001]);
    }
}
