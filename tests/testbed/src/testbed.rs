//! Starting, using and removing a testbed.

mod plan;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::MOST_NODES;
use crate::cgroup::Group;
use crate::network::{Network, outside};
use crate::place::{Place, RECORD};
use crate::wait::wait_for;
use crate::{Error, Kubectl, Node, Part, PartStatus, Programs, Settings, State, file, mount, node};

pub(crate) use plan::Plan;

/// The maximum time of each step until the testbed is ready.
const PATIENCE: Duration = Duration::from_mins(5);

/// A testbed that is up.
#[derive(Debug)]
pub struct Testbed {
    place: Place,
    record: Record,
}

/// The record of a testbed, which is written before any part of the testbed exists.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    programs: Programs,
    nodes: Vec<Node>,
    /// Directories of the machine that did not exist before, and that are removed when no testbed
    /// uses them.
    directories: Vec<PathBuf>,
    /// Whether it was ready once. If not, it is incomplete.
    complete: bool,
}

impl Testbed {
    /// Starts a testbed with these nodes, and waits until all of them are ready.
    ///
    /// If the testbed is already up, its ended parts are started again, and missing nodes are
    /// added. An incomplete testbed is removed first. `helper` is a program that calls
    /// [`launcher::main`](crate::launcher::main), usually the calling one; `tell` receives lines of
    /// progress.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Differs`] if the testbed that is up has other programs or nodes, and the
    /// error of a part that could not be started. An incomplete testbed may remain, whose logs have
    /// the reason; [`Testbed::down`] removes it.
    pub fn up(
        settings: &Settings,
        nodes: &[Node],
        helper: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self, Error> {
        need_root()?;
        if nodes.is_empty() || nodes.len() > MOST_NODES {
            let value = nodes.len().to_string();
            let rule = "1 to 16";
            return Err(Error::Setting { setting: "the number of nodes", value, rule });
        }
        let programs = Programs::prepare(&settings.cache, tell)?;
        let place = Place::new(settings);
        let lock = lock(&place)?;
        let group = Group::find(&place.system_name())?;
        let plan = Plan { place: &place, programs: &programs, group: &group };
        let record = if let Some(record) = usable_record(&place)? {
            plan.complete(record, nodes, tell)?
        } else {
            if place.directory.exists() {
                tell("removing what is left of an earlier testbed");
            }
            remove(&place)?;
            tell("starting it");
            plan.create(nodes, helper)?
        };
        let mut testbed = Self { place, record };
        testbed.wait_until_ready()?;
        for (index, node) in nodes.iter().enumerate() {
            if let Some(architecture) = &node.architecture {
                testbed.claim_architecture(index, architecture)?;
            }
        }
        testbed.record.complete = true;
        file::write_json(&testbed.place.record(), &testbed.record)?;
        drop(lock);
        Ok(testbed)
    }

    /// Opens a testbed that was started, whatever the state of its parts is now.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotUp`] if the testbed does not exist, or if only its files exist.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        // Without root, the network would seem not to exist.
        need_root()?;
        let place = Place::new(settings);
        match file::read_json(&place.record())? {
            Some(record) if network(&place).exists() => Ok(Self { place, record }),
            _ => Err(Error::NotUp { name: settings.name.clone() }),
        }
    }

    /// Removes a testbed, whatever state it is in: processes, containers, mounts, namespaces,
    /// control groups and files. It need not exist. Returns the number of killed processes.
    ///
    /// # Errors
    ///
    /// Returns an error that names what could not be removed. The caller can then try again.
    pub fn down(settings: &Settings) -> Result<usize, Error> {
        need_root()?;
        let place = Place::new(settings);
        if !place.parent().exists() {
            // The lock does not exist either, but processes and groups of this name may.
            return remove(&place);
        }
        let lock = lock(&place)?;
        let killed = remove(&place)?;
        file::remove(&place.lock())?;
        drop(lock);
        // The directory stays if it contains other testbeds.
        let _ = fs::remove_dir(place.parent());
        Ok(killed)
    }

