//! The programs that the parts run: built from Go modules, or the machine's own.

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

/// The folder that holds the built programs of each Go module, and where the machine's are.
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
    /// that are missing; `tell` gets a line now and then about what takes long.
    ///
    /// It can be interrupted, and can run twice at the same time, because programs are built in a
    /// temporary folder and then moved.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if a package is missing and cannot be installed; [`Error::Ended`] with
    /// the end of its output if a build fails.
    pub fn prepare(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        outside(|| Self::prepare_here(cache, tell))
    }

    /// Whether [`Programs::prepare`] would have nothing to build.
    pub fn are_built(cache: &Path) -> bool {
        MODULES.iter().all(|(name, folder)| module::are_built(cache, &Source::part(name, folder)))
    }

    /// The Debian packages that [`Programs::prepare`] would have to install.
    pub fn missing_packages() -> Vec<&'static str> {
        debian::missing(&debian::PACKAGES)
    }

    fn prepare_here(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        debian::install(&debian::PACKAGES, tell)?;
        let started = Instant::now();
        let mut n_built = 0;
        let mut folders = Vec::new();
        for (index, (name, folder)) in MODULES.into_iter().enumerate() {
            let n_left = MODULES.len() - index - 1;
            let mut tell = |line: &str| tell(&format!("{line}; {n_left} more modules after it"));
            let (folder, built) = module::programs(cache, &Source::part(name, folder), &mut tell)?;
            n_built += usize::from(built);
            folders.push(folder);
        }
        let mut folders = folders.into_iter();
        // `folders` has one folder for each module.
        let [registry, etcd, cni, containerd, kubernetes] =
            MODULES.map(|_| folders.next().unwrap_or_default());
        let pause = debian::find("catatonit")?;
        let programs = Self { kubernetes, etcd, containerd, cni, registry, pause };
        if n_built > 0 {
            tell(&format!("built {n_built} modules in {} s", started.elapsed().as_secs()));
        }
        Ok(programs)
    }

    /// One of `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `kubelet`, `kubectl`.
    pub fn kubernetes(&self, program: &str) -> PathBuf {
        self.kubernetes.join(program)
    }

    /// One of `containerd`, `containerd-shim-runc-v2` and `ctr`.
    pub fn containerd(&self, program: &str) -> PathBuf {
        self.containerd.join(program)
    }

    /// etcd, whose main package is called `server`.
    pub(crate) fn etcd(&self) -> PathBuf {
        self.etcd.join("server")
    }

    /// The folder of the network plugins.
    pub(crate) fn cni(&self) -> &Path {
        &self.cni
    }

    pub(crate) fn registry(&self) -> PathBuf {
        self.registry.join(REGISTRY)
    }

    /// The static program of the pause image, which holds a pod's namespaces.
    pub(crate) fn pause(&self) -> &Path {
        &self.pause
    }

    /// Folders to put before the `PATH` of a person's command.
    pub(crate) fn folders(&self) -> [&Path; 2] {
        [&self.kubernetes, &self.containerd]
    }
}

/// Finds the program of the image registry, or builds it, which takes a minute. It can be used
/// without a testbed.
///
/// # Errors
///
/// [`Error::Ended`] with the end of its output if the build fails.
pub fn registry_program(cache: &Path, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let (name, folder) = REGISTRY_MODULE;
    let (folder, _) = outside(|| module::programs(cache, &Source::part(name, folder), tell))?;
    Ok(folder.join(REGISTRY))
}

/// Runs a command to its end and gives what it wrote to standard output.
///
/// # Errors
///
/// [`Error::Run`], or [`Error::Ended`] with the end of what it wrote.
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
