//! Fills a [`Bundle`] from its CSV, its annotations and its metadata.

use std::{
    collections::{BTreeSet, HashSet},
    mem,
};

use unlade_bundle::{Finding, Findings, Reason};
use unlade_text::excerpt;

use crate::{
    Api, Bundle, Definition, Dependency, Property,
    channel::Channels,
    constraint::{Constraint, Rule},
    csv::{self, Csv},
    metadata::Metadata,
    object::Objects,
    property::{self, Basis, Origins},
    typed::Reader,
    version::{self, Range},
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
        channel_name: channels.name().to_owned(),
        channels: channels.list.clone(),
        default_channel: channels.default.clone(),
        dependencies: mem::take(&mut metadata.dependencies),
        ..Bundle::default()
    };
    let mut csv = Csv::default();
    let mut key = "";
    if let Some(chosen) = &objects.csv {
        key = &chosen.key;
        csv = csv::read(key, &chosen.tree, findings);
        bundle.csv_name.clone_from(&chosen.name);
        bundle.csv_json = chosen.tree.root().to_json();
        // Go's encoder ends with a newline.
        bundle.csv_json.push('\n');
    }
    let annotation_properties = match &csv.properties {
        Some(text) => property::from_annotation(text, &mut Reader::new(key, findings)),
        None => Vec::new(),
    };
    fill_from_csv(&mut bundle, csv, objects, key, findings);

    let origins = Origins {
        csv: key,
        dependencies: metadata.sources.dependencies.unwrap_or(key),
        properties: metadata.sources.properties.unwrap_or(key),
        n_from_file: metadata.properties.iter().collect::<HashSet<_>>().len(),
    };
    let has_csv = objects.csv.is_some();
    let basis = Basis {
        package: if has_csv { &bundle.package_name } else { "" },
        version: &bundle.version,
        release: &bundle.release,
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
    required.extend(csv.api_services.required.iter().cloned().map(Api::from_service));
    let mut provided: BTreeSet<_> = objects.provided.iter().cloned().collect();
    provided.extend(csv.api_services.owned.iter().cloned().map(Api::from_service));
    check_versions(&csv, &mut reader);
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

fn check_versions(csv: &Csv, reader: &mut Reader<'_>) {
    if !csv.version.is_empty()
        && let Err(error) = version::parse(&csv.version)
    {
        reader.invalid(format!("spec.version: {error}"));
    }
    if !csv.skip_range.is_empty()
        && let Err(error) = csv.skip_range.parse::<Range>()
    {
        let range = excerpt::shorten(&csv.skip_range);
        let hint =
            if has_v_prefix(&csv.skip_range) { ": write versions without the v" } else { "" };
        reader.invalid(format!(
            "OLM ignores the annotation olm.skipRange \"{range}\" and skips no version: {error}{hint}"
        ));
    }
}

/// Whether a version in `range` starts with `v`, as git tags often do.
fn has_v_prefix(range: &str) -> bool {
    let bytes = range.as_bytes();
    let at = |place: usize| bytes.get(place).copied().unwrap_or_default();
    (0..bytes.len()).any(|place| {
        let is_start = place == 0 || !at(place - 1).is_ascii_alphanumeric();
        is_start && at(place) == b'v' && at(place + 1).is_ascii_digit()
    })
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
            Err(error) if !matches!(kind.as_str(), property::GVK | property::PACKAGE) => {
                reader.invalid(format!("{}: {error}", excerpt::shorten(kind)));
            }
            _ => {}
        }
    }
}

fn check_ranges(kind: &str, constraint: &Constraint, reader: &mut Reader<'_>) {
    let mut open = vec![constraint];
    while let Some(Constraint { rule, .. }) = open.pop() {
        match rule {
            Rule::Package { name, range } => {
                if let Err(error) = range.parse::<Range>() {
                    let name = excerpt::shorten(name);
                    reader.invalid(format!("{} of `{name}`: {error}", excerpt::shorten(kind)));
                }
            }
            Rule::All(inner) | Rule::Any(inner) | Rule::Not(inner) => open.extend(inner),
            Rule::Gvk { .. } | Rule::Label(_) | Rule::Cel(_) => {}
        }
    }
}

impl Api {
    fn from_service(Definition { group, kind, name, version }: Definition) -> Self {
        Self { group, version, kind, plural: name }
    }

    /// Returns the API of a CRD that a CSV lists. The name of the CRD contains the group.
    fn from_crd(crd: &Definition, reader: &mut Reader<'_>) -> Option<Self> {
        let Some((plural, group)) = crd.name.split_once('.') else {
            let name = excerpt::shorten(&crd.name);
            reader.invalid(format!(
                "the name `{name}` of a CRD does not have the form <plural>.<group>"
            ));
            return None;
        };
        Some(Self {
            group: group.to_owned(),
            version: crd.version.clone(),
            kind: crd.kind.clone(),
            plural: plural.to_owned(),
        })
    }
}
