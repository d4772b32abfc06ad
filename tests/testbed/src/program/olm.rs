//! OLM's own programs. They are not part of a testbed, but are measured and tested on one.

use std::path::{Path, PathBuf};

use super::debian;
use super::module::{self, Source};
use crate::Error;
use crate::network::outside;

/// The flags are the same as those for `opm` in `cargo xtask bench`, so that Go compiles it once.
/// The programs are optimised, because they are measured, and built without the C libraries of
/// image stores that are not used here.
const SOURCE: Source = Source {
    name: "olm",
    directory: "../peers",
    flags: FLAGS,
    packages: &["tool"],
    data: Some(("github.com/operator-framework/api", "crds")),
};

/// The peers are built with the same tags, so that all of them share compiled packages.
pub(super) const FLAGS: &[&str] = &["-tags", "containers_image_openpgp,exclude_graphdriver_btrfs"];

/// OLM's own programs, and the kinds of objects that it works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Olm {
    directory: PathBuf,
    busybox: PathBuf,
}

impl Olm {
    /// Finds the programs in the cache, or builds them there, which takes minutes; `tell` gets a
    /// line now and then.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Missing`] if busybox is missing and cannot be installed; [`Error::Ended`]
    /// with the end of its output if a build fails.
    pub fn prepare(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        outside(|| {
            debian::install(&debian::OLM, tell)?;
            let (directory, _) = module::programs(cache, &SOURCE, tell)?;
            Ok(Self { directory, busybox: debian::find("busybox")? })
        })
    }

    /// Checks whether [`Olm::prepare`] would have nothing to build.
    pub fn are_built(cache: &Path) -> bool {
        module::are_built(cache, &SOURCE)
    }

    /// Returns the Debian packages that [`Olm::prepare`] would have to install.
    pub fn missing_packages() -> Vec<&'static str> {
        debian::missing(&debian::OLM)
    }

    /// Returns the path of `opm`, `cpb`, `catalog` (the catalog-operator) or `olm` (the
    /// olm-operator), all of which are static.
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the path of the static program that OLM's image contains as `cp`.
    pub fn busybox(&self) -> &Path {
        &self.busybox
    }

    /// Returns the directory with a YAML file for each CustomResourceDefinition.
    pub fn crds(&self) -> PathBuf {
        self.directory.join("crds")
    }
}
