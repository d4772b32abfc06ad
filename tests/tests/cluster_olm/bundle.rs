//! Bundles that the tests create.

use serde_json::{Value, json};
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer};

/// The file of the ClusterServiceVersion, in the directory of the manifests.
pub(crate) const CSV: &str = "csv.yaml";

/// The version of all bundles.
pub(crate) const VERSION: &str = "1.0.0";

/// Returns the ClusterServiceVersion of an operator without a Deployment.
pub(crate) fn csv(package: &str) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": format!("{package}.v{VERSION}")},
        "spec": {
            "displayName": package,
            "version": VERSION,
            "installModes": [{"type": "OwnNamespace", "supported": true}],
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
        },
    })
}

/// Returns the text of `annotations.yaml`.
pub(crate) fn annotations(package: &str, manifests: &str) -> String {
    let bundle = |key: &str| format!("operators.operatorframework.io.bundle.{key}.v1");
    let annotations = json!({
        bundle("mediatype"): "registry+v1",
        bundle("manifests"): manifests,
        bundle("metadata"): "metadata/",
        bundle("package"): package,
        bundle("channels"): "stable",
    });
    json!({"annotations": annotations}).to_string()
}

/// Returns an image of these files and `annotations.yaml`.
pub(crate) fn image(package: &str, files: impl IntoIterator<Item = (String, String)>) -> Image {
    let mut all =
        vec![Entry::file("metadata/annotations.yaml", annotations(package, "manifests/"))];
    all.extend(files.into_iter().map(|(path, text)| Entry::file(path, text)));
    with_entries(all)
}

/// Returns an image of these entries.
pub(crate) fn with_entries(entries: impl IntoIterator<Item = Entry>) -> Image {
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new(entries));
    image
}

/// Returns a `ConfigMap` of the bundle.
pub(crate) fn config_map(name: &str, text: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"text": text},
    })
    .to_string()
}
