//! Derives properties from the package and the APIs of a bundle, and the properties in a catalog.

use std::collections::{BTreeSet, HashSet};

use unlade_bundle::{
    Api, Dependency, Findings, Property,
    property::{GVK, Gvk, Malformed, PACKAGE, Package, PackageRequired},
    typed::Reader,
};
use unlade_text::excerpt;

/// The values that properties are derived from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Basis<'a> {
    /// The package. Its name is empty if no property is derived from it.
    pub(crate) package: &'a Package,
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

/// Returns all properties without duplicates, in upstream's order (operator-registry
/// `pkg/registry/parse.go`): those of properties.yaml, the package, those of the CSV's annotation,
/// and the provided APIs.
pub(crate) fn derive(
    file_properties: Vec<Property>,
    annotation_properties: Vec<Property>,
    basis: Basis<'_>,
) -> Vec<Property> {
    let mut properties = file_properties;
    if !basis.package.name.is_empty() {
        properties.push(basis.package.to_property().escape_html());
    }
    properties.extend(annotation_properties);
    let gvk = |api| Gvk::from(api).to_property().escape_html();
    properties.extend(basis.provided.iter().map(gvk));
    let mut seen = HashSet::new();
    let is_first: Vec<_> = properties.iter().map(|property| seen.insert(property)).collect();
    let mut is_first = is_first.into_iter();
    properties.retain(|_| is_first.next().unwrap_or_default());
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
        package: basis.package.clone(),
        provided: basis.provided.iter().map(Gvk::from).collect(),
        required: basis.required.iter().map(Gvk::from).collect(),
        others: Vec::new(),
    };
    for (place, property) in properties.iter().enumerate() {
        if let Err(error) = catalog.add_property(property) {
            let mut reader = Reader::new(origins.property_key(place), findings);
            let kind = excerpt::shorten(&property.kind);
            reader.invalid(format!("the property {kind} is not valid: {error}"));
        }
    }
    for dependency in dependencies {
        if let Err(error) = catalog.add_dependency(dependency) {
            let mut reader = Reader::new(origins.dependencies, findings);
            let kind = excerpt::shorten(&dependency.kind);
            reader.invalid(format!("the dependency {kind} is not valid: {error}"));
        }
    }
    catalog.into_properties()
}

/// A builder for the properties in a catalog.
struct Catalog {
    package: Package,
    provided: BTreeSet<Gvk>,
    required: BTreeSet<Gvk>,
    others: Vec<Property>,
}

impl Catalog {
    fn add_property(&mut self, property: &Property) -> Result<(), Malformed> {
        match property.kind.as_str() {
            GVK => self.provided.extend([Gvk::parse(&property.value)?]),
            // The last one takes precedence. The derived one guarantees that one exists.
            PACKAGE => self.package = Package::parse(&property.value)?,
            _ => self.others.push(property.clone()),
        }
        Ok(())
    }

    fn add_dependency(&mut self, Dependency { kind, value }: &Dependency) -> Result<(), Malformed> {
        match kind.as_str() {
            GVK => self.required.extend([Gvk::parse(value)?]),
            PACKAGE => {
                // Upstream checks the type of the release, and then leaves it out.
                let Package { name, version, .. } = Package::parse(value)?;
                self.others.push(PackageRequired { name, range: version }.to_property());
            }
            _ => self.others.push(Property { kind: kind.clone(), value: value.clone() }),
        }
        Ok(())
    }

    fn into_properties(self) -> Vec<Property> {
        let mut properties = self.others;
        properties.push(self.package.to_property());
        properties.extend(self.provided.iter().map(Gvk::to_property));
        properties.extend(self.required.iter().map(Gvk::to_required_property));
        properties.sort();
        properties
    }
}
