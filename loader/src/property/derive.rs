//! Derives properties from the package and the APIs of a bundle, and the properties in a catalog.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use unlade_bundle::Findings;
use unlade_text::excerpt;

use super::{Dependency, GVK, GVK_REQUIRED, PACKAGE, PACKAGE_REQUIRED, Property};
use crate::{
    Api,
    json::{parse_fields, text_field, to_json, to_plain_json},
    typed::Reader,
};

/// The values that properties are derived from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub(crate) package: &'a str,
    pub(crate) version: &'a str,
    pub(crate) release: &'a str,
    pub(crate) provided: &'a [Api],
    pub(crate) required: &'a [Api],
}

/// The keys of the files that contain the properties and the dependencies, for findings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origins<'a> {
    pub(crate) csv: &'a str,
    pub(crate) dependencies: &'a str,
    pub(crate) properties: &'a str,
    /// The number of [derived](derive()) properties from the file. They come first.
    pub(crate) n_from_file: usize,
}

impl<'a> Origins<'a> {
    /// Returns the key of the file that contains the property at this index.
    pub(crate) fn property_key(&self, place: usize) -> &'a str {
        if place < self.n_from_file { self.properties } else { self.csv }
    }
}

#[derive(Serialize)]
struct Package<'a> {
    #[serde(rename = "packageName")]
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    release: &'a str,
}

#[derive(Serialize)]
struct PackageRequired<'a> {
    #[serde(rename = "packageName")]
    name: &'a str,
    #[serde(rename = "versionRange")]
    range: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Gvk {
    group: String,
    kind: String,
    version: String,
}

/// Returns all properties without duplicates, in upstream's order (operator-registry
/// `pkg/registry/parse.go`): those of properties.yaml, the package, those of the CSV's annotation,
/// and the provided APIs.
pub(crate) fn derive(
    file_properties: Vec<Property>,
    annotation_properties: Vec<Property>,
    basis: Basis<'_>,
) -> Vec<Property> {
    let mut properties = file_properties;
    if !basis.package.is_empty() {
        properties.push(property(PACKAGE, to_json(&basis.package())));
    }
    properties.extend(annotation_properties);
    let gvk = |api| property(GVK, to_json(&Gvk::from(api)));
    properties.extend(basis.provided.iter().map(gvk));
    let mut seen = HashSet::new();
    properties.retain(|property| seen.insert(property.clone()));
    properties
}

/// Returns the properties of the bundle in a catalog, sorted by type and value (operator-registry
/// `pkg/registry/registry_to_model.go`, `ObjectsAndPropertiesFromBundle`), but without
/// `olm.bundle.object`, which contains the objects themselves.
pub(crate) fn catalog(
    properties: &[Property],
    dependencies: &[Dependency],
    basis: Basis<'_>,
    origins: &Origins<'_>,
    findings: &mut Findings,
) -> Vec<Property> {
    let mut catalog = Catalog {
        package: to_plain_json(&basis.package()),
        provided: basis.provided.iter().map(Gvk::from).collect(),
        required: basis.required.iter().map(Gvk::from).collect(),
        others: Vec::new(),
    };
    for (place, Property { kind, value }) in properties.iter().enumerate() {
        if let Err(error) = catalog.add_property(kind, value) {
            let mut reader = Reader::new(origins.property_key(place), findings);
            reader
                .invalid(format!("the property {} is not valid: {error}", excerpt::shorten(kind)));
        }
    }
    for Dependency { kind, value } in dependencies {
        if let Err(error) = catalog.add_dependency(kind, value) {
            let mut reader = Reader::new(origins.dependencies, findings);
            reader.invalid(format!(
                "the dependency {} is not valid: {error}",
                excerpt::shorten(kind)
            ));
        }
    }
    catalog.into_properties()
}

/// A builder for the properties in a catalog.
struct Catalog {
    package: String,
    provided: BTreeSet<Gvk>,
    required: BTreeSet<Gvk>,
    others: Vec<Property>,
}

impl Catalog {
    fn add_property(&mut self, kind: &str, value: &str) -> Result<(), String> {
        match kind {
            GVK => self.provided.extend([Gvk::read(value)?]),
            // The last one takes precedence. The derived one guarantees that one exists.
            PACKAGE => self.package = read_package(value)?,
            _ => self.others.push(property(kind, value.to_owned())),
        }
        Ok(())
    }

    fn add_dependency(&mut self, kind: &str, value: &str) -> Result<(), String> {
        match kind {
            GVK => self.required.extend([Gvk::read(value)?]),
            PACKAGE => self.others.push(property(PACKAGE_REQUIRED, read_required_package(value)?)),
            _ => self.others.push(property(kind, value.to_owned())),
        }
        Ok(())
    }

    fn into_properties(self) -> Vec<Property> {
        let mut properties = self.others;
        properties.push(property(PACKAGE, self.package));
        for (kind, gvks) in [(GVK, self.provided), (GVK_REQUIRED, self.required)] {
            properties.extend(gvks.iter().map(|gvk| property(kind, to_plain_json(gvk))));
        }
        properties.sort();
        properties
    }
}

impl<'a> Basis<'a> {
    fn package(&self) -> Package<'a> {
        Package { name: self.package, version: self.version, release: self.release }
    }
}

impl Gvk {
    fn read(value: &str) -> Result<Self, String> {
        let fields = parse_fields(value)?;
        let text = |name| text_field(&fields, name);
        Ok(Self { group: text("group")?, kind: text("kind")?, version: text("version")? })
    }
}

impl From<&Api> for Gvk {
    fn from(api: &Api) -> Self {
        let Api { group, version, kind, .. } = api.clone();
        Self { group, kind, version }
    }
}

fn property(kind: &str, value: String) -> Property {
    Property { kind: kind.to_owned(), value }
}

fn read_package(value: &str) -> Result<String, String> {
    let fields = parse_fields(value)?;
    Ok(to_plain_json(&Package {
        name: &text_field(&fields, "packageName")?,
        version: &text_field(&fields, "version")?,
        release: &text_field(&fields, "release")?,
    }))
}

fn read_required_package(value: &str) -> Result<String, String> {
    let fields = parse_fields(value)?;
    // Upstream checks the type of the release, and then leaves it out.
    text_field(&fields, "release")?;
    Ok(to_plain_json(&PackageRequired {
        name: &text_field(&fields, "packageName")?,
        range: &text_field(&fields, "version")?,
    }))
}
