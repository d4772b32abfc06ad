//! `manifests/` of the repository, as people use it: by kustomizations of their own.

#![expect(clippy::panic, reason = "a harness: a manifest that can't be built must fail the test")]

use std::fs;
use std::path::{Component, Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use unlade_testbed::Kubectl;
use unlade_yaml as yaml;

/// The image of the unpacker in them.
pub const UNPACKER: &str = "registry.example/unlade-unpacker";
/// The image of the bundle in them.
pub const BUNDLE: &str = "registry.example/bundle";

/// A folder with kustomizations, in which `manifests/` stands for that folder of the repository.
#[derive(Debug)]
pub struct Overlay(TempDir);

impl Overlay {
    /// Of one kustomization, as YAML or JSON.
    ///
    /// # Panics
    ///
    /// If it can't be written.
    pub fn new(kustomization: &str) -> Self {
        let overlay = Self(tempfile::tempdir().unwrap_or_else(|error| panic!("{error}")));
        overlay.write("kustomization.yaml", kustomization);
        overlay
    }

    /// Of several, which are built together.
    ///
    /// # Panics
    ///
    /// If they can't be written.
    pub fn all(kustomizations: &[Value]) -> Self {
        let folders: Vec<_> = (0..kustomizations.len()).map(|at| at.to_string()).collect();
        let overlay = Self::new(&json!({"resources": folders}).to_string());
        for (folder, kustomization) in folders.iter().zip(kustomizations) {
            overlay.write(&format!("{folder}/kustomization.yaml"), &kustomization.to_string());
        }
        overlay
    }

    /// Puts a file into it, such as one that a kustomization names.
    ///
    /// # Panics
    ///
    /// If it can't be written.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{error}"));
        let manifests = relative(folder);
        // Behind a dash of YAML, or as the beginning of a string of JSON.
        let text = text.replace("- manifests/", &format!("- {manifests}/"));
        let text = text.replace("\"manifests/", &format!("\"{manifests}/"));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// For `kubectl apply --kustomize`.
    ///
    /// # Panics
    ///
    /// If the folder for temporary files has a name that isn't UTF-8.
    pub fn path(&self) -> &str {
        let path = self.0.path();
        path.to_str().unwrap_or_else(|| panic!("{} is not UTF-8", path.display()))
    }

    /// What kubectl makes of it.
    ///
    /// # Panics
    ///
    /// If it can't be built.
    pub fn build(&self, kubectl: &Kubectl) -> Vec<Value> {
        let text = self.try_build(kubectl).unwrap_or_else(|error| panic!("{error}"));
        let objects = text.split("\n---\n").map(|document| {
            let json = yaml::to_json(document.as_bytes(), &yaml::Limits::default());
            let json = json.unwrap_or_else(|error| panic!("{error}: {document}"));
            serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
        });
        objects.collect()
    }

    /// What kubectl makes of it, as YAML.
    ///
    /// # Errors
    ///
    /// Kubectl's words if it can't be built.
    pub fn try_build(&self, kubectl: &Kubectl) -> Result<String, unlade_testbed::Error> {
        kubectl.run(["kustomize", self.path()])
    }
}

/// The images of a kustomization: each name, and the image with its digest that stands for it.
pub fn images<const N: usize>(images: [(&str, &str); N]) -> Value {
    let images = images.iter().map(|(name, image)| {
        let (new_name, digest) = image.split_once('@').unwrap_or((image, ""));
        json!({"name": name, "newName": new_name, "digest": digest})
    });
    images.collect()
}

/// The way to `manifests/` from a folder: kustomize takes no absolute one.
fn relative(folder: &Path) -> String {
    let real = |path: &Path| {
        fs::canonicalize(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let depth = real(folder).components().filter(|it| matches!(it, Component::Normal(_))).count();
    let manifests = real(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests"));
    format!("{}{}", "../".repeat(depth), manifests.display().to_string().trim_start_matches('/'))
}
