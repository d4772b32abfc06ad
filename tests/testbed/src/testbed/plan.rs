//! Building a new testbed, or completing an existing one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Record, directories_of_others, network};
use crate::cgroup::Group;
use crate::launcher::Launch;
use crate::place::Place;
use crate::wait::wait_for;
use crate::{Error, Kubectl, Node, Part, Programs, State, file, node, registry};

/// The state of a testbed while it is built.
pub(crate) struct Plan<'a> {
    pub(crate) place: &'a Place,
    pub(crate) programs: &'a Programs,
    pub(crate) group: &'a Group,
}

impl Plan<'_> {
    /// Builds a new testbed.
    pub(super) fn create(&self, nodes: &[Node], helper: &Path) -> Result<Record, Error> {
        let place = self.place;
        for directory in [place.processes(), place.logs()] {
            file::create_directory(&directory)?;
        }
        let mut directories = node::missing_directories();
        directories.extend(directories_of_others(place));
        directories.sort();
        directories.dedup();
        let nodes = nodes.to_vec();
        let record =
            Record { programs: self.programs.clone(), nodes, directories, complete: false };
        // Written before anything else exists, so that `down` can remove everything.
        file::write_json(&place.record(), &record)?;
        fs::copy(helper, place.launcher()).map_err(Error::file("copy", helper))?;
        self.group.create(&node_names(0..record.nodes.len()))?;
        network(place).create(record.nodes.len())?;

        self.start_api()?;
        registry::start(self)?;
        for index in 0..record.nodes.len() {
            self.start_runtime(index)?;
        }
        self.write_kubeconfigs()?;
        self.wait_for_api()?;
        self.start_controllers()?;
        for (index, node) in record.nodes.iter().enumerate() {
            self.start_kubelet(index, node)?;
        }
        Ok(record)
    }

    /// Starts the missing parts of a testbed that was up.
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
                if part == Part::ControllerManager {
                    self.wait_for_api()?;
                }
            }
            self.place.start_again(part)?;
            self.place.signal(part, rustix::process::Signal::CONT)?;
        }
        if record.nodes.len() < nodes.len() {
            // If this is interrupted, the testbed is incomplete, because the existing objects of a
            // node cannot be added again.
            record.complete = false;
            file::write_json(&self.place.record(), &record)?;
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

    /// Waits for an API server that controllers can work with: they give up on it after 10 s
    /// (`WaitForAPIServer`), which a busy machine needs.
    fn wait_for_api(&self) -> Result<(), Error> {
        let kubectl = Kubectl::for_testbed(self.place, self.programs);
        wait_for("the API server to be healthy", Duration::from_mins(2), || {
            [Part::Etcd, Part::ApiServer]
                .iter()
                .try_for_each(|&part| self.place.check_alive(part))?;
            Ok(kubectl.run(["get", "--raw=/healthz", "--request-timeout=10s"]).ok())
        })
        .map(drop)
    }

    /// Writes down how a part is started, and starts it.
    pub(crate) fn start_part(
        &self,
        part: Part,
        program: &Path,
        args: &[String],
    ) -> Result<(), Error> {
        // Some programs require a HOME, in which they must not find anything.
        let home = self.place.directory.display().to_string();
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
