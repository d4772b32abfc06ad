//! Time and peak memory of one program.

use std::{
    fs::File,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

use crate::command::{Error, capture, describe};

/// What one run of a program took.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Run {
    /// From its start to its end, in seconds.
    pub(crate) seconds: f64,
    /// Processor time of it and its children, in seconds.
    pub(crate) cpu: f64,
    /// The most memory that it, or one of its children, had resident, in KiB.
    pub(crate) memory: i64,
    /// Its exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
}

/// How a program is measured.
#[derive(clap::Args, Debug, Default, Clone)]
pub(crate) struct Arguments {
    /// Ends it after so many seconds of processor time.
    #[arg(long)]
    cpu_limit: Option<u64>,
    /// Ends it when it asks for more address space than so many MiB.
    #[arg(long)]
    memory_limit: Option<u64>,
    /// Where its standard error goes; nowhere otherwise.
    #[arg(long)]
    log: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<String>,
}

/// Runs a program, and prints what it took as JSON.
///
/// The system tells the peak of all the children of a process together. So each run gets a process
/// of its own around it: this one, which is called by [`run`].
pub(crate) fn measure(arguments: &Arguments) -> Result<(), Error> {
    let [program, words @ ..] = arguments.program.as_slice() else {
        return Err(Error::Found("nothing to measure".into()));
    };
    let system =
        |errno: nix::Error| Error::Start { program: program.clone(), source: errno.into() };
    // Limits are inherited; this process itself needs next to nothing.
    if let Some(seconds) = arguments.cpu_limit {
        setrlimit(Resource::RLIMIT_CPU, seconds, seconds).map_err(system)?;
    }
    if let Some(mebibytes) = arguments.memory_limit {
        setrlimit(Resource::RLIMIT_AS, mebibytes << 20, mebibytes << 20).map_err(system)?;
    }
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = &arguments.log {
        let file = |source| Error::File { path: path.display().to_string(), source };
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

/// Measures one run of a command, in a process of its own; fails if the command does.
pub(super) fn run(command: &Command) -> Result<Run, Error> {
    let run = run_within(command, &Arguments::default())?;
    match run.code {
        Some(0) => Ok(run),
        code => Err(Error::Found(format!("{} ended with {code:?}", describe(command)))),
    }
}

/// Measures one run of a command within limits, whatever its outcome.
pub(crate) fn run_within(command: &Command, arguments: &Arguments) -> Result<Run, Error> {
    // By this name the program is found even if it was built anew in the meantime.
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

    /// No limits, and standard error in a file.
    pub(crate) fn log(path: PathBuf) -> Self {
        Self { log: Some(path), ..Self::default() }
    }
}
