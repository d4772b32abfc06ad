//! Running other programs: each is shown before it runs.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io,
    path::Path,
    process::{Command, ExitStatus, Output, Stdio},
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
    let program = describe(command);
    eprintln!("\n> {program}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|source| Error::Start { program: program.clone(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Failed { program, status }) }
}

/// Runs two commands at the same time. The output of `second`, both streams, is kept in a file
/// until `first` has ended, and then shown.
pub(crate) fn run_both(first: &mut Command, second: &mut Command) -> Result<(), Error> {
    let program = describe(second);
    let path = workspace::target().join("xtask-second-command.log");
    let file = Error::file(&path);
    let log = File::create(&path).map_err(file)?;
    let (stdout, stderr) = (log.try_clone().map_err(file)?, log);
    eprintln!("\n> {program}\n(at the same time as the next command; see {})", path.display());
    let mut child = second
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(|source| Error::Start { program: program.clone(), source })?;
    let outcome = run(first);
    let status =
        child.wait().map_err(|source| Error::Start { program: program.clone(), source })?;
    eprintln!("\n> {program}");
    let mut log = File::open(&path).map_err(file)?;
    // If the reader has closed the pipe, the error does not matter.
    let _ = io::copy(&mut log, &mut io::stdout());
    // Each program has reported its failures, so one error is enough.
    outcome?;
    if status.success() { Ok(()) } else { Err(Error::Failed { program, status }) }
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
