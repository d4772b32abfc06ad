//! The manifest with which krew installs `kubectl-unlade`.

use serde_json::{Value, json};

use crate::dist::Architecture;

/// The name of the program in the archive.
const PLUGIN: &str = "kubectl-unlade";

/// An archive for one architecture of Linux.
#[derive(Debug)]
pub(super) struct Archive {
    pub(super) architecture: Architecture,
    pub(super) url: String,
    /// The digest of the archive, as 64 hexadecimal digits.
    pub(super) sha256: String,
    /// The directory that contains everything else in the archive.
    pub(super) directory: String,
}

/// Returns the manifest, as YAML.
pub(super) fn manifest(version: &str, repository: &str, archives: &[Archive]) -> String {
    let platforms: Vec<_> = archives.iter().map(platform).collect();
    unlade_yaml::write(&json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "unlade"},
        "spec": {
            "version": format!("v{version}"),
            "homepage": repository,
            "shortDescription": "Unpack operator bundles (OLM)",
            "description": "Unpacks operator bundles into ConfigMaps, without a cluster or with a \
                            Job,\nloads them, and reports what OLM would silently drop.\n",
            "platforms": platforms,
        },
    }))
}

fn platform(archive: &Archive) -> Value {
    let Archive { architecture, url, sha256, directory } = archive;
    let file = |name: &str| json!({"from": format!("{directory}/{name}"), "to": "."});
    json!({
        "selector": {"matchLabels": {"os": "linux", "arch": architecture.name()}},
        "uri": url,
        "sha256": sha256,
        "files": [file(PLUGIN), file("LICENSE"), file("THIRD-PARTY")],
        "bin": PLUGIN,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    /// The fields that krew knows (`pkg/index/types.go`). It refuses all others.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Plugin {
        api_version: String,
        kind: String,
        metadata: Metadata,
        spec: Spec,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Metadata {
        name: String,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Spec {
        version: String,
        homepage: String,
        short_description: String,
        description: String,
        platforms: Vec<Platform>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Platform {
        selector: Selector,
        uri: String,
        sha256: String,
        files: Vec<File>,
        bin: String,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Selector {
        match_labels: BTreeMap<String, String>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        from: String,
        to: String,
    }

    #[test]
    fn the_manifest_has_what_krew_requires_and_nothing_that_it_does_not_know() {
        let archives = [Architecture::Amd64, Architecture::Arm64].map(|architecture| Archive {
            architecture,
            url: "https://example.com/v1.2.3/it.tar.gz".to_owned(),
            sha256: "0".repeat(64),
            directory: "unlade-1.2.3".to_owned(),
        });
        let yaml = manifest("1.2.3", "https://example.com", &archives);
        let json = unlade_yaml::to_json(yaml.as_bytes(), &unlade_yaml::Limits::default()).unwrap();
        let Plugin { api_version, kind, metadata, spec } = serde_json::from_str(&json).unwrap();
        assert_eq!(api_version, "krew.googlecontainertools.github.com/v1alpha2");
        assert_eq!((kind.as_str(), metadata.name.as_str()), ("Plugin", "unlade"));
        assert_eq!(
            (spec.version.as_str(), spec.homepage.as_str()),
            ("v1.2.3", "https://example.com")
        );
        assert!(!spec.short_description.contains('\n') && !spec.description.is_empty());
        let architectures = spec.platforms.iter().map(|it| &it.selector.match_labels["arch"]);
        assert_eq!(architectures.collect::<Vec<_>>(), ["amd64", "arm64"]);
        for Platform { selector, uri, sha256, files, bin } in spec.platforms {
            assert_eq!(selector.match_labels["os"], "linux");
            // Text, although it looks like a number.
            assert_eq!((uri.as_str(), sha256.len()), ("https://example.com/v1.2.3/it.tar.gz", 64));
            assert!(files.iter().any(|file| file.from.ends_with(&bin) && file.to == "."));
        }
    }
}
