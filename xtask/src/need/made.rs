//! The programs that are built, and the bundles that are fetched, before tests run.

use std::path::PathBuf;

use unlade_testbed::{Olm, Peers, Programs, Settings, is_dialect_built};

use crate::{cluster, command::Error, corpus, dist};

/// Something that is built or fetched, in this order, before a testbed is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Made {
    Corpus,
    Dialect,
    Peers,
    Olm,
    TestbedPrograms,
    Unpacker,
}

impl Made {
    /// Checks whether it exists already.
    pub(super) fn is_made(self, settings: &Settings) -> bool {
        match self {
            Self::Corpus => corpus::exists(),
            Self::Dialect => is_dialect_built(&settings.cache),
            Self::Peers => Peers::are_built(&settings.cache),
            Self::Olm => Olm::are_built(&settings.cache) && Olm::missing_packages().is_empty(),
            Self::TestbedPrograms => {
                Programs::are_built(&settings.cache) && Programs::missing_packages().is_empty()
            }
            // Only cargo knows whether the program is up to date.
            Self::Unpacker => false,
        }
    }

    /// Returns the missing Debian packages that have to be installed first.
    pub(super) fn missing_packages(self) -> Vec<&'static str> {
        match self {
            Self::Olm => Olm::missing_packages(),
            Self::TestbedPrograms => Programs::missing_packages(),
            Self::Corpus | Self::Dialect | Self::Peers | Self::Unpacker => Vec::new(),
        }
    }

    /// Describes what will be done, where, and roughly how long it takes.
    pub(super) fn announcement(self, settings: &Settings) -> String {
        let cache = settings.cache.display();
        match self {
            Self::Corpus => {
                let folder = corpus::folder();
                let folder = folder.display();
                format!("fetch the published bundles (56 MB) into {folder}: a minute or two")
            }
            Self::Dialect => format!("build a Go program in {cache}: about 20 s"),
            Self::Peers => format!("build upstream's writer and loader in {cache}: 1 to 2 min"),
            Self::Olm => format!("build OLM's programs in {cache}: 2 to 4 min"),
            Self::TestbedPrograms => {
                format!("build Kubernetes, etcd, containerd and others in {cache}: about 5 min")
            }
            Self::Unpacker => {
                "build the static unpacker in target/shipped: about 2 min the first time".to_owned()
            }
        }
    }

    /// Builds or fetches it. Returns the path of the program if it is the static unpacker.
    pub(super) fn make(self, settings: &Settings) -> Result<Option<PathBuf>, Error> {
        let tell = &mut cluster::print_line;
        match self {
            Self::Corpus => corpus::fetch(None)?,
            Self::Dialect => drop(unlade_testbed::dialect(&settings.cache, tell)?),
            Self::Peers => drop(Peers::prepare(&settings.cache, tell)?),
            Self::Olm => drop(Olm::prepare(&settings.cache, tell)?),
            Self::TestbedPrograms => drop(Programs::prepare(&settings.cache, tell)?),
            Self::Unpacker => return Ok(Some(dist::build()?.program)),
        }
        Ok(None)
    }
}
