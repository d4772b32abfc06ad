//! The directory `manifests/` of the repository, as users use it: from their own kustomizations.

#![expect(clippy::panic, reason = "a harness: a manifest that cannot be built must fail the test")]

use std::fs;
use std::path::{Component, Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use unlade_testbed::Kubectl;
use unlade_yaml as yaml;

/// The name of the tool image in the manifests.
pub const UNPACKER: &str = "registry.example/unlade-unpacker";
/// The name of the image that also serves catalogs.
pub const OPM: &str = "registry.example/unlade-opm";
/// The name of the bundle image in the manifests.
pub const BUNDLE: &str = "registry.example/bundle";

/// A directory with kustomizations that refer to `manifests/` of the repository.
#[derive(Debug)]
pub struct Overlay(TempDir);

impl Overlay {
    /// Creates a directory with one kustomization, as YAML or JSON.
    ///
    /// # Panics
    ///
    /// Panics if a file cannot be written.
    pub fn new(kustomization: &str) -> Self {
        let overlay = Self(tempfile::tempdir().unwrap_or_else(|error| panic!("{error}")));
        overlay.write("kustomization.yaml", kustomization);
        overlay
    }

    /// Creates a directory with several kustomizations, which are built together.
    ///
    /// # Panics
    ///
    /// Panics if a file cannot be written.
    pub fn all(kustomizations: &[Value]) -> Self {
        let directories: Vec<_> = (0..kustomizations.len()).map(|at| at.to_string()).collect();
        let overlay = Self::new(&json!({"resources": directories}).to_string());
        for (directory, kustomization) in directories.iter().zip(kustomizations) {
            overlay.write(&format!("{directory}/kustomization.yaml"), &kustomization.to_string());
        }
        overlay
    }

    /// Writes another file into the directory, such as one that a kustomization names.
    ///
    /// # Panics
    ///
    /// Panics if a file cannot be written.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).unwrap_or_else(|error| panic!("{error}"));
        let manifests = relative(directory);
        // Behind a dash of YAML, or as the beginning of a string of JSON.
        let text = text.replace("- manifests/", &format!("- {manifests}/"));
        let text = text.replace("\"manifests/", &format!("\"{manifests}/"));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Returns the path for `kubectl apply --kustomize`.
    ///
    /// # Panics
    ///
    /// Panics if the name of the temporary directory is not UTF-8.
    pub fn path(&self) -> &str {
        let path = self.0.path();
        path.to_str().unwrap_or_else(|| panic!("{} is not UTF-8", path.display()))
    }

    /// Builds the objects with kubectl.
    ///
    /// # Panics
    ///
    /// Panics if the objects cannot be built.
    pub fn build(&self, kubectl: &Kubectl) -> Vec<Value> {
        let text = self.try_build(kubectl).unwrap_or_else(|error| panic!("{error}"));
        let objects = text.split("\n---\n").map(|document| {
            let json = yaml::to_json(document.as_bytes(), &yaml::Limits::default());
            let json = json.unwrap_or_else(|error| panic!("{error}: {document}"));
            serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
        });
        objects.collect()
    }

    /// Builds the objects with kubectl, as YAML.
    ///
    /// # Errors
    ///
    /// Returns the message of kubectl if the objects cannot be built.
    pub fn try_build(&self, kubectl: &Kubectl) -> Result<String, unlade_testbed::Error> {
        kubectl.run(["kustomize", self.path()])
    }
}

/// Returns the `images` of a kustomization: each name, and the image with its digest that replaces
/// it.
pub fn images<const N: usize>(images: [(&str, &str); N]) -> Value {
    let images = images.iter().map(|(name, image)| {
        let (new_name, digest) = image.split_once('@').unwrap_or((image, ""));
        json!({"name": name, "newName": new_name, "digest": digest})
    });
    images.collect()
}

/// Returns the relative path to `manifests/` from a directory, because kustomize accepts no
/// absolute path.
fn relative(directory: &Path) -> String {
    let real = |path: &Path| {
        fs::canonicalize(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let depth =
        real(directory).components().filter(|it| matches!(it, Component::Normal(_))).count();
    let manifests = real(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests"));
    format!("{}{}", "../".repeat(depth), manifests.display().to_string().trim_start_matches('/'))
}
