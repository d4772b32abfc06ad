//! Reads the files of a catalog into an [`Index`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message as _;
use semver::Version;
use unlade_bundle::property::Gvk;
use unlade_catalog::{
    self as catalog, BUNDLE, CHANNEL, Catalog, DEPRECATIONS, Meta, PACKAGE, Place, ServedBundle,
    ServedCsv, ServedPackage, graph,
};
use unlade_catalog_directory as directory;

use super::Error;
use crate::content::{Span, Writer};
use crate::index::{Bundle, Channel, Csv, Entry, Index, Package, Records};
use crate::message;

/// Reads the catalog at `path`, and writes its texts to `file`, which is empty.
pub(super) fn parse(path: &Path, file: File, limits: &directory::Limits) -> Result<Index, Error> {
    let loading = Mutex::new(Loading::new(Writer::new(file)));
    let visit = |meta: Meta, place: &Place| {
        let part = Part::new(&meta, place, &limits.catalog);
        let loading = &mut *loading.lock().unwrap_or_else(PoisonError::into_inner);
        if loading.failure.is_none() {
            let added = part.and_then(|part| loading.add(part).map_err(Error::Write));
            loading.failure = added.err();
        }
    };
    let reading = directory::validate_and_visit(path, limits, visit)?;
    super::check(reading.problems)?;
    let loading = loading.into_inner().unwrap_or_else(PoisonError::into_inner);
    match loading.failure {
        Some(error) => Err(error),
        None => loading.finish(reading.catalog).map_err(Error::Write),
    }
}

/// The part of a meta that the index keeps.
enum Part {
    Package {
        name: String,
        served: ServedPackage,
    },
    Bundle {
        key: (String, String),
        summary: Vec<u8>,
        served: Box<ServedBundle>,
    },
    Other {
        key: (String, String),
        place: Place,
        json: String,
    },
    /// A channel or deprecations, which the records already contain.
    Record,
}

impl Part {
    fn new(meta: &Meta, place: &Place, limits: &catalog::Limits) -> Result<Self, Error> {
        Ok(match meta.schema.as_str() {
            PACKAGE => Self::Package { name: meta.name.clone(), served: ServedPackage::new(meta) },
            BUNDLE => {
                let mut served = Box::new(ServedBundle::new(meta, &limits.document)?);
                let key = (meta.package.clone(), meta.name.clone());
                Self::Bundle { key, summary: summarize(meta, &mut served), served }
            }
            CHANNEL | DEPRECATIONS => Self::Record,
            _ => Self::Other {
                key: (meta.schema.clone(), meta.package.clone()),
                place: place.clone(),
                json: meta.blob(),
            },
        })
    }
}