    /// Returns the directory with all files of this testbed, including its logs.
    pub fn directory(&self) -> &Path {
        &self.place.directory
    }

    /// Returns the kubeconfig of the administrator. Its server can be reached only from inside the
    /// network namespace.
    pub fn kubeconfig(&self) -> PathBuf {
        self.place.kubeconfig()
    }

    /// Returns the programs that it runs.
    pub fn programs(&self) -> &Programs {
        &self.record.programs
    }

    /// Returns the helper that started its parts. It can also start those of another testbed.
    pub fn helper(&self) -> PathBuf {
        self.place.launcher()
    }

    /// Returns the number of its nodes.
    pub fn n_nodes(&self) -> usize {
        self.record.nodes.len()
    }

    /// Returns the state of each part.
    ///
    /// # Errors
    ///
    /// Returns [`Error::File`] or [`Error::Content`] if its records cannot be read.
    pub fn parts(&self) -> Result<Vec<PartStatus>, Error> {
        let parts = Part::all(self.n_nodes());
        parts.into_iter().map(|part| self.place.status_of(part)).collect()
    }

    /// Moves the calling thread into the network of the testbed, which contains the API server and
    /// [`REGISTRY`](crate::REGISTRY). Threads and processes that it starts afterwards are in the
    /// network too.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Kernel`] without root, [`Error::File`] if the namespace is gone.
    pub fn enter(&self) -> Result<(), Error> {
        network(&self.place).enter()
    }

    /// Runs a function in the network of the testbed, in another thread.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Testbed::enter`] and those of `action`.
    pub fn within<T: Send>(
        &self,
        action: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        network(&self.place).within(action)
    }

    /// Runs a function in the network in which this process was started, even if the calling thread
    /// has entered that of a testbed. Programs are downloaded there.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Kernel`] if a namespace cannot be entered, and those of `action`.
    pub fn outside<T>(action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        outside(action)
    }

    /// Returns a command with `KUBECONFIG` set, and with our `kubectl` and `ctr` first on the
    /// `PATH`. Start it inside the network: after [`Testbed::enter`] or in [`Testbed::within`].
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directories = self.record.programs.directories().map(Path::to_path_buf);
        // A directory with a colon cannot be on a PATH. In this case, the PATH stays unchanged.
        if let Ok(path) =
            std::env::join_paths(directories.into_iter().chain(std::env::split_paths(&path)))
        {
            command.env("PATH", path);
        }
        command.env("KUBECONFIG", self.kubeconfig()).env("UNLADE_TESTBED", &self.place.name);
        command.env("KUBECACHEDIR", self.place.kubectl_cache());
        // No server in the namespace is behind a proxy.
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env_remove(proxy).env_remove(proxy.to_lowercase());
        }
        command
    }

    /// Runs kubectl as the administrator and returns its output.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with its output if it fails.
    pub fn kubectl<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, Error> {
        self.administrator().run(args)
    }

    /// Returns kubectl as the administrator, for several calls.
    pub fn administrator(&self) -> Kubectl {
        Kubectl::for_testbed(&self.place, &self.record.programs)
    }

    /// Creates or changes an object.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with the API server's message if it refuses.
    pub fn apply(&self, object: &Value) -> Result<(), Error> {
        self.administrator().apply(object)
    }

    /// Waits until every node is ready and pods can be created in the default namespace.
    ///
    /// # Errors
    ///
    /// Returns [`Error::PartEnded`] with the end of its log if a part ends meanwhile,
    /// [`Error::Ended`] with the message of kubectl if a node is not ready after five minutes.
    pub fn wait_until_ready(&self) -> Result<(), Error> {
        wait_for("the API server to be ready", PATIENCE, || {
            self.check_parts()?;
            Ok(self.kubectl(["get", "--raw=/readyz", "--request-timeout=10s"]).ok())
        })?;
        let names = (0..self.n_nodes()).map(|index| format!("node/{}", node::name(index)));
        // Pods are refused until the controllers have created the service account of the namespace.
        let account = "serviceaccount/default".to_owned();
        self.kubectl_wait("create", names.clone().chain([account]).collect())?;
        self.kubectl_wait("condition=Ready", names.collect())?;
        self.check_parts()
    }

    /// Returns the paths of the testbed.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    fn kubectl_wait(&self, condition: &str, objects: Vec<String>) -> Result<(), Error> {
        let mut args = vec!["wait".into(), format!("--for={condition}"), "--timeout=300s".into()];
        args.extend(objects);
        let end = Instant::now() + PATIENCE;
        loop {
            match self.kubectl(&args) {
                Ok(_) => return Ok(()),
                // The API server of a busy machine may fail single requests.
                Err(_) if Instant::now() < end => self.check_parts()?,
                // The log of a part that ended says more than a node that is not ready.
                Err(error) => return self.check_parts().and(Err(error)),
            }
        }
    }

    fn check_parts(&self) -> Result<(), Error> {
        Part::all(self.n_nodes()).into_iter().try_for_each(|part| self.place.check_alive(part))
    }
}

