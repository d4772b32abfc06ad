//! The parts of the output of `cargo metadata` that several readers use.

use serde::{Deserialize, de::DeserializeOwned};

use crate::command::{Error, capture, cargo};

/// The graph of the packages.
#[derive(Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// A package, and its dependencies.
#[derive(Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `dev`, `build`, or null for a dependency of the library.
    kind: Option<String>,
}

/// Runs `cargo metadata` for these platforms, with every feature on.
pub(crate) fn read<T: DeserializeOwned>(platforms: &[&str]) -> Result<T, Error> {
    let mut metadata = cargo(["metadata", "--format-version=1", "--all-features", "--locked"]);
    metadata.args(platforms.iter().flat_map(|platform| ["--filter-platform", platform]));
    let output = capture(&mut metadata)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|source| Error::Answer { program: "cargo metadata".into(), source })
}

impl Node {
    /// Returns the ids of the dependencies that are neither for tests nor for the build script.
    pub(crate) fn built_from(&self) -> impl Iterator<Item = &str> {
        let is_normal = |edge: &&Edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none());
        self.deps.iter().filter(is_normal).map(|edge| edge.pkg.as_str())
    }
}
