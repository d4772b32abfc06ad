//! OLM's two operators, which the tests share, because they handle all namespaces and their
//! CustomResourceDefinitions are cluster-scoped.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use tempfile::TempDir;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::olm::Olm;

use crate::operator;

/// The running OLM, for one test. It stops with the last test that uses it.
pub(crate) struct Stage {
    pub(crate) cluster: &'static Cluster,
    pub(crate) olm: &'static Olm,
    /// Our image, which OLM uses in place of both of its own.
    pub(crate) ours: &'static str,
    /// The namespace of the operators.
    home: String,
}

struct Shared {
    n_users: usize,
    operators: Option<Operators>,
}

struct Operators {
    home: Namespace<'static>,
    hosts: Hosts,
}

/// The hosts file of the catalog-operator. A testbed has neither a DNS server nor kube-proxy, so
/// this file resolves the names of Services, directly to the pods behind them.
struct Hosts {
    directory: TempDir,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { n_users: 0, operators: None });

impl Stage {
    pub(crate) fn open() -> Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        static OURS: OnceLock<String> = OnceLock::new();
        static OLM: OnceLock<Olm> = OnceLock::new();
        let cluster = CLUSTER.get_or_init(Cluster::open_testbed);
        let ours = OURS.get_or_init(|| cluster.push_opm());
        let olm = OLM.get_or_init(|| Olm::open(cluster));
        let mut shared = shared();
        let operators = shared.operators.get_or_insert_with(|| {
            let (home, hosts) = (cluster.namespace("olm"), Hosts::new());
            operator::start(cluster, &home, olm, ours, &hosts.path());
            Operators { home, hosts }
        });
        let home = operators.home.name().to_owned();
        shared.n_users += 1;
        Self { cluster, olm, ours, home }
    }

    /// Resolves the name of a Service to the address of a pod, for the catalog-operator.
    pub(crate) fn resolve(service: &str, address: &str) {
        shared().operators.as_ref().unwrap().hosts.set(service, address);
    }

    /// Returns the log of the catalog-operator.
    pub(crate) fn catalog_operator_log(&self) -> String {
        let logs = ["--namespace", &self.home, "logs", operator::CATALOG];
        self.cluster.kubectl().run(logs).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut shared = shared();
        shared.n_users -= 1;
        if shared.n_users == 0
            && let Some(Operators { home, .. }) = &shared.operators.take()
        {
            operator::stop(self.cluster, home);
            // The namespace prints its content itself if this test has failed.
        } else if thread::panicking()
            && let Some(Operators { home, .. }) = &shared.operators
        {
            eprintln!("{}", home.dump());
        }
    }
}

impl Hosts {
    fn new() -> Self {
        let hosts = Self { directory: tempfile::tempdir().unwrap() };
        fs::write(hosts.path(), "127.0.0.1 localhost\n").unwrap();
        hosts
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("hosts")
    }

    /// Writes in place: the pod has mounted this file, not its name.
    fn set(&self, name: &str, address: &str) {
        let hosts = fs::read_to_string(self.path()).unwrap();
        let others = hosts.lines().filter(|line| !line.ends_with(&format!(" {name}")));
        let mut lines: Vec<_> = others.map(str::to_owned).collect();
        lines.push(format!("{address} {name}"));
        fs::write(self.path(), lines.join("\n") + "\n").unwrap();
    }
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
