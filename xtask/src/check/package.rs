//! The packages of the build, as `cargo metadata` reports them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{
    command::Error,
    metadata::{self, Resolve},
};

/// A package and its dependencies.
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is a member of the workspace.
    pub(crate) is_member: bool,
    /// The members of the workspace that it names in its manifest, except for tests and build
    /// scripts.
    pub(crate) members: BTreeSet<String>,
    /// All direct and indirect dependencies of its library or program.
    pub(crate) closure: BTreeSet<String>,
}

/// The platforms whose dependencies are checked. Dependencies for others, such as browsers, are
/// ignored.
const PLATFORMS: [&str; 3] =
    ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"];

/// Reads every package of the build, with every feature on.
pub(crate) fn read_all() -> Result<Vec<Package>, Error> {
    let metadata: Metadata = metadata::read(&PLATFORMS)?;
    Ok(metadata.read())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Named>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    name: String,
}

impl Metadata {
    fn read(&self) -> Vec<Package> {
        let names: BTreeMap<&str, &str> =
            self.packages.iter().map(|it| (it.id.as_str(), it.name.as_str())).collect();
        let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        let edges: BTreeMap<&str, Vec<&str>> = self
            .resolve
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node.built_from().collect()))
            .collect();
        let packages = edges.iter().map(|(&id, direct)| Package {
            name: name(id),
            is_member: self.workspace_members.contains(id),
            members: direct
                .iter()
                .filter(|id| self.workspace_members.contains(**id))
                .map(|id| name(id))
                .collect(),
            closure: closure(id, &edges).into_iter().map(name).collect(),
        });
        packages.collect()
    }
}

fn closure<'a>(id: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        for &next in edges.get(id).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_only_tests_use_are_not_in_the_closure() {
        let metadata: Metadata = serde_json::from_str(
            r#"{
                "packages": [
                    {"id": "1", "name": "ours"}, {"id": "2", "name": "near"},
                    {"id": "3", "name": "far"}, {"id": "4", "name": "harness"}
                ],
                "workspace_members": ["1", "2"],
                "resolve": {"nodes": [
                    {"id": "1", "deps": [
                        {"pkg": "2", "dep_kinds": [{"kind": null}]},
                        {"pkg": "4", "dep_kinds": [{"kind": "dev"}]}
                    ]},
                    {"id": "2", "deps": [
                        {"pkg": "3", "dep_kinds": [{"kind": "build"}, {"kind": null}]}
                    ]},
                    {"id": "3", "deps": []}, {"id": "4", "deps": []}
                ]}
            }"#,
        )
        .unwrap();
        let packages = metadata.read();
        let ours = packages.iter().find(|package| package.name == "ours").unwrap();
        assert!(ours.is_member);
        assert_eq!(ours.members, ["near".to_owned()].into());
        assert_eq!(ours.closure, ["near", "far"].map(ToOwned::to_owned).into());
    }
}
