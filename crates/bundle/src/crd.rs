//! Reads the APIs that a CustomResourceDefinition provides.

use unlade_name::MAX_SUBDOMAIN;
use unlade_text::excerpt;
use unlade_yaml::json::{Kind, Value};

use crate::{Api, typed::Reader};

/// The kind of a CustomResourceDefinition.
pub const KIND: &str = "CustomResourceDefinition";

const GROUP: &str = "apiextensions.k8s.io";

/// The maximum number of APIs that the CRDs of a bundle provide. Published bundles have at most 53.
pub const MAX_APIS: usize = 10_000;

/// Reads the APIs of the CRD `root`, at most `max` of them: one for each of its versions, served or
/// not (operator-registry `pkg/registry/bundle.go`, `ProvidedAPIs`). The names of its fields must
/// match exactly, including letter case. `max` is what is left of [`MAX_APIS`]. Reports the APIs
/// that are dropped.
pub fn read_apis(root: Value<'_>, max: usize, reader: &mut Reader<'_>) -> Vec<Api> {
    let api_version = root.get("apiVersion").and_then(|text| text.as_str()).unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if !matches!(version, "v1" | "v1beta1") {
        // Upstream silently skips the CRD and its APIs.
        let version = excerpt::shorten(api_version);
        reader.invalid(format!(
            "the apiVersion {version:?} of the CRD is unknown, so OLM ignores its APIs"
        ));
        return Vec::new();
    }
    if group != GROUP {
        let version = excerpt::shorten(api_version);
        reader.invalid(format!(
            "the apiVersion {version:?} has no CustomResourceDefinition, so OLM ignores its APIs"
        ));
        return Vec::new();
    }
    let Some(spec) = reader.object(root.get("spec"), "spec") else { return Vec::new() };
    let names = reader.object(spec.get("names"), "spec.names");
    let mut name = |key: &str, path: &str| {
        reader.string(names.and_then(|names: Value<'_>| names.get(key)), path)
    };
    let base = Api {
        kind: name("kind", "spec.names.kind"),
        plural: name("plural", "spec.names.plural"),
        group: reader.string(spec.get("group"), "spec.group"),
        version: String::new(),
    };
    // Kubernetes limits all three to the length of a DNS subdomain. Each of them is copied into the
    // API of each version.
    if [&base.kind, &base.plural, &base.group].iter().any(|name| name.len() > MAX_SUBDOMAIN) {
        reader.invalid(format!(
            "the APIs of the CRD are dropped: its group, kind or plural is longer than \
             {MAX_SUBDOMAIN} bytes"
        ));
        return Vec::new();
    }
    let mut apis = Vec::new();
    for item in reader.items(spec.get("versions"), "spec.versions") {
        let version = match item.kind() {
            // Go decodes a null in a list of structs as an empty struct.
            Kind::Null => String::new(),
            _ => match reader.object(Some(item), "spec.versions[]") {
                Some(item) => reader.string(item.get("name"), "spec.versions[].name"),
                None => continue,
            },
        };
        if apis.len() == max {
            report_dropped(reader);
            return apis;
        }
        apis.push(Api { version, ..base.clone() });
    }
    if version == "v1beta1" {
        let version = reader.string(spec.get("version"), "spec.version");
        if !version.is_empty() {
            if apis.len() == max {
                report_dropped(reader);
            } else {
                apis.push(Api { version, ..base });
            }
        }
    }
    apis
}

fn report_dropped(reader: &mut Reader<'_>) {
    reader.invalid(format!(
        "the CRDs of the bundle provide more than {MAX_APIS} APIs: the others are dropped"
    ));
}

#[cfg(test)]
mod tests {
    use unlade_yaml::{Limits, Scalars, read};

    use super::*;
    use crate::finding::Findings;

    #[test]
    fn apis_above_the_maximum_are_dropped_with_a_finding() {
        let read_apis = |spec: &str, max| {
            let text = format!(
                "apiVersion: apiextensions.k8s.io/v1beta1\n\
                 spec: {{group: g, names: {{kind: K, plural: ks}}, {spec}}}"
            );
            let tree = read(text.as_bytes(), Scalars::Resolved, &Limits::default()).unwrap().tree;
            let mut findings = Findings::default();
            let n_apis =
                read_apis(tree.root(), max, &mut Reader::new("crd.yaml", &mut findings)).len();
            (n_apis, findings.count())
        };
        assert_eq!(read_apis("versions: [{name: a}, {name: b}]", 2), (2, 0));
        assert_eq!(read_apis("versions: [{name: a}, {name: b}]", 1), (1, 1));
        assert_eq!(read_apis("version: a", 1), (1, 0));
        assert_eq!(read_apis("version: a", 0), (0, 1));
        assert_eq!(read_apis("version: b, versions: [{name: a}]", 1), (1, 1));
    }
}
