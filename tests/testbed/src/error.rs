//! The errors of starting, using and removing a testbed.

use std::io;
use std::path::{Path, PathBuf};

/// Why an operation of the testbed failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process is not root, which namespaces, mounts and control groups require.
    #[error("a testbed requires root")]
    NotRoot,
    /// A setting from the environment or the command line cannot be used.
    #[error("invalid {setting} {value:?}: {rule}")]
    Setting {
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The rule for valid values.
        rule: &'static str,
    },
    /// No testbed of this name is up.
    #[error("the testbed {name:?} is not running")]
    NotUp {
        /// Its name.
        name: String,
    },
    /// A running testbed has different programs or nodes from the requested ones.
    #[error("the running testbed {name:?} has different {what}")]
    Differs {
        /// Its name.
        name: String,
        /// What differs.
        what: &'static str,
    },
    /// An operation on a file or directory failed.
    #[error("failed to {action} {}", path.display())]
    File {
        /// The operation, such as `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file does not have the expected content.
    #[error("failed to parse {}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A program could not be started.
    #[error("failed to start {program}")]
    Run {
        /// The program.
        program: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A program ended with a failure.
    #[error("{command} ended with {status}\n{output}")]
    Ended {
        /// The command line.
        command: String,
        /// The exit status.
        status: std::process::ExitStatus,
        /// The end of its output.
        output: String,
    },
    /// A program that the machine has to provide does not exist.
    #[error("{program} is not on the PATH (Debian package {package})")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// A part ended before it was ready.
    #[error("{part} ended during its start; its log {} ends with\n{tail}", log.display())]
    PartEnded {
        /// Its name.
        part: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of its log.
        tail: String,
    },
    /// A condition was not true before its deadline.
    #[error("timed out after {seconds} s waiting for {what}")]
    Deadline {
        /// The condition.
        what: String,
        /// The deadline, in seconds.
        seconds: u64,
    },
    /// The kernel refused an operation on a process, namespace or mount.
    #[error("failed to {action}")]
    Kernel {
        /// The operation and its object.
        action: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The name of an image is not valid in the registry.
    #[error("invalid image reference")]
    Name(#[from] unlade_name::image::Error),
    /// An image could not be copied into the registry.
    #[error("failed to push an image")]
    Push(#[from] unlade_registry::Error),
    /// An image of the testbed itself could not be built.
    #[error("failed to build an image")]
    Image(#[from] unlade_oci::build::Error),
    /// The arguments of the helper are not valid.
    #[error("invalid arguments of the helper: {args:?}")]
    Arguments {
        /// The arguments.
        args: Vec<String>,
    },
}

impl Error {
    /// Returns what the user can do, if it is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotRoot => Some("run it as root, on a machine where root can do no harm".into()),
            Self::NotUp { .. } => Some("start it with `cargo xtask cluster up`".into()),
            Self::Differs { .. } => Some("remove it first with `cargo xtask cluster down`".into()),
            // Another version of this program may have written the file.
            Self::Content { .. } => Some("remove it with `cargo xtask cluster down`".into()),
            Self::Missing { package, .. } => Some(format!("apt-get install {package}")),
            _ => None,
        }
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }

    pub(crate) fn kernel<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |source| Self::Kernel { action, source: source.into() }
    }
}
