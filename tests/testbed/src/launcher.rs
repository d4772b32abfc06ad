//! The helper: it starts every part, runs the fault proxy of the registry, and removes a testbed
//! when the program that the testbed was started for has ended.
//!
//! A testbed keeps a copy of the program that brought it up as its helper, so the helper stays
//! the same while that program is rebuilt. Such a program must call [`main`] when it is started
//! with [`ARGUMENT`] as its first argument, before it starts any thread.

use std::convert::Infallible;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::network::{Network, enter_mounts_of};
use crate::part::Part;
use crate::place::Place;
use crate::process::Process;
use crate::registry::proxy;
use crate::wait::wait_for;
use crate::{Error, file, guard};

/// The first argument that makes a program the helper.
pub const ARGUMENT: &str = "testbed-helper";

/// Acts as the helper; `args` are those after [`ARGUMENT`]. A part returns only if it fails.
///
/// # Errors
///
/// Returns the error that prevented the part from starting, the proxy from listening, or a guarded
/// testbed from being removed.
pub fn main(args: &[String]) -> Result<(), Error> {
    match args {
        [action, launch] if action == "launch" => match become_part(Path::new(launch))? {},
        [action, listen, registry, faults] if action == "proxy" => {
            match proxy::serve(listen, registry, Path::new(faults))? {}
        }
        [action, watch] if action == "guard" => guard::run(Path::new(watch)),
        _ => Err(Error::Arguments { args: args.to_vec() }),
    }
}

/// How a part is started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The whole environment. The part does not inherit that of the caller.
    pub(crate) environment: Vec<(String, String)>,
    /// The files to which the part writes its process id.
    pub(crate) control_groups: Vec<PathBuf>,
    pub(crate) network: PathBuf,
    /// The file in which the process records its identity.
    pub(crate) process: PathBuf,
    /// The record of the process whose mount namespace to share.
    pub(crate) mounts_of: Option<PathBuf>,
}

/// Starts a part according to its launch file, and waits for the record of its process.
pub(crate) fn start(place: &Place, part: Part) -> Result<(), Error> {
    let path = place.log_of(part);
    let log = OpenOptions::new().create(true).append(true).open(&path);
    let log = log.map_err(Error::file("open", &path))?;
    let errors = log.try_clone().map_err(Error::file("open", &path))?;
    let before = place.process(part)?;
    let launcher = place.launcher();
    let run = |source| Error::Run { program: launcher.display().to_string(), source };
    let mut child = Command::new(&launcher)
        .args([ARGUMENT, "launch"])
        .arg(place.launch_of(part))
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(run)?;
    wait_for(&format!("{part} to start"), Duration::from_secs(20), || {
        if place.process(part)? != before {
            return Ok(Some(()));
        }
        match child.try_wait() {
            Ok(None) => Ok(None),
            _ => place.check_alive(part).map(Some),
        }
    })
}

/// Records that the calling process is the part, and executes the program of the part.
fn become_part(launch: &Path) -> Result<Infallible, Error> {
    let path = launch;
    let Some(launch) = file::read_json::<Launch>(path)? else {
        return Err(Error::file("read", path)(io::ErrorKind::NotFound.into()));
    };
    // Enter the group first, so that `down` finds this process whatever happens afterwards.
    for procs in &launch.control_groups {
        fs::write(procs, std::process::id().to_string()).map_err(Error::file("enter", procs))?;
    }
    // Detach from the terminal, so that Ctrl-C does not reach the testbed.
    match rustix::process::setsid() {
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(Error::kernel("leave the terminal")(error)),
    }
    Network::at(launch.network).enter()?;
    file::write_json(&launch.process, &Process::find(std::process::id())?)?;
    if let Some(holder) = &launch.mounts_of {
        let process = file::read_json::<Process>(holder)?;
        let missing = || Error::file("read", holder)(io::ErrorKind::NotFound.into());
        enter_mounts_of(&process.ok_or_else(missing)?)?;
    }
    let environment = launch.environment.into_iter();
    let source = Command::new(&launch.program).args(&launch.args).envs(environment).exec();
    Err(Error::Run { program: launch.program.display().to_string(), source })
}
