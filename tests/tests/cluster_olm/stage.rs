//! OLM's two operators, which the tests share, because they handle all namespaces and their
//! CustomResourceDefinitions are cluster-scoped.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

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
    home: Option<Namespace<'static>>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { n_users: 0, home: None });

impl Stage {
    pub(crate) fn open() -> Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        static OURS: OnceLock<String> = OnceLock::new();
        static OLM: OnceLock<Olm> = OnceLock::new();
        let cluster = CLUSTER.get_or_init(Cluster::open_testbed);
        let ours = OURS.get_or_init(|| cluster.push_opm());
        let olm = OLM.get_or_init(|| Olm::open(cluster));
        let mut shared = shared();
        let home = if let Some(home) = &shared.home {
            home.name().to_owned()
        } else {
            let home = cluster.namespace("olm");
            operator::start(cluster, &home, olm, ours);
            shared.home.insert(home).name().to_owned()
        };
        shared.n_users += 1;
        Self { cluster, olm, ours, home }
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
            && let Some(home) = shared.home.take()
        {
            operator::stop(self.cluster, &home);
            // The namespace prints its content itself if this test has failed.
        } else if thread::panicking()
            && let Some(home) = &shared.home
        {
            eprintln!("{}", home.dump());
        }
    }
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
