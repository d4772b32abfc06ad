//! Running other programs: each is shown before it runs.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io,
    panic::resume_unwind,
    path::Path,
    process::{Command, ExitStatus, Output, Stdio},
    thread,
};

use crate::workspace;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A program did not start.
    #[error("failed to start {program}")]
    Start {
        /// The program.
        program: String,
        source: io::Error,
    },
    /// A program failed, and has reported the reason itself.
    #[error("{program} failed: {status}")]
    Failed {
        /// The program.
        program: String,
        /// Its exit status.
        status: ExitStatus,
    },
    /// The output of a program could not be parsed.
    #[error("failed to parse the output of {program}")]
    Answer {
        /// The program.
        program: String,
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("failed to read or write {path}")]
    File {
        /// The path of the file.
        path: String,
        source: io::Error,
    },
    /// The task found problems.
    #[error("{0}")]
    Found(String),
    /// The machine lacks something.
    #[error("{what}")]
    Missing {
        /// The problem.
        what: String,
        /// What the user can do.
        hint: String,
    },
    /// An operation of the testbed failed.
    #[error(transparent)]
    Testbed(#[from] unlade_testbed::Error),
    /// An image could not be built.
    #[error("failed to build the image")]
    Image(#[from] unlade_oci::build::Error),
    /// The credentials of the registry could not be read from the environment.
    #[error("failed to read UNLADE_REGISTRY_CREDENTIALS")]
    Credentials(#[from] unlade_registry::credential::Error),
    /// An image could not be copied into a registry.
    #[error("failed to push the image")]
    Push(#[from] unlade_registry::Error),
}

impl Error {
    /// Returns a function that converts an I/O error on `path`.
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::File { path: path.display().to_string(), source }
    }

    /// Returns what the user can do, if it is known.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Testbed(error) => error.hint(),
            Self::Image(error) => error.hint(),
            Self::Missing { hint, .. } => Some(hint.clone()),
            _ => None,
        }
    }
}

/// Returns a command of the cargo that runs this program, in the root of the workspace.
///
/// It does not inherit the variables that describe the package of this program. The build script of
/// `ring` runs again when they change, so cargo would build everything above it again whenever a
/// command with them follows one without them.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root()).args(arguments);
    let describes_package = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in env::vars_os().filter(|(name, _)| describes_package(name)) {
        command.env_remove(name);
    }
    command
}

/// Runs a command with the standard output and standard error of this program.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    eprintln!("\n> {}", describe(command));
    status(command)
}

/// Runs two commands at the same time. Both output streams of `second` go to the file `log`, and
/// are shown when both commands have ended.
pub(crate) fn run_both(first: &mut Command, second: &mut Command, log: &Path) -> Result<(), Error> {
    let program = describe(second);
    let error = Error::file(log);
    let file = File::create(log).map_err(error)?;
    second.stdout(file.try_clone().map_err(error)?).stderr(file);
    eprintln!("\nThe output of this command goes to {}:\n> {program}", log.display());
    let (first, second) = thread::scope(|scope| {
        let second = scope.spawn(|| status(second));
        let first = run(first);
        (first, second.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    eprintln!("\n> {program}");
    // If the reader of the output has closed the pipe, the error does not matter.
    let shown = File::open(log).map_err(error).map(|mut file| {
        let _ = io::copy(&mut file, &mut io::stdout());
    });
    // Each program has reported its failures, so one error is enough.
    first.and(second).and(shown)
}

/// Runs a command and returns its standard output; it shares standard error with this program.
pub(crate) fn capture(command: &mut Command) -> Result<Output, Error> {
    let program = describe(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| Error::Start { program: program.clone(), source })?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(Error::Failed { program, status: output.status })
    }
}

/// Runs a command without showing it.
fn status(command: &mut Command) -> Result<(), Error> {
    let program = describe(command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|source| Error::Start { program: program.clone(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Failed { program, status }) }
}

/// Checks whether a program of this name is on the PATH.
pub(crate) fn is_on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| {
        env::split_paths(&path).any(|directory| directory.join(program).is_file())
    })
}

/// Returns the command as a user would type it.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={:?}", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let words = std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned());
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn two_commands_fail_if_either_fails() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        for (first, second, expected) in [
            ("exit 0", "exit 0", None),
            ("exit 3", "exit 0", Some(3)),
            ("exit 0", "exit 4", Some(4)),
        ] {
            let outcome = run_both(&mut shell(first), &mut shell(second), &log);
            let code = outcome.err().map(|error| match error {
                Error::Failed { status, .. } => status.code().unwrap(),
                other => panic!("{other}"),
            });
            assert_eq!(code, expected, "{first}, {second}");
        }
    }

    #[test]
    fn the_output_of_the_second_command_goes_to_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        run_both(&mut shell("exit 0"), &mut shell("echo out; echo error >&2"), &log).unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "out\nerror\n");
    }
}
