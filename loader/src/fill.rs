//! Fills a [`Bundle`] from its CSV, its annotations and its metadata.

use std::{
    collections::{BTreeSet, HashSet},
    mem,
};

use unlade_bundle::{
    Api, Channels, Constraint, Csv, Definition, Dependency, Finding, Findings, Property, Reason,
    property::{GVK, PACKAGE, Package, PackageRequired},
    typed::Reader,
    version::Range,
};
use unlade_text::excerpt;

use crate::{
    Bundle,
    metadata::Metadata,
    object::Objects,
    property::{self, Basis, Origins},
};

/// Returns the bundle without its objects and its image. Dependencies and properties are moved out
/// of `metadata`.
pub(crate) fn fill(
    objects: &Objects<'_>,
    metadata: &mut Metadata<'_>,
    channels: &Channels,
    findings: &mut Findings,
) -> Bundle {
    let mut bundle = Bundle {
        package_name: channels.package.clone(),
        channel_name: channels.preferred().to_owned(),
        channels: channels.list.clone(),
        default_channel: channels.default.clone(),
        dependencies: mem::take(&mut metadata.dependencies),
        ..Bundle::default()
    };
    let mut csv = Csv::default();
    let mut key = "";
    if let Some(chosen) = &objects.csv {
        key = &chosen.key;
        csv = Csv::read(chosen.tree.root(), &mut Reader::new(key, findings));
        bundle.csv_name.clone_from(&chosen.name);
        bundle.csv_json = chosen.tree.root().to_json();
        // Go's encoder ends with a newline.
        bundle.csv_json.push('\n');
    }
    let annotation_properties = mem::take(&mut csv.properties);
    fill_from_csv(&mut bundle, csv, objects, key, findings);

    let origins = Origins {
        csv: key,
        dependencies: metadata.sources.dependencies.unwrap_or(key),
        properties: metadata.sources.properties.unwrap_or(key),
        n_from_file: metadata.properties.iter().collect::<HashSet<_>>().len(),
    };
    let has_csv = objects.csv.is_some();
    let package = Package {
        name: if has_csv { bundle.package_name.clone() } else { String::new() },
        version: bundle.version.clone(),
        release: bundle.release.clone(),
    };
    let basis = Basis {
        package: &package,
        provided: &bundle.provided_apis,
        required: &bundle.required_apis,
    };
    let properties =
        property::derive(mem::take(&mut metadata.properties), annotation_properties, basis);
    if has_csv {
        bundle.catalog_properties =
            property::catalog(&properties, &bundle.dependencies, basis, &origins, findings);
    }
    check_constraints(&properties, &bundle.dependencies, &origins, findings);
    bundle.properties = properties;
    bundle.properties.sort();
    bundle
}

fn fill_from_csv(
    bundle: &mut Bundle,
    csv: Csv,
    objects: &Objects<'_>,
    key: &str,
    findings: &mut Findings,
) {
    let mut reader = Reader::new(key, findings);
    let mut crds = |definitions: &[Definition]| -> Vec<Api> {
        definitions.iter().filter_map(|crd| Api::from_crd(crd, &mut reader)).collect()
    };
    let owned = crds(&csv.crds.owned);
    let mut required: BTreeSet<_> = crds(&csv.crds.required).into_iter().collect();
    required.extend(csv.api_services.required.iter().map(Api::from_service));
    let mut provided: BTreeSet<_> = objects.provided.iter().cloned().collect();
    provided.extend(csv.api_services.owned.iter().map(Api::from_service));
    csv.check_versions(&mut reader);
    for api in owned.iter().filter(|api| !provided.contains(api)) {
        let message = format!(
            "the CSV owns the CRD of {api}, but the bundle does not contain it: add it to manifests/"
        );
        findings.push(Finding::new(Reason::MissingCrd, key, message));
    }
    bundle.provided_apis = provided.into_iter().collect();
    bundle.required_apis = required.into_iter().collect();
    bundle.version = csv.version;
    bundle.release = csv.release;
    bundle.replaces = csv.replaces;
    bundle.skips = csv.skips;
    bundle.skip_range = csv.skip_range;
    bundle.substitutes_for = csv.substitutes_for;
    bundle.owned_crds = csv.crds.owned;
    bundle.required_crds = csv.crds.required;
    bundle.owned_api_services = csv.api_services.owned;
    bundle.required_api_services = csv.api_services.required;
}

/// Reports constraints that OLM's resolver cannot read. Values of `olm.gvk` and `olm.package` were
/// already checked when the catalog properties were derived.
fn check_constraints(
    properties: &[Property],
    dependencies: &[Dependency],
    origins: &Origins<'_>,
    findings: &mut Findings,
) {
    let property_constraints = properties.iter().enumerate().map(|(place, property)| {
        (origins.property_key(place), &property.kind, property.constraint())
    });
    let dependency_constraints = dependencies
        .iter()
        .map(|dependency| (origins.dependencies, &dependency.kind, dependency.constraint()));
    for (key, kind, constraint) in property_constraints.chain(dependency_constraints) {
        let reader = &mut Reader::new(key, findings);
        match constraint {
            Ok(Some(constraint)) => check_ranges(kind, &constraint, reader),
            Err(error) if !matches!(kind.as_str(), GVK | PACKAGE) => {
                reader.invalid(format!("{}: {error}", excerpt::shorten(kind)));
            }
            _ => {}
        }
    }
}

fn check_ranges(kind: &str, constraint: &Constraint, reader: &mut Reader<'_>) {
    for PackageRequired { name, range } in constraint.packages() {
        if let Err(error) = range.parse::<Range>() {
            let name = excerpt::shorten(name);
            reader.invalid(format!("{} of {name:?}: {error}", excerpt::shorten(kind)));
        }
    }
}
