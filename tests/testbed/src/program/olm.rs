//! OLM's own programs: no part of a testbed, but what is measured and tested beside us on one.

use std::path::{Path, PathBuf};

use super::debian;
use super::module::{self, Source};
use crate::Error;
use crate::network::outside;

/// As `cargo xtask bench` builds `opm` of the same module, so that Go compiles it once: optimized,
/// because it is measured, and without the C libraries of image stores that nobody uses here.
const SOURCE: Source = Source {
    name: "olm",
    folder: "../peers",
    flags: FLAGS,
    packages: &["tool"],
    data: Some(("github.com/operator-framework/api", "crds")),
};

/// The peers are built with the same ones, so that all share what is compiled.
pub(super) const FLAGS: &[&str] = &["-tags", "containers_image_openpgp,exclude_graphdriver_btrfs"];

/// OLM's own programs, and the kinds of objects that it works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Olm {
    folder: PathBuf,
    busybox: PathBuf,
}

impl Olm {
    /// Finds the programs in the cache, or builds them there, which takes minutes; `tell` gets a
    /// line now and then.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if busybox is missing and can't be installed; [`Error::Ended`] with the
    /// end of its output if a build fails.
    pub fn prepare(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        outside(|| {
            debian::install(&debian::OLM, tell)?;
            let (folder, _) = module::programs(cache, &SOURCE, tell)?;
            Ok(Self { folder, busybox: debian::find("busybox")? })
        })
    }

    /// Whether [`Olm::prepare`] would have nothing to build.
    pub fn are_built(cache: &Path) -> bool {
        module::are_built(cache, &SOURCE)
    }

    /// The Debian packages that [`Olm::prepare`] would have to install.
    pub fn missing_packages() -> Vec<&'static str> {
        debian::missing(&debian::OLM)
    }

    /// One of `opm`, `cpb`, `catalog` (the catalog-operator) and `olm` (the olm-operator), all of
    /// them static.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The static program that OLM's image has as `cp`.
    pub fn busybox(&self) -> &Path {
        &self.busybox
    }

    /// The folder with a YAML file for each CustomResourceDefinition.
    pub fn crds(&self) -> PathBuf {
        self.folder.join("crds")
    }
}
