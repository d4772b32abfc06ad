//! Metas as `opm render` writes them.

mod bundle;

pub use bundle::{Error as BundleError, Rendered, Source, Summary, bundle};

use std::collections::HashSet;
use std::fmt::Write as _;

use unlade_bundle::typed::field;
use unlade_yaml::{
    Limits,
    json::{Kind, Tree, Value},
};

use crate::{
    BUNDLE, Meta,
    meta::{items, properties, text},
    object,
    record::{BUNDLE_OBJECT, CSV_METADATA},
    shape::{self, Shape, format_path},
};

/// Which older forms of metas are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Migration {
    /// No form is replaced.
    #[default]
    None,
    /// The objects of a bundle with an image become an `olm.csv.metadata` property, which catalogs
    /// for OpenShift 4.17 and later have.
    CsvMetadata,
}

/// The reason why the ClusterServiceVersion of a bundle cannot be migrated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} of the ClusterServiceVersion {problem}")]
#[non_exhaustive]
pub struct Error {
    /// The path of the value in the ClusterServiceVersion.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Returns the compact JSON of a meta, as `opm render` writes it (operator-registry
/// `alpha/action/render.go`). It differs from [`Meta::to_json`] for bundles: the properties
/// `olm.bundle.object` and `olm.csv.metadata` are after the others, and the related images are
/// sorted.
///
/// # Errors
///
/// Returns an error if the ClusterServiceVersion of a bundle to be migrated has a value of the
/// wrong type.
pub fn render(meta: &Meta, migration: Migration, limits: &Limits) -> Result<String, Error> {
    if meta.schema != BUNDLE {
        return Ok(meta.to_json());
    }
    let bundle = meta.value();
    let metadata = match migration {
        Migration::None => None,
        Migration::CsvMetadata => migrate(bundle, limits)?,
    };
    let mut json = String::new();
    shape::write_fields(shape::BUNDLE.fields(), &mut json, |field, out| match field.name {
        "properties" => write_properties(bundle, metadata.as_deref(), out),
        "relatedImages" => write_list(&related_images(bundle), out, |image, out| {
            shape::write(Some(*image), &shape::RELATED_IMAGE, out);
        }),
        _ => shape::write_field(Some(bundle), field, out),
    });
    Ok(json)
}

/// Appends the properties in the order of `moveBundleObjectsToEndOfPropertySlices`. `metadata`
/// replaces the objects. Returns false if the list is empty.
fn write_properties(bundle: Value<'_>, metadata: Option<&str>, out: &mut String) -> bool {
    let (mut others, mut objects) = (Vec::new(), Vec::new());
    for property in items(bundle, "properties") {
        match text(property, "type").as_str() {
            BUNDLE_OBJECT if metadata.is_some() => {}
            BUNDLE_OBJECT | CSV_METADATA => objects.push(property),
            _ => others.push(property),
        }
    }
    others.append(&mut objects);
    out.push('[');
    write_items(&others, out, |property, out| {
        shape::write(Some(*property), &shape::PROPERTY, out);
    });
    if let Some(json) = metadata {
        let separator = if others.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        _ = write!(out, r#"{separator}{{"type":"{CSV_METADATA}","value":{json}}}"#);
    }
    out.push(']');
    !others.is_empty() || metadata.is_some()
}

/// Returns the related images in the order of their references. Equal references keep their order;
/// upstream's sorting is not stable.
fn related_images(bundle: Value<'_>) -> Vec<Value<'_>> {
    let mut images: Vec<_> = items(bundle, "relatedImages").collect();
    images.sort_by_cached_key(|image| text(*image, "image"));
    images
}

/// Appends a list, whose items `write` appends. Returns false if the list is empty.
fn write_list<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) -> bool {
    out.push('[');
    write_items(items, out, write);
    out.push(']');
    !items.is_empty()
}

/// Appends items with commas between them.
fn write_items<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        write(item, out);
    }
}

/// Returns the value of the `olm.csv.metadata` property to which the objects of a bundle are
/// migrated (operator-registry `alpha/action/migrations`). Returns `None` if the bundle is left as
/// it is: it has no image, no ClusterServiceVersion, or already such a property.
fn migrate(bundle: Value<'_>, limits: &Limits) -> Result<Option<String>, Error> {
    let is_migrated = items(bundle, "properties").any(|it| text(it, "type") == CSV_METADATA);
    if text(bundle, "image").is_empty() || is_migrated {
        return Ok(None);
    }
    find_csv(bundle, limits).map(|csv| csv_metadata(csv.root())).transpose()
}

