//! The programs that are built, and the bundles and catalogs that are fetched, before tests run.

use std::path::PathBuf;

use unlade_testbed::{Olm, Peers, Programs, Settings, is_dialect_built};

use crate::{
    cluster,
    command::Error,
    corpus::{self, Part},
    dist,
};

/// Something that is built or fetched, in this order, before a testbed is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Made {
    Corpus(Part),
    Dialect,
    Peers,
    Olm,
    TestbedPrograms,
    Unpacker,
    Server,
}

impl Made {
    /// Checks whether it exists already.
    pub(super) fn is_made(self, settings: &Settings) -> bool {
        match self {
            Self::Corpus(part) => part.exists(),
            Self::Dialect => is_dialect_built(&settings.cache),
            Self::Peers => Peers::are_built(&settings.cache),
            Self::Olm => Olm::are_built(&settings.cache) && Olm::missing_packages().is_empty(),
            Self::TestbedPrograms => {
                Programs::are_built(&settings.cache) && Programs::missing_packages().is_empty()
            }
            // Only cargo knows whether a program is up to date.
            Self::Unpacker | Self::Server => false,
        }
    }

    /// Returns the missing Debian packages that have to be installed first.
    pub(super) fn missing_packages(self) -> Vec<&'static str> {
        match self {
            Self::Olm => Olm::missing_packages(),
            Self::TestbedPrograms => Programs::missing_packages(),
            Self::Corpus(_) | Self::Dialect | Self::Peers | Self::Unpacker | Self::Server => {
                Vec::new()
            }
        }
    }

    /// Describes what will be done, where, and roughly how long it takes.
    pub(super) fn announcement(self, settings: &Settings) -> String {
        let cache = settings.cache.display();
        match self {
            Self::Corpus(part) => {
                let what = match part {
                    Part::Bundles => "bundles (56 MB)",
                    Part::Catalogs => "catalogs (25 MB)",
                };
                let directory = part.corpus();
                format!("fetch the published {what} into {}: a minute or two", directory.display())
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
            Self::Server => {
                "build the static server in target/shipped: about 4 min the first time".to_owned()
            }
        }
    }

    /// Checks whether it is built from our own sources.
    pub(super) fn is_ours(self) -> bool {
        matches!(self, Self::Unpacker | Self::Server)
    }

    /// Builds or fetches it. Returns the path of one of our programs, and the variable by which the
    /// tests find it.
    pub(super) fn make(
        self,
        settings: &Settings,
    ) -> Result<Option<(&'static str, PathBuf)>, Error> {
        let tell = &mut cluster::print_line;
        match self {
            Self::Corpus(part) => corpus::fetch(part, None)?,
            Self::Dialect => drop(unlade_testbed::dialect(&settings.cache, tell)?),
            Self::Peers => drop(Peers::prepare(&settings.cache, tell)?),
            Self::Olm => drop(Olm::prepare(&settings.cache, tell)?),
            Self::TestbedPrograms => drop(Programs::prepare(&settings.cache, tell)?),
            Self::Unpacker => return Ok(Some(("UNLADE_UNPACKER", dist::build()?.program))),
            Self::Server => return Ok(Some(("UNLADE_SERVER", dist::build_server()?.program))),
        }
        Ok(None)
    }
}
