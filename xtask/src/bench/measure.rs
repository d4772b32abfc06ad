//! Wall time and peak memory of one program.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::command::{Error, capture, describe};

/// What one run of a program took.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Run {
    /// From its start to its end, in seconds.
    pub(crate) seconds: f64,
    /// The most memory that it, or one of its children, had resident, in KiB.
    pub(crate) memory: i64,
}

/// Runs a program, and prints what it took as JSON.
///
/// The system tells the peak of all the children of a process together. So each run gets a process
/// of its own around it: this one, which is called by [`run`].
pub(crate) fn measure(program: &[String]) -> Result<(), Error> {
    let [program, arguments @ ..] = program else {
        return Err(Error::Found("nothing to measure".into()));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status =
        command.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        return Err(Error::Failed { program: program.clone(), status });
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|errno| Error::Start { program: program.clone(), source: errno.into() })?;
    let run = Run { seconds, memory: usage.max_rss() };
    let text = serde_json::to_string(&run)
        .map_err(|source| Error::Answer { program: program.clone(), source })?;
    println!("{text}");
    Ok(())
}

/// Measures one run of a command, in a process of its own.
pub(super) fn run(command: &Command) -> Result<Run, Error> {
    // By this name the program is found even if it was built anew in the meantime.
    let mut measure = Command::new("/proc/self/exe");
    measure.arg("measure").arg(command.get_program()).args(command.get_args());
    let output = capture(&mut measure)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|source| Error::Answer { program: describe(command), source })
}