/// Returns the value of the `olm.csv.metadata` property of a ClusterServiceVersion.
fn csv_metadata(csv: Value<'_>) -> Result<String, Error> {
    let (metadata, spec) = (field(csv, "metadata"), field(csv, "spec"));
    for (name, value) in [("metadata", metadata), ("spec", spec)] {
        if value.is_some_and(|value| value.kind() != Kind::Object) {
            return Err(Error { path: name.to_owned(), problem: "is not a mapping".to_owned() });
        }
    }
    let mut failed = None;
    let mut json = String::new();
    shape::write_fields(shape::METADATA.fields(), &mut json, |target, out| {
        let (parent, parent_name, name) = match target.name {
            "annotations" | "labels" => (metadata, "metadata", target.name),
            "crdDescriptions" => (spec, "spec", "customresourcedefinitions"),
            name => (spec, "spec", name),
        };
        let value = parent.and_then(|parent| field(parent, name));
        if let Some(error) = misfit(value, &target.shape, &format!("{parent_name}.{name}")) {
            failed.get_or_insert(error);
            return false;
        }
        shape::write_value(value, target, out)
    });
    failed.map_or(Ok(json), Err)
}

fn misfit(value: Option<Value<'_>>, shape: &Shape, path: &str) -> Option<Error> {
    let (below, problem) = shape::compare(value?, shape, &[]).misfits.into_iter().next()?;
    let below = format_path(&below);
    let separator = if below.is_empty() || below.starts_with('[') { "" } else { "." };
    Some(Error { path: format!("{path}{separator}{below}"), problem })
}

/// Returns the first object of a bundle whose kind is ClusterServiceVersion.
pub(crate) fn find_csv(bundle: Value<'_>, limits: &Limits) -> Option<Tree> {
    let objects = properties(bundle).filter(|(kind, _)| kind == BUNDLE_OBJECT);
    // Aliases can repeat an object thousands of times.
    let mut seen = HashSet::new();
    objects.filter_map(|(_, value)| value).find_map(|value| {
        // The object that one without data repeats was not a ClusterServiceVersion, or it would
        // have been found.
        let data = object::data(value)?;
        let tree = if seen.contains(&data) { None } else { object::read(&data, limits) };
        seen.insert(data);
        tree.filter(|tree| object::is_csv(tree.root()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Limits};
    use std::{cell::RefCell, iter};
    use unlade_yaml::base64;

    /// Returns the kind of what [`find_csv`] finds in objects with these fields.
    fn find(objects: impl Iterator<Item = String>) -> Option<String> {
        let objects: Vec<_> = objects
            .map(|fields| format!(r#"{{"type":"{BUNDLE_OBJECT}","value":{{{fields}}}}}"#))
            .collect();
        let json = format!(
            r#"{{"schema":"{BUNDLE}","name":"b","package":"p","image":"i","properties":[{}]}}"#,
            objects.join(",")
        );
        let limits = Limits::default();
        let found = RefCell::new(None);
        File::read_each("c.json", json.as_bytes(), &limits, |meta, _| {
            let tree = find_csv(meta.value(), &limits.document);
            *found.borrow_mut() = Some(tree.map(|tree| text(tree.root(), "kind")));
        });
        found.into_inner().unwrap()
    }

    fn data(text: &str) -> String {
        format!(r#""data":"{}""#, base64::encode(text.as_bytes()))
    }

    #[test]
    fn objects_without_data_do_not_hide_the_csv() {
        let csv = data("kind: ClusterServiceVersion");
        let (other, none, null) = (data("kind: Other"), String::new(), "\"data\":null".to_owned());
        for (objects, is_found) in [
            (vec![none.clone(), other.clone(), none.clone(), csv.clone()], true),
            (vec![other.clone(), null.clone(), none.clone()], false),
            (vec![csv, null, none], true),
        ] {
            assert_eq!(find(objects.into_iter()).is_some(), is_found);
        }
    }

    /// Decoding the data again for each of the objects would take hours.
    #[test]
    fn objects_without_data_are_not_decoded_again() {
        let large = data(&format!("a: [{}0]", "0, ".repeat(200_000)));
        let empty = iter::repeat_n(String::new(), 50_000);
        assert_eq!(find(iter::once(large).chain(empty)), None);
    }
}
