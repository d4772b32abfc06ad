//! The control groups of a testbed: the kernel's own list of its processes.
//!
//! Every process of a testbed starts in `/unlade-NAME/part`, and the pods of a node are below
//! `/unlade-NAME/NODE`. So the kernel knows all of them, even after a crash at any moment.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::kill_if;
use crate::wait::wait_for;
use crate::{Error, file};

/// The group of the parts themselves; pods are in other groups. It is a leaf, as version 2
/// requires.
const PARTS: &str = "part";

/// The control groups of one testbed, in each hierarchy of the machine.
#[derive(Debug)]
pub(crate) struct Group {
    name: String,
    hierarchies: Vec<Hierarchy>,
}

#[derive(Debug)]
struct Hierarchy {
    directory: PathBuf,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Version2,
    /// Version 1, with the controller that can freeze processes.
    Freezer,
    Version1,
}

impl Group {
    /// Returns the groups with this name, whether they exist or not.
    pub(crate) fn find(name: &str) -> Result<Self, Error> {
        let mounts = Path::new("/proc/self/mounts");
        let text = file::read(mounts)?.unwrap_or_default();
        Ok(Self { name: name.to_owned(), hierarchies: hierarchies(&text) })
    }

    pub(crate) fn create(&self, nodes: &[String]) -> Result<(), Error> {
        for hierarchy in &self.hierarchies {
            let top = hierarchy.directory.join(&self.name);
            for child in nodes.iter().map(String::as_str).chain([PARTS]) {
                file::create_directory(&top.join(child))?;
            }
        }
        Ok(())
    }

    /// Returns the path of a node's group for the kubelet, which is relative to each hierarchy.
    pub(crate) fn node_path(&self, node: &str) -> String {
        format!("/{}/{node}", self.name)
    }

    /// Returns the files to which a new part writes its process id.
    pub(crate) fn entrances(&self) -> Vec<PathBuf> {
        // One hierarchy is enough to find processes again. Staying out of the controllers of
        // version 1 leaves the accounting and limits that the caller lives under in force.
        let v2 = self.hierarchies.iter().find(|hierarchy| hierarchy.kind == Kind::Version2);
        let chosen = v2.or(self.hierarchies.first());
        chosen
            .iter()
            .map(|h| h.directory.join(&self.name).join(PARTS).join("cgroup.procs"))
            .collect()
    }

    /// Returns the ids of all processes in any of the groups.
    pub(crate) fn processes(&self) -> Result<BTreeSet<i32>, Error> {
        let mut pids = BTreeSet::new();
        for top in self.tops() {
            for group in groups_below(&top)? {
                let Some(text) = read_group(&group.join("cgroup.procs"))? else { continue };
                // 0 is a process of another pid namespace, which is not part of the testbed.
                pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
            }
        }
        pids.remove(&0);
        Ok(pids)
    }

    /// Kills every process in the groups and waits for their end. Returns the number of killed
    /// processes.
    pub(crate) fn kill_all(&self) -> Result<usize, Error> {
        self.thaw()?;
        let mut killed = BTreeSet::new();
        wait_for("the end of all its processes", Duration::from_secs(30), || {
            let pids = self.processes()?;
            for &pid in &pids {
                if kill_if(pid, || self.holds(pid))? {
                    killed.insert(pid);
                }
            }
            Ok(pids.is_empty().then_some(()))
        })?;
        Ok(killed.len())
    }

    /// Removes the groups, which must be empty.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        for top in self.tops() {
            // A group stays busy for a moment after its last process has ended.
            wait_for("its control groups to be empty", Duration::from_secs(10), || {
                let mut busy = false;
                for group in groups_below(&top)?.into_iter().rev() {
                    match fs::remove_dir(&group) {
                        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => busy = true,
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(Error::file("remove", &group)(error));
                        }
                        _ => {}
                    }
                }
                Ok((!busy).then_some(()))
            })?;
        }
        Ok(())
    }

    /// Checks whether the process is in one of the groups.
    fn holds(&self, pid: i32) -> bool {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return false };
        let below = format!("/{}/", self.name);
        text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).any(|path| {
            // The path is relative to the hierarchy's root, or ours if we are in a cgroup
            // namespace.
            path.contains(&below)
        })
    }

    fn thaw(&self) -> Result<(), Error> {
        for hierarchy in &self.hierarchies {
            let (name, value) = match hierarchy.kind {
                Kind::Version2 => ("cgroup.freeze", "0"),
                Kind::Freezer => ("freezer.state", "THAWED"),
                Kind::Version1 => continue,
            };
            for group in groups_below(&hierarchy.directory.join(&self.name))? {
                match fs::write(group.join(name), value) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(Error::file("thaw", &group)(error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn tops(&self) -> impl Iterator<Item = PathBuf> {
        self.hierarchies.iter().map(|hierarchy| hierarchy.directory.join(&self.name))
    }
}

/// Returns the hierarchies in the text of `/proc/self/mounts`.
fn hierarchies(mounts: &str) -> Vec<Hierarchy> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, directory, kind, options, ..] = fields.as_slice() else { continue };
        let kind = match *kind {
            "cgroup2" => Kind::Version2,
            "cgroup" if options.split(',').any(|option| option == "freezer") => Kind::Freezer,
            "cgroup" => Kind::Version1,
            _ => continue,
        };
        // Control groups are never mounted at a path with a space (`\040`).
        if !directory.contains('\\') {
            found.push(Hierarchy { directory: PathBuf::from(directory), kind });
        }
    }
    found
}

/// Returns a group and all groups below it, parents first; nothing if the group does not exist.
fn groups_below(top: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut groups = if top.is_dir() { vec![top.to_path_buf()] } else { Vec::new() };
    let mut next = 0;
    while let Some(group) = groups.get(next).cloned() {
        next += 1;
        let entries = match fs::read_dir(&group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(Error::file("read", &group))?,
        };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                groups.push(entry.path());
            }
        }
    }
    Ok(groups)
}

/// Reads a file of a group. Returns `None` if the group no longer exists.
fn read_group(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => {
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, hierarchies};

    #[test]
    fn both_versions_are_found_in_the_mounts() {
        let mounts = "proc /proc proc rw 0 0\n\
            cgroup /sys/fs/cgroup/freezer cgroup rw,relatime,freezer 0 0\n\
            cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
            cgroup2 /odd\\040place cgroup2 rw 0 0\n";
        let found = hierarchies(mounts);
        let kinds: Vec<Kind> = found.iter().map(|hierarchy| hierarchy.kind).collect();
        assert_eq!(kinds, [Kind::Freezer, Kind::Version1, Kind::Version2]);
        assert_eq!(found[2].directory.to_str(), Some("/sys/fs/cgroup/unified"));
    }
}
