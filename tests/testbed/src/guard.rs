//! Removes a testbed when the program that it was started for has ended, however it ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};

use crate::cgroup::Group;
use crate::launcher::ARGUMENT;
use crate::process::Process;
use crate::{Error, Settings, Testbed, file};

/// The instructions of a guard.
#[derive(Debug, Serialize, Deserialize)]
struct Watch {
    name: String,
    state: PathBuf,
    cache: PathBuf,
    /// The process for whose end the guard waits.
    process: Process,
    /// The files to which the guard writes its process id.
    control_groups: Vec<PathBuf>,
}

impl Testbed {
    /// Removes the testbed when a process, such as the calling one, has ended, even if it was
    /// killed. [`Testbed::down`] ends the guard.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Kernel`] if the process does not exist, and [`Error::Run`] if the helper
    /// cannot be started.
    pub fn down_after(&self, settings: &Settings, process: u32) -> Result<(), Error> {
        let watch = Watch {
            name: settings.name.clone(),
            state: settings.state.clone(),
            cache: settings.cache.clone(),
            process: Process::find(process)?,
            control_groups: Group::find(&self.place().system_name())?.entrances(),
        };
        let path = self.place().processes().join(format!("guard-{process}.json"));
        file::write_json(&path, &watch)?;
        let launcher = self.place().launcher();
        let run = |source| Error::Run { program: launcher.display().to_string(), source };
        let mut guard = Command::new(&launcher);
        guard.args([ARGUMENT, "guard"]).arg(path).env_clear().current_dir("/");
        guard.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        guard.spawn().map(drop).map_err(run)
    }
}

/// Waits for the end of the process, and removes the testbed.
pub(crate) fn run(watch: &Path) -> Result<(), Error> {
    let path = watch;
    let Some(watch) = file::read_json::<Watch>(path)? else {
        return Err(Error::file("read", path)(std::io::ErrorKind::NotFound.into()));
    };
    // In the group of the testbed, the guard ends with the testbed, and cannot affect a later one.
    enter(&watch.control_groups, Path::to_path_buf)?;
    match rustix::process::setsid() {
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(Error::kernel("leave the terminal")(error)),
    }
    if let Some(process) = watch.process.open()? {
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        while let Err(error) = poll(&mut ended, None) {
            if error != rustix::io::Errno::INTR {
                return Err(Error::kernel("wait for the end of a process")(error));
            }
        }
    }
    // It moves from /unlade-NAME/part to the root, because everything in that group is killed.
    enter(&watch.control_groups, |group| {
        group.ancestors().nth(3).unwrap_or(group).join("cgroup.procs")
    })?;
    let Watch { name, state, cache, .. } = watch;
    Testbed::down(&Settings { name, state, cache }).map(drop)
}

fn enter(groups: &[PathBuf], which: impl Fn(&Path) -> PathBuf) -> Result<(), Error> {
    groups.iter().map(|group| which(group)).try_for_each(|procs| {
        fs::write(&procs, std::process::id().to_string()).map_err(Error::file("enter", &procs))
    })
}