/// Encodes what does not depend on a channel, without the objects and the ClusterServiceVersion.
fn summarize(meta: &Meta, served: &mut ServedBundle) -> Vec<u8> {
    let api = |gvk: &Gvk| message::GroupVersionKind {
        group: gvk.group.clone(),
        version: gvk.version.clone(),
        kind: gvk.kind.clone(),
        plural: String::new(),
    };
    let dependencies = std::mem::take(&mut served.dependencies).into_iter();
    let properties = std::mem::take(&mut served.properties).into_iter();
    let summary = message::Bundle {
        csv_name: meta.name.clone(),
        package_name: meta.package.clone(),
        bundle_path: served.image.clone(),
        provided_apis: served.provided_apis.iter().map(api).collect(),
        required_apis: served.required_apis.iter().map(api).collect(),
        version: served.version.clone(),
        dependencies: dependencies
            .map(|it| message::Dependency { r#type: it.kind, value: it.value })
            .collect(),
        properties: properties
            .map(|it| message::Property { r#type: it.kind, value: it.value })
            .collect(),
        ..message::Bundle::default()
    };
    summary.encode_to_vec()
}

struct Loading {
    writer: Writer,
    /// The first failure.
    failure: Option<Error>,
    /// The description and the icon of each package.
    packages: BTreeMap<String, (Span, Span)>,
    /// The bundles by package and name.
    bundles: BTreeMap<(String, String), Bundle>,
    others: Vec<((String, String), Place, Span)>,
}

impl Loading {
    fn new(writer: Writer) -> Self {
        Self {
            writer,
            failure: None,
            packages: BTreeMap::new(),
            bundles: BTreeMap::new(),
            others: Vec::new(),
        }
    }

    fn add(&mut self, part: Part) -> io::Result<()> {
        match part {
            Part::Record => {}
            Part::Package { name, served } => {
                let description = self.writer.append(&served.description)?;
                let icon = self.writer.append(&served.icon)?;
                self.packages.insert(name, (description, icon));
            }
            Part::Bundle { key, summary, served } => {
                let objects = self.append_objects(&served.objects)?;
                let csv = match served.csv {
                    ServedCsv::Object(index) => Csv::Object(index),
                    ServedCsv::Synthesized { before, has_package_description, between, after } => {
                        Csv::Synthesized {
                            before: self.writer.append(before)?,
                            has_package_description,
                            between: self.writer.append(between)?,
                            after: self.writer.append(after)?,
                        }
                    }
                    _ => Csv::None,
                };
                let bundle = Bundle {
                    summary: self.writer.append(summary)?,
                    has_image: !served.image.is_empty(),
                    objects,
                    csv,
                    version: Version::parse(&served.version).unwrap_or(Version::new(0, 0, 0)),
                    release: served.release,
                    provides: served.provided_apis,
                    deprecation: None,
                };
                self.bundles.insert(key, bundle);
            }
            Part::Other { key, place, json } => {
                let json = self.writer.append(json)?;
                self.others.push((key, place, json));
            }
        }
        Ok(())
    }

    /// Appends the objects of a bundle. A text that objects without data share is appended once:
    /// otherwise, a catalog of 500 kB becomes 1.7 GB.
    fn append_objects(&mut self, objects: &[Arc<str>]) -> io::Result<Vec<Span>> {
        let mut spans = Vec::with_capacity(objects.len());
        for shared in objects.chunk_by(Arc::ptr_eq) {
            let Some(object) = shared.first() else { continue };
            let span = self.writer.append(object.as_bytes())?;
            spans.resize(spans.len() + shared.len(), span);
        }
        Ok(spans)
    }

    /// Combines the texts and the records of the catalog.
    fn finish(mut self, catalog: Catalog) -> io::Result<Index> {
        let mut packages: BTreeMap<String, Package> = BTreeMap::new();
        for record in catalog.packages {
            let (description, icon) = self.packages.remove(&record.name).unwrap_or_default();
            let default_channel = record.default_channel;
            let package = Package { default_channel, description, icon, ..Package::default() };
            packages.insert(record.name, package);
        }
        let (mut bundles, mut places) = (Vec::new(), BTreeMap::new());
        for record in catalog.bundles {
            let key = (record.package, record.name);
            let Some(bundle) = self.bundles.remove(&key) else { continue };
            places.insert(key, bundles.len());
            bundles.push(bundle);
        }
        for channel in catalog.channels {
            let Some(package) = packages.get_mut(&channel.package) else { continue };
            let head = graph::heads(&channel.entries).first().copied().unwrap_or_default();
            let head = head.to_owned();
            let entry = |entry: catalog::Entry| {
                let catalog::Entry { name, replaces, skips, skip_range } = entry;
                let key = (channel.package.clone(), name);
                let bundle = *places.get(&key)?;
                Some((key.1, Box::new(Entry { replaces, skips, skip_range, bundle })))
            };
            let entries = channel.entries.into_iter().filter_map(entry).collect();
            package.channels.insert(channel.name, Channel { head, entries, deprecation: None });
        }
        for deprecations in catalog.deprecations {
            let Some(package) = packages.get_mut(&deprecations.package) else { continue };
            for deprecation in deprecations.entries {
                let message = Some(deprecation.message);
                match deprecation.schema.as_str() {
                    PACKAGE => package.deprecation = message,
                    CHANNEL => {
                        if let Some(channel) = package.channels.get_mut(&deprecation.name) {
                            channel.deprecation = message;
                        }
                    }
                    _ => {
                        let key = (deprecations.package.clone(), deprecation.name);
                        let bundle = places.get(&key).and_then(|at| bundles.get_mut(*at));
                        if let Some(bundle) = bundle {
                            bundle.deprecation = message;
                        }
                    }
                }
            }
        }
        self.others.sort_by(|(_, left, _), (_, right, _)| left.cmp(right));
        let mut others: BTreeMap<String, BTreeMap<String, Vec<Span>>> = BTreeMap::new();
        for ((schema, package), _, span) in self.others {
            others.entry(schema).or_default().entry(package).or_default().push(span);
        }
        let content = self.writer.finish()?;
        Ok(Index::new(Records { packages, bundles, others }, content))
    }
}
