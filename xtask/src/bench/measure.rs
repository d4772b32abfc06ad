//! Measures time and peak memory of one program.

use std::{
    fs::File,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use nix::sys::time::TimeValLike;
use nix::unistd::getuid;
use serde::{Deserialize, Serialize};

use crate::command::{Error, capture, describe};

/// The time and memory of one run of a program.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Wall time in seconds.
    pub(crate) seconds: f64,
    /// Processor time of the program and its children, in seconds.
    pub(crate) cpu: f64,
    /// Peak resident memory of the program or one of its children, in KiB.
    pub(crate) memory: i64,
    /// The exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
}

/// The limits and the command line of a measurement.
#[derive(clap::Args, Debug, Default, Clone)]
pub(crate) struct Arguments {
    /// End the program after this processor time, in seconds.
    #[arg(long)]
    cpu_limit: Option<u64>,
    /// End the program if it requests more address space than this, in MiB.
    #[arg(long)]
    memory_limit: Option<u64>,
    /// A file for the standard error of the program, which is discarded otherwise.
    #[arg(long)]
    log: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<String>,
}

/// Runs a program, and prints its time and memory as JSON.
///
/// The system reports the peak memory of all children of a process together. [`run`] therefore
/// starts a new process for each run, which calls this function.
pub(crate) fn measure(arguments: &Arguments) -> Result<(), Error> {
    let [program, words @ ..] = arguments.program.as_slice() else {
        return Err(Error::Found("nothing to measure".into()));
    };
    let system =
        |errno: nix::Error| Error::Start { program: program.clone(), source: errno.into() };
    // The program inherits the limits; this process itself needs almost nothing.
    if let Some(seconds) = arguments.cpu_limit {
        setrlimit(Resource::RLIMIT_CPU, seconds, seconds).map_err(system)?;
    }
    if let Some(mebibytes) = arguments.memory_limit {
        setrlimit(Resource::RLIMIT_AS, mebibytes << 20, mebibytes << 20).map_err(system)?;
    }
    let mut command = Command::new(program);
    // With a user ID, the standard library forks. Otherwise, it uses vfork, and the system counts
    // the memory of this process, with all mapped pages of its file, as the program's.
    command.uid(getuid().as_raw());
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = &arguments.log {
        let file = Error::file(path);
        command.stderr(File::create(path).map_err(file)?);
    }
    let start = Instant::now();
    let status =
        command.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    let seconds = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(system)?;
    let microseconds =
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    #[expect(clippy::cast_precision_loss, reason = "fewer microseconds than 2^52")]
    let cpu = microseconds as f64 / 1e6;
    let run = Run { seconds, cpu, memory: usage.max_rss(), code: status.code() };
    let text = serde_json::to_string(&run)
        .map_err(|source| Error::Answer { program: program.clone(), source })?;
    println!("{text}");
    Ok(())
}

/// Measures one run of a command in a new process; fails if the command fails.
pub(super) fn run(command: &Command) -> Result<Run, Error> {
    let run = run_within(command, &Arguments::default())?;
    match run.code {
        Some(0) => Ok(run),
        code => Err(Error::Found(format!("{} ended with {code:?}", describe(command)))),
    }
}

/// Measures one run of a command with limits, whatever its exit code is.
pub(crate) fn run_within(command: &Command, arguments: &Arguments) -> Result<Run, Error> {
    // This name finds the program even if it has been rebuilt in the meantime.
    let mut measure = Command::new("/proc/self/exe");
    measure.arg("measure");
    let limits = [("--cpu-limit", arguments.cpu_limit), ("--memory-limit", arguments.memory_limit)];
    for (flag, limit) in limits {
        measure.args(limit.iter().flat_map(|limit| [flag.to_owned(), limit.to_string()]));
    }
    if let Some(log) = &arguments.log {
        measure.arg("--log").arg(log);
    }
    measure.arg("--").arg(command.get_program()).args(command.get_args());
    let output = capture(&mut measure)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|source| Error::Answer { program: describe(command), source })
}

impl Arguments {
    /// Limits of processor time in seconds, and of address space in MiB.
    pub(crate) fn limits(cpu: u64, memory: u64) -> Self {
        Self { cpu_limit: Some(cpu), memory_limit: Some(memory), ..Self::default() }
    }

    /// Returns settings without limits, and with standard error in a file.
    pub(crate) fn log(path: PathBuf) -> Self {
        Self { log: Some(path), ..Self::default() }
    }
}
