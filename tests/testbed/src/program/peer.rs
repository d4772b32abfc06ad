//! The Go code that ours is compared with, without a cluster. It is not part of a testbed, but is
//! built like the programs of a testbed.

use std::path::{Path, PathBuf};

use super::module::{self, Source};
use super::olm;
use crate::Error;
use crate::network::outside;

const SOURCE: Source = Source {
    name: "peers",
    directory: "../peers",
    flags: olm::FLAGS,
    packages: &[".", "github.com/operator-framework/operator-lifecycle-manager/util/cpb"],
    data: None,
};

const DIALECT: Source = Source {
    name: "dialect",
    directory: "../peers/dialect",
    flags: &[],
    packages: &["."],
    data: None,
};

/// Finds the program that reports how Go reads layers and documents of images
/// (`tests/peers/dialect`), or builds it, which takes seconds, because it uses little beyond Go's
/// own library.
///
/// # Errors
///
/// Returns the errors of [`Peers::prepare`].
pub fn dialect(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    outside(|| {
        let (directory, _) = module::programs(cache, &DIALECT, tell)?;
        Ok(directory.join("dialect"))
    })
}

/// Checks whether [`dialect`] would have nothing to build.
pub fn is_dialect_built(cache: &Path) -> bool {
    module::are_built(cache, &DIALECT)
}

/// The programs of `tests/peers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peers {
    directory: PathBuf,
}

impl Peers {
    /// Finds the programs in the cache, or builds them there, which takes a minute or two; `tell`
    /// gets a line now and then.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with the end of its output if a build fails, or if Go is missing
    /// and cannot be fetched.
    pub fn prepare(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        outside(|| {
            let (directory, _) = module::programs(cache, &SOURCE, tell)?;
            Ok(Self { directory })
        })
    }

    /// Checks whether [`Peers::prepare`] would have nothing to build.
    pub fn are_built(cache: &Path) -> bool {
        module::are_built(cache, &SOURCE)
    }

    /// Returns the path of operator-registry's writer and loader of ConfigMaps:
    /// `tests/peers/main.go`.
    pub fn peer(&self) -> PathBuf {
        self.directory.join("peers")
    }

    /// Returns the path of OLM's copier, which is static.
    pub fn cpb(&self) -> PathBuf {
        self.directory.join("cpb")
    }
}
