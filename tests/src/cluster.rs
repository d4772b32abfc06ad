//! Tests on a real cluster: `cluster_*`.
//!
//! `UNLADE_CLUSTER` says which: `testbed` is the one that `cargo xtask cluster up` brought up, a
//! path is the kubeconfig of any other cluster, whose nodes pull from the registry that
//! `UNLADE_REGISTRY` names. Unset, the tests are left out.

#![expect(clippy::panic, reason = "a harness: a cluster that doesn't answer must fail the test")]

mod namespace;

use std::env;
use std::path::PathBuf;

use unlade_testbed::{Kubectl, REGISTRY, Settings, Testbed};

pub use namespace::Namespace;

/// Says which cluster the tests run on.
pub const CLUSTER: &str = "UNLADE_CLUSTER";
/// Names the registry of a cluster that isn't a testbed.
pub const REGISTRY_NAME: &str = "UNLADE_REGISTRY";

/// A cluster to test on.
#[derive(Debug)]
pub struct Cluster {
    kubectl: Kubectl,
    registry: String,
    testbed: Option<Testbed>,
}

impl Cluster {
    /// The cluster that the tests are to run on; `None`, said aloud, if there is none.
    ///
    /// # Panics
    ///
    /// If a cluster is asked for that isn't there.
    pub fn open(tests: &str) -> Option<Self> {
        let Some(cluster) = env::var(CLUSTER).ok().filter(|name| !name.is_empty()) else {
            crate::left_out::say(tests, &format!("{CLUSTER} is not set"));
            return None;
        };
        if cluster == "testbed" {
            return Some(Self::of_testbed());
        }
        let registry = env::var(REGISTRY_NAME);
        let registry = registry.unwrap_or_else(|_| panic!("{CLUSTER} needs {REGISTRY_NAME}"));
        let kubectl = Kubectl::for_kubeconfig(PathBuf::from(cluster));
        Some(Self { kubectl, registry, testbed: None })
    }

    /// The cluster, if it is a testbed: for tests that need its faults or push images.
    pub fn open_testbed(tests: &str) -> Option<Self> {
        let cluster = Self::open(tests)?;
        if cluster.testbed.is_none() {
            crate::left_out::say(tests, "they need a testbed, not any cluster");
            return None;
        }
        Some(cluster)
    }

    /// A new namespace for a test.
    pub fn namespace(&self, test: &str) -> Namespace<'_> {
        Namespace::create(self, test)
    }

    /// kubectl as an administrator.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// The registry that its nodes pull from, as it stands before a repository's name.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The testbed that it is.
    ///
    /// # Panics
    ///
    /// If it is none; [`Cluster::open_testbed`] gives only such that are.
    pub fn testbed(&self) -> &Testbed {
        self.testbed.as_ref().unwrap_or_else(|| panic!("{CLUSTER} is not a testbed"))
    }

    fn of_testbed() -> Self {
        let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
        let testbed = Testbed::open(&settings).unwrap_or_else(|error| {
            panic!("{error} (hint: {})", error.hint().unwrap_or_default());
        });
        let kubectl = testbed.administrator();
        Self { kubectl, registry: REGISTRY.to_owned(), testbed: Some(testbed) }
    }
}
