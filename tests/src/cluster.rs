//! Tests on a real cluster: `cluster_*`.
//!
//! `UNLADE_CLUSTER` selects the cluster: `testbed` is the one that `cargo xtask cluster up`
//! started, and a path is the kubeconfig of any other cluster, whose nodes pull from the registry
//! that `UNLADE_REGISTRY` names. These tests are ignored (`needs a cluster`, `needs a testbed`)
//! unless they are selected, as `cargo xtask test` does.

#![expect(clippy::panic, reason = "a harness: a cluster that does not answer must fail the test")]

mod namespace;
mod registry;

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unlade_images::opm::Opm;
use unlade_images::unpacker::Unpacker;
use unlade_oci::build::{self, Image};
use unlade_oci::{Reference, Transport};
use unlade_testbed::{Kubectl, REGISTRY, Settings, Testbed};

use crate::shipped;
use registry::Registry;

pub use namespace::Namespace;

/// The variable that selects the cluster.
pub const CLUSTER: &str = "UNLADE_CLUSTER";

/// A cluster to test on.
#[derive(Debug)]
pub struct Cluster {
    kubectl: Kubectl,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Testbed(Testbed),
    /// Another cluster, and the registry that its nodes pull from.
    Other(Registry),
}

impl Cluster {
    /// Opens the cluster that the tests run on.
    ///
    /// # Panics
    ///
    /// Panics if no cluster is named, or if the named one does not exist.
    pub fn open() -> Self {
        let cluster = env::var(CLUSTER).ok().filter(|name| !name.is_empty());
        let cluster = cluster
            .unwrap_or_else(|| panic!("{CLUSTER} is not set: `cargo xtask test` brings one up"));
        if cluster == "testbed" {
            return Self::open_running_testbed();
        }
        let kubeconfig = PathBuf::from(&cluster);
        // Tests run in the directory of their crate, and not in that of the user.
        assert!(kubeconfig.is_absolute(), "{CLUSTER}: {cluster:?} is not an absolute path");
        let kubectl = Kubectl::for_kubeconfig(kubeconfig);
        Self { kubectl, kind: Kind::Other(Registry::from_env()) }
    }

    /// Opens the cluster, which must be a testbed, for tests that need its faults.
    ///
    /// # Panics
    ///
    /// Panics like [`Cluster::open`], and if the cluster is not a testbed.
    pub fn open_testbed() -> Self {
        let cluster = Self::open();
        cluster.testbed();
        cluster
    }

    /// Creates a namespace for a test.
    pub fn namespace(&self, test: &str) -> Namespace<'_> {
        Namespace::create(self, test)
    }

    /// Returns kubectl as an administrator.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// Checks whether its API server has a kind, such as `Job` of `batch/v1`.
    pub fn serves(&self, group_version: &str, kind: &str) -> bool {
        let path = format!("--raw=/apis/{group_version}");
        let list = self.kubectl.run(["get", &path]).unwrap_or_default();
        let list: Value = serde_json::from_str(&list).unwrap_or_default();
        let resources = list.get("resources").and_then(Value::as_array);
        resources
            .into_iter()
            .flatten()
            .any(|resource| resource.get("kind").is_some_and(|found| found == kind))
    }

    /// Returns the registry that its nodes pull from, as the prefix of a repository.
    pub fn registry(&self) -> &str {
        match &self.kind {
            Kind::Testbed(_) => REGISTRY,
            Kind::Other(registry) => registry.name(),
        }
    }

    /// Copies an image into that registry under a name such as `bundles/etcd:1`. Returns the full
    /// name with the digest, for pods.
    ///
    /// # Panics
    ///
    /// Panics if the image cannot be built, or if the registry does not accept it.
    pub fn push(&self, image: &Image, name: &str) -> String {
        self.push_built(name, |output| build::write(image, output))
    }

    /// Copies an index of several images into that registry.
    ///
    /// # Panics
    ///
    /// Panics like [`Cluster::push`].
    pub fn push_index(&self, images: &[Image], name: &str) -> String {
        self.push_built(name, |output| build::write_index(images, output))
    }

    /// Pushes the image of the static unpacker in the same way.
    ///
    /// # Panics
    ///
    /// Panics like [`Cluster::push`] and [`shipped::unpacker`].
    pub fn push_unpacker(&self) -> String {
        let program = shipped::unpacker();
        self.push(&Unpacker::new(program).image(), "unlade/unlade-unpacker:test")
    }

    /// Pushes the image with the static server and the static unpacker, and returns its name.
    ///
    /// # Panics
    ///
    /// Panics like [`Cluster::push`], [`shipped::unpacker`] and [`shipped::server`].
    pub fn push_opm(&self) -> String {
        let unpacker = Unpacker::new(shipped::unpacker());
        let opm = Opm { unpacker, server: shipped::server(), documents: None };
        self.push(&opm.image(), "unlade/unlade-opm:test")
    }

    /// Returns the testbed.
    ///
    /// # Panics
    ///
    /// Panics if the cluster is not a testbed, as those of [`Cluster::open_testbed`] are.
    pub fn testbed(&self) -> &Testbed {
        match &self.kind {
            Kind::Testbed(testbed) => testbed,
            Kind::Other(_) => panic!("{CLUSTER} is not a testbed"),
        }
    }

    fn open_running_testbed() -> Self {
        let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
        let testbed = Testbed::open(&settings).unwrap_or_else(|error| {
            panic!("{error} (hint: {})", error.hint().unwrap_or_default());
        });
        Self { kubectl: testbed.administrator(), kind: Kind::Testbed(testbed) }
    }

    fn push_built<T>(
        &self,
        name: &str,
        build: impl FnOnce(&Reference) -> Result<T, build::Error>,
    ) -> String {
        let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = directory.path().join("image.tar");
        let output =
            Reference { transport: Transport::OciArchive, path: path.clone(), select: None };
        build(&output).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        self.push_archive(&path, name)
    }

    fn push_archive(&self, archive: &Path, name: &str) -> String {
        match &self.kind {
            Kind::Testbed(testbed) => {
                testbed.push(archive, name).unwrap_or_else(|error| panic!("{name}: {error:?}"))
            }
            Kind::Other(registry) => registry.push(archive, name),
        }
    }
}