fn network(place: &Place) -> Network {
    Network::at(place.network())
}

/// Returns the record of a testbed that was ready, and whose namespaces still exist.
fn usable_record(place: &Place) -> Result<Option<Record>, Error> {
    let Some(record) = file::read_json::<Record>(&place.record())? else { return Ok(None) };
    // After a reboot, only the files exist. The mounts of a node end with the process that holds
    // them.
    let holders = (0..record.nodes.len()).map(Part::Mounts);
    for holder in holders {
        if place.status_of(holder)?.state == State::Ended {
            return Ok(None);
        }
    }
    Ok((record.complete && network(place).exists()).then_some(record))
}

fn remove(place: &Place) -> Result<usize, Error> {
    let group = Group::find(&place.system_name())?;
    // A broken testbed is removed in the same way, because nothing in it needs an orderly shutdown.
    let killed = group.kill_all()?;
    group.remove()?;
    mount::unmount_below(&place.directory)?;
    // A record that cannot be read has no directories to remove.
    let record = file::read_json::<Record>(&place.record()).unwrap_or_default();
    let mut directories = record.map(|record| record.directories).unwrap_or_default();
    if place.directory.exists() {
        fs::remove_dir_all(&place.directory).map_err(Error::file("remove", &place.directory))?;
    }
    directories.sort();
    let in_use = mount::mounts_everywhere()?;
    for directory in directories.iter().rev().filter(|directory| !in_use.contains(*directory)) {
        // A directory that is not empty stays.
        let _ = fs::remove_dir(directory);
    }
    Ok(killed)
}

/// Returns the directories of the machine that other testbeds have created. The last testbed
/// removes them.
fn directories_of_others(place: &Place) -> Vec<PathBuf> {
    let beside = fs::read_dir(place.parent()).into_iter().flatten().flatten();
    let records = beside
        .filter_map(|other| file::read_json::<Record>(&other.path().join(RECORD)).ok().flatten());
    records.flat_map(|record| record.directories).collect()
}

/// Waits until no other process starts or removes this testbed.
fn lock(place: &Place) -> Result<fs::File, Error> {
    let path = place.lock();
    loop {
        file::create_directory(place.parent())?;
        let lock = match fs::File::create(&path) {
            // The `down` of another testbed has just removed the directory that contains both.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            lock => lock.map_err(Error::file("create", &path))?,
        };
        lock.lock().map_err(Error::file("lock", &path))?;
        // `down` removes the file while it holds the lock. A process that waited for the lock then
        // has locked a file that no longer exists.
        let held = lock.metadata().map_err(Error::file("read", &path))?;
        if fs::metadata(&path).is_ok_and(|now| (now.dev(), now.ino()) == (held.dev(), held.ino())) {
            return Ok(lock);
        }
    }
}

fn need_root() -> Result<(), Error> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(Error::NotRoot) }
}
