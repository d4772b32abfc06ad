//! Running other programs: each is shown before it runs.

use std::{
    env,
    ffi::OsStr,
    io,
    path::Path,
    process::{Command, ExitStatus, Output, Stdio},
};

use crate::workspace;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A program did not start.
    #[error("start {program}")]
    Start {
        /// What was to start.
        program: String,
        source: io::Error,
    },
    /// A program ended badly; it has said why itself.
    #[error("{program} failed: {status}")]
    Failed {
        /// What ran.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// A program answered with something that we can't read.
    #[error("read the answer of {program}")]
    Answer {
        /// What ran.
        program: String,
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("{path}")]
    File {
        /// Which file.
        path: String,
        source: io::Error,
    },
    /// What the task found.
    #[error("{0}")]
    Found(String),
    /// The machine lacks something.
    #[error("{what}")]
    Missing {
        /// What can't be done without it.
        what: String,
        /// How to get it.
        hint: String,
    },
    /// The testbed could not do what it should.
    #[error(transparent)]
    Testbed(#[from] unlade_testbed::Error),
    /// An image could not be built.
    #[error("build the image")]
    Image(#[from] unlade_oci::build::Error),
    /// Whom to be at a registry can't be told from the environment.
    #[error("read UNLADE_REGISTRY_CREDENTIALS")]
    Credentials(#[from] unlade_registry::CredentialsError),
    /// An image could not be copied into a registry.
    #[error("push the image")]
    Push(#[from] unlade_registry::Error),
}

impl Error {
    /// What the person can do about it, where we know.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Testbed(error) => error.hint(),
            Self::Image(error) => error.hint(),
            Self::Missing { hint, .. } => Some(hint.clone()),
            _ => None,
        }
    }
}

/// The cargo that runs us, at the root of the workspace.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root()).args(arguments);
    command
}

/// Runs it with our own stdout and stderr.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    let program = describe(command);
    eprintln!("\n> {program}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|source| Error::Start { program: program.clone(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Failed { program, status }) }
}

/// Runs it and takes what it prints on stdout; stderr is ours.
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

/// Whether a program of that name is on PATH.
pub(crate) fn is_there(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// The command as a person would type it.
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
