//! Properties that follow from other things in the bundle, and how a catalog shows them all.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use unlade_bundle::Findings;
use unlade_text::excerpt;

use super::{Dependency, GVK, GVK_REQUIRED, PACKAGE, PACKAGE_REQUIRED, Property};
use crate::{
    Api,
    json::{fields_of, text_of, to_json, to_plain_json},
    typed::Reader,
};

/// What properties are derived from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub(crate) package: &'a str,
    pub(crate) version: &'a str,
    pub(crate) release: &'a str,
    pub(crate) provided: &'a [Api],
    pub(crate) required: &'a [Api],
}

/// The keys of the files that properties and dependencies came from, for findings about them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origins<'a> {
    pub(crate) csv: &'a str,
    pub(crate) dependencies: &'a str,
    pub(crate) properties: &'a str,
    /// How many of the [derived](derive()) properties came from the file; they come first.
    pub(crate) n_of_file: usize,
}

impl<'a> Origins<'a> {
    /// The key of the file that the property at this index came from.
    pub(crate) fn of_property(&self, place: usize) -> &'a str {
        if place < self.n_of_file { self.properties } else { self.csv }
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

/// All properties in upstream's order, each once (operator-registry `pkg/registry/parse.go`): those
/// of properties.yaml, the package, those of the CSV's annotation, the provided APIs.
pub(crate) fn derive(
    of_file: Vec<Property>,
    of_annotation: Vec<Property>,
    basis: Basis<'_>,
) -> Vec<Property> {
    let mut properties = of_file;
    if !basis.package.is_empty() {
        properties.push(property(PACKAGE, to_json(&basis.package())));
    }
    properties.extend(of_annotation);
    let gvk = |api| property(GVK, to_json(&Gvk::from(api)));
    properties.extend(basis.provided.iter().map(gvk));
    let mut seen = HashSet::new();
    properties.retain(|property| seen.insert(property.clone()));
    properties
}

/// The properties as a catalog shows them, sorted by type and value (operator-registry
/// `pkg/registry/registry_to_model.go`, `ObjectsAndPropertiesFromBundle`), but without
/// `olm.bundle.object`, which is the objects themselves.
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
        if let Err(error) = catalog.take_property(kind, value) {
            let mut reader = Reader::new(origins.of_property(place), findings);
            reader.invalid(format!("a property {}: {error}", excerpt::cut(kind)));
        }
    }
    for Dependency { kind, value } in dependencies {
        if let Err(error) = catalog.take_dependency(kind, value) {
            let mut reader = Reader::new(origins.dependencies, findings);
            reader.invalid(format!("a dependency {}: {error}", excerpt::cut(kind)));
        }
    }
    catalog.into_properties()
}

/// The properties of a catalog in the making.
struct Catalog {
    package: String,
    provided: BTreeSet<Gvk>,
    required: BTreeSet<Gvk>,
    others: Vec<Property>,
}

impl Catalog {
    fn take_property(&mut self, kind: &str, value: &str) -> Result<(), String> {
        match kind {
            GVK => self.provided.extend([Gvk::read(value)?]),
            // The last one wins, and there is always one.
            PACKAGE => self.package = read_package(value)?,
            _ => self.others.push(property(kind, value.to_owned())),
        }
        Ok(())
    }

    fn take_dependency(&mut self, kind: &str, value: &str) -> Result<(), String> {
        match kind {
            GVK => self.required.extend([Gvk::read(value)?]),
            PACKAGE => self.others.push(property(PACKAGE_REQUIRED, required_package(value)?)),
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
        let fields = fields_of(value)?;
        let text = |name| text_of(&fields, name);
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
    let fields = fields_of(value)?;
    Ok(to_plain_json(&Package {
        name: &text_of(&fields, "packageName")?,
        version: &text_of(&fields, "version")?,
        release: &text_of(&fields, "release")?,
    }))
}

fn required_package(value: &str) -> Result<String, String> {
    let fields = fields_of(value)?;
    // The release is read as upstream reads it, into the same type, and then left out.
    text_of(&fields, "release")?;
    Ok(to_plain_json(&PackageRequired {
        name: &text_of(&fields, "packageName")?,
        range: &text_of(&fields, "version")?,
    }))
}
