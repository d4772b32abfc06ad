//! [`Source`]: a bundle as an `olm.bundle`.

use std::collections::HashSet;

use unlade_bundle::{Property, typed::field};
use unlade_yaml::{
    base64,
    json::{Tree, Value, quote},
};

use super::{Migration, csv_metadata, write_list};
use crate::{
    BUNDLE,
    meta::{items, text},
    object::is_csv,
    record::{BUNDLE_OBJECT, CSV_METADATA},
    shape,
};

/// The parts of a bundle that a catalog contains.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name of the package, from the annotations.
    pub package: &'a str,
    /// The reference of the image. If it is empty, the catalog contains the objects of the bundle.
    pub image: &'a str,
    /// The properties of the bundle in a catalog, without its objects.
    pub properties: &'a [Property],
    /// The objects in `manifests/`, in the order of their files. Upstream leaves out each
    /// ClusterServiceVersion but the first.
    pub objects: &'a [Tree],
}

/// A rendered bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The compact JSON of the `olm.bundle`.
    pub json: String,
    /// The values that a package takes from the bundle.
    pub summary: Summary,
}

/// The values that the package of a generated catalog takes from the head of its default channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The description. Empty if the ClusterServiceVersion has none.
    pub description: String,
    /// The first icon, as base64, and its media type.
    pub icon: Option<(String, String)>,
}

/// The reason why a bundle cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle has no objects.
    #[error("the bundle has no objects")]
    NoObjects,
    /// The bundle has no ClusterServiceVersion.
    #[error("the bundle has no ClusterServiceVersion")]
    NoCsv,
    /// The annotations do not name the package.
    #[error("the annotations of the bundle do not name its package")]
    NoPackage,
    /// A value of the ClusterServiceVersion has the wrong type.
    #[error(transparent)]
    Csv(#[from] super::Error),
}

/// Renders a bundle as `opm render` does
/// (operator-registry `alpha/action/render.go`, `bundleToDeclcfg`).
///
/// # Errors
///
/// Returns an error if upstream cannot render the bundle. It also refuses a bundle that does not
/// contain the CRDs that its ClusterServiceVersion owns, which this function does not check.
pub fn bundle(source: &Source<'_>, migration: Migration) -> Result<Rendered, Error> {
    if source.objects.is_empty() {
        return Err(Error::NoObjects);
    }
    let mut objects: Vec<_> = source.objects.iter().map(Tree::root).collect();
    let csv = *objects.iter().find(|object| is_csv(**object)).ok_or(Error::NoCsv)?;
    let mut n_csvs = 0;
    objects.retain(|object| {
        n_csvs += usize::from(is_csv(*object));
        !is_csv(*object) || n_csvs == 1
    });
    if source.package.is_empty() {
        return Err(Error::NoPackage);
    }
    let name = csv.get("metadata").map(|metadata| text(metadata, "name")).unwrap_or_default();
    let images = related_images(csv, source.image)?;
    let properties = properties(source, &objects, csv, migration)?;
    // Text that grows is copied, and the objects can be large.
    let sizes = properties.iter().map(|(_, value)| value.len() + 64);
    let size: usize = sizes.chain(images.iter().map(|image| image.len() + 1)).sum();
    let mut json = String::with_capacity(size + 1024);
    shape::write_fields(shape::BUNDLE.fields(), &mut json, |field, out| {
        let value = match field.name {
            "schema" => BUNDLE,
            "name" => &name,
            "package" => source.package,
            "image" => source.image,
            "properties" => return write_list(&properties, out, write_property),
            _ => return write_list(&images, out, |json, out| out.push_str(json)),
        };
        out.push_str(&quote(value));
        !field.is_optional || !value.is_empty()
    });
    Ok(Rendered { json, summary: summarize(csv) })
}

