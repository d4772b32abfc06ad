//! The programs that the parts run, which are built from Go modules or belong to the machine.

mod cache;
mod debian;
mod go;
mod module;
mod olm;
mod peer;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::network::outside;
use module::Source;

pub use olm::Olm;
pub use peer::{Peers, dialect, is_dialect_built};

/// The program of the image registry.
const REGISTRY: &str = "registry";
/// Its Go module.
const REGISTRY_MODULE: (&str, &str) = (REGISTRY, "parts/registry");

/// The Go modules of a testbed, the quick ones first, and where their `go.mod` files are.
const MODULES: [(&str, &str); 5] = [
    REGISTRY_MODULE,
    ("etcd", "parts/etcd"),
    ("cni", "parts/cni"),
    ("containerd", "parts/containerd"),
    ("kubernetes", "parts/kubernetes"),
];

/// The directories with the built programs of the Go modules, and the paths of those of the
/// machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    kubernetes: PathBuf,
    etcd: PathBuf,
    containerd: PathBuf,
    cni: PathBuf,
    registry: PathBuf,
    pause: PathBuf,
}

impl Programs {
    /// Finds the programs in the cache, or builds them there, and installs the Debian packages
    /// that are missing; `tell` receives lines about the progress of long steps.
    ///
    /// It can be interrupted, and can run twice at the same time, because programs are built in a
    /// temporary directory and then moved.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Missing`] if a package is missing and cannot be installed; [`Error::Ended`]
    /// with the end of its output if a build fails.
    pub fn prepare(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        outside(|| Self::prepare_here(cache, tell))
    }

    /// Checks whether [`Programs::prepare`] would have nothing to build.
    pub fn are_built(cache: &Path) -> bool {
        MODULES
            .iter()
            .all(|(name, directory)| module::are_built(cache, &Source::part(name, directory)))
    }

    /// Returns the Debian packages that [`Programs::prepare`] would have to install.
    pub fn missing_packages() -> Vec<&'static str> {
        debian::missing(&debian::PACKAGES)
    }

    fn prepare_here(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        debian::install(&debian::PACKAGES, tell)?;
        let started = Instant::now();
        let mut n_built = 0;
        let mut directories = Vec::new();
        for (index, (name, directory)) in MODULES.into_iter().enumerate() {
            let n_left = MODULES.len() - index - 1;
            let mut tell = |line: &str| tell(&format!("{line}; {n_left} more modules after it"));
            let (directory, built) =
                module::programs(cache, &Source::part(name, directory), &mut tell)?;
            n_built += usize::from(built);
            directories.push(directory);
        }
        let mut directories = directories.into_iter();
        // `directories` has one directory for each module.
        let [registry, etcd, cni, containerd, kubernetes] =
            MODULES.map(|_| directories.next().unwrap_or_default());
        let pause = debian::find("catatonit")?;
        let programs = Self { kubernetes, etcd, containerd, cni, registry, pause };
        if n_built > 0 {
            tell(&format!("built {n_built} modules in {} s", started.elapsed().as_secs()));
        }
        Ok(programs)
    }

    /// Returns the path of `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `kubelet`
    /// or `kubectl`.
    pub fn kubernetes(&self, program: &str) -> PathBuf {
        self.kubernetes.join(program)
    }

    /// Returns the path of `containerd`, `containerd-shim-runc-v2` or `ctr`.
    pub fn containerd(&self, program: &str) -> PathBuf {
        self.containerd.join(program)
    }

    /// Returns the path of etcd, whose main package is called `server`.
    pub(crate) fn etcd(&self) -> PathBuf {
        self.etcd.join("server")
    }

    /// Returns the directory of the network plugins.
    pub(crate) fn cni(&self) -> &Path {
        &self.cni
    }

    pub(crate) fn registry(&self) -> PathBuf {
        self.registry.join(REGISTRY)
    }

    /// Returns the static program of the pause image, which holds the namespaces of a pod.
    pub(crate) fn pause(&self) -> &Path {
        &self.pause
    }

    /// Returns the directories to put in front of the `PATH` of a command of the user.
    pub(crate) fn directories(&self) -> [&Path; 2] {
        [&self.kubernetes, &self.containerd]
    }
}

/// Finds the program of the image registry, or builds it, which takes a minute. It can be used
/// without a testbed.
///
/// # Errors
///
/// Returns [`Error::Ended`] with the end of its output if the build fails.
pub fn registry_program(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let (name, directory) = REGISTRY_MODULE;
    let (directory, _) = outside(|| module::programs(cache, &Source::part(name, directory), tell))?;
    Ok(directory.join(REGISTRY))
}

/// Runs a command to its end, and returns its standard output.
///
/// # Errors
///
/// Returns [`Error::Run`], or [`Error::Ended`] with the end of its output.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let program = name_of(command);
    let output = command.output().map_err(|source| Error::Run { program, source })?;
    stdout_of(command, &output)
}

pub(crate) fn stdout_of(command: &Command, output: &Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let texts = [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy);
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let output_end = lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n");
    let args = command.get_args().map(|arg| arg.to_string_lossy());
    let words: Vec<_> = std::iter::once(name_of(command).into()).chain(args).collect();
    let command = words.join(" ");
    Err(Error::Ended { command, status: output.status, output: output_end })
}

pub(crate) fn name_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
