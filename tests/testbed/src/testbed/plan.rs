//! Building a testbed, from nothing or from what is there.

use std::fs;
use std::path::Path;

use super::{Record, network};
use crate::cgroup::Group;
use crate::launcher::Launch;
use crate::place::Place;
use crate::{Error, Node, Part, Programs, State, file, node, registry};

/// What a testbed is built of while it is brought up.
pub(crate) struct Plan<'a> {
    pub(crate) place: &'a Place,
    pub(crate) programs: &'a Programs,
    pub(crate) group: &'a Group,
}

impl Plan<'_> {
    /// Makes a testbed from nothing.
    pub(super) fn create(&self, nodes: &[Node], helper: &Path) -> Result<Record, Error> {
        let place = self.place;
        for folder in [place.processes(), place.logs()] {
            file::create_folder(&folder)?;
        }
        let folders = node::missing_folders();
        let nodes = nodes.to_vec();
        let record = Record { programs: self.programs.clone(), nodes, folders, complete: false };
        // Before anything of it exists, so that `down` knows.
        file::write_json(&place.record(), &record)?;
        fs::copy(helper, place.launcher()).map_err(Error::file("copy", helper))?;
        self.group.create(&node_names(0..record.nodes.len()))?;
        network(place).create(record.nodes.len())?;
        record.folders.iter().try_for_each(|folder| file::create_folder(folder))?;

        self.start_api()?;
        registry::start(self)?;
        for index in 0..record.nodes.len() {
            self.start_runtime(index)?;
        }
        self.write_kubeconfigs()?;
        self.start_controllers()?;
        for (index, node) in record.nodes.iter().enumerate() {
            self.start_kubelet(index, node)?;
        }
        Ok(record)
    }

    /// Starts what is missing of a testbed that was up.
    pub(super) fn complete(
        &self,
        mut record: Record,
        nodes: &[Node],
        tell: &mut dyn FnMut(&str),
    ) -> Result<Record, Error> {
        let differs = |what| Error::Differs { name: self.place.name.clone(), what };
        if record.programs != *self.programs {
            return Err(differs("programs"));
        }
        let n_both = record.nodes.len().min(nodes.len());
        if record.nodes.get(..n_both) != nodes.get(..n_both) {
            return Err(differs("nodes"));
        }
        for part in Part::all(record.nodes.len()) {
            if self.place.status_of(part)?.state == State::Ended {
                tell(&format!("starting {part} again: it had ended"));
            }
            self.place.start_again(part)?;
            self.place.signal(part, rustix::process::Signal::CONT)?;
        }
        for (index, node) in nodes.iter().enumerate().skip(record.nodes.len()) {
            tell(&format!("adding {}", node::name(index)));
            self.group.create(&node_names(index..index + 1))?;
            network(self.place).add_node(index)?;
            self.start_runtime(index)?;
            self.start_kubelet(index, node)?;
            record.nodes.push(node.clone());
            file::write_json(&self.place.record(), &record)?;
        }
        Ok(record)
    }

    /// Writes down how a part is started, and starts it.
    pub(crate) fn start_part(
        &self,
        part: Part,
        program: &Path,
        args: &[String],
    ) -> Result<(), Error> {
        // Some programs want a HOME; none should find anything there.
        let home = self.place.folder.display().to_string();
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned();
        let mounts_of = match part {
            Part::Containerd(index) | Part::Kubelet(index) => Some(Part::Mounts(index)),
            _ => None,
        };
        let launch = Launch {
            program: program.to_path_buf(),
            args: args.to_vec(),
            environment: vec![("HOME".into(), home), ("PATH".into(), path)],
            control_groups: self.group.entrances(),
            network: self.place.network(),
            process: self.place.process_of(part),
            mounts_of: mounts_of.map(|holder| self.place.process_of(holder)),
        };
        file::write_json(&self.place.launch_of(part), &launch)?;
        self.place.start(part)
    }
}

fn node_names(indices: std::ops::Range<usize>) -> Vec<String> {
    indices.map(node::name).collect()
}