/// Returns the description and the icon of a ClusterServiceVersion. Values of the wrong type are
/// ignored, as in upstream.
fn summarize(csv: Value<'_>) -> Summary {
    let value = |name| csv.get("spec").and_then(|spec| spec.get(name));
    let icons =
        value("icon").filter(|it| shape::compare(*it, &shape::ICONS, &[]).misfits.is_empty());
    let icon = icons.and_then(|icons| icons.items().next()).map(|icon| {
        let mut data = String::new();
        if let Some(value) = field(icon, "base64data") {
            data.push_str(&base64::encode(shape::bytes(value)));
        }
        (data, text(icon, "mediatype"))
    });
    let description =
        value("description").and_then(|it| it.as_str()).unwrap_or_default().to_owned();
    Summary { description, icon }
}

/// Returns the properties, sorted by type and value, with the objects or what replaces them at the
/// end.
fn properties<'s>(
    source: &Source<'s>,
    objects: &[Value<'_>],
    csv: Value<'_>,
    migration: Migration,
) -> Result<Vec<(&'s str, String)>, Error> {
    let mut properties: Vec<(&str, String)> =
        source.properties.iter().map(|it| (it.kind.as_str(), it.value.clone())).collect();
    let has_metadata = properties.iter().any(|(kind, _)| *kind == CSV_METADATA);
    let is_migrated =
        migration == Migration::CsvMetadata && !source.image.is_empty() && !has_metadata;
    if is_migrated {
        properties.retain(|(kind, _)| *kind != BUNDLE_OBJECT);
        properties.push((CSV_METADATA, csv_metadata(csv)?));
    } else {
        properties.extend(objects.iter().map(|object| {
            let data = base64::encode(object.to_json());
            (BUNDLE_OBJECT, [r#"{"data":""#, &data, r#""}"#].concat())
        }));
    }
    properties.sort();
    properties.sort_by_key(|(kind, _)| [BUNDLE_OBJECT, CSV_METADATA].contains(kind));
    Ok(properties)
}

fn write_property((kind, value): &(&str, String), out: &mut String) {
    let value = if value.is_empty() { "null" } else { value };
    let kind = quote(kind);
    out.extend([r#"{"type":"#, &kind, r#","value":"#, value, "}"]);
}

/// Returns the images of the ClusterServiceVersion, of the bundle, and of the deployments, sorted
/// by their references.
fn related_images(csv: Value<'_>, image: &str) -> Result<Vec<String>, Error> {
    let spec = csv.get("spec");
    let listed = spec.and_then(|spec| spec.get("relatedImages"));
    if let Some(error) = super::misfit(listed, &shape::RELATED_IMAGES, "spec.relatedImages") {
        return Err(error.into());
    }
    let mut images: Vec<_> = listed
        .into_iter()
        .flat_map(|images| images.items())
        .map(|it| (text(it, "image"), text(it, "name")))
        .collect();
    let mut others = spec.map(operator_images).unwrap_or_default();
    others.sort();
    others.dedup();
    let listed: HashSet<_> = images.iter().map(|(listed, _)| listed.as_str()).collect();
    others.retain(|image| !listed.contains(image.as_str()));
    if !image.is_empty() && !listed.contains(image) {
        others.insert(0, image.to_owned());
    }
    images.extend(others.into_iter().map(|image| (image, String::new())));
    images.sort_by(|(a, _), (b, _)| a.cmp(b));
    let json = |(image, name): (String, String)| {
        format!(r#"{{"name":{},"image":{}}}"#, quote(&name), quote(&image))
    };
    Ok(images.into_iter().map(json).collect())
}

/// Returns the images of the deployments (operator-registry `pkg/registry/csv.go`,
/// `GetOperatorImages`).
fn operator_images(spec: Value<'_>) -> Vec<String> {
    let install = field(spec, "install");
    if install.is_none_or(|install| text(install, "strategy") != "deployment") {
        return Vec::new();
    }
    let mut images = Vec::new();
    let strategy = install.and_then(|install| field(install, "spec"));
    for deployment in strategy.into_iter().flat_map(|it| items(it, "deployments")) {
        let pod = ["spec", "template", "spec"]
            .into_iter()
            .try_fold(deployment, |value, name| field(value, name));
        for list in ["containers", "initContainers"] {
            images.extend(
                pod.into_iter().flat_map(|pod| items(pod, list)).map(|it| text(it, "image")),
            );
        }
    }
    images
}
