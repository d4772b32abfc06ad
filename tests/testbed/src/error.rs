//! What can go wrong while a testbed is brought up, used or taken down.

use std::io;
use std::path::{Path, PathBuf};

/// The testbed could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Namespaces, mounts and control groups need root.
    #[error("act on a testbed without being root")]
    NotRoot,
    /// A setting from the environment or the command line can't be used.
    #[error("use {value:?} as {setting}: {rule}")]
    Setting {
        /// Which one.
        setting: &'static str,
        /// What it was.
        value: String,
        /// What it has to be.
        rule: &'static str,
    },
    /// No testbed of that name is up.
    #[error("find the testbed {name:?} running")]
    NotUp {
        /// Its name.
        name: String,
    },
    /// A running testbed has other programs or nodes than those asked for.
    #[error("change the running testbed {name:?}: it has other {what}")]
    Differs {
        /// Its name.
        name: String,
        /// What is different.
        what: &'static str,
    },
    /// A file or folder could not be worked on.
    #[error("{action} {}", path.display())]
    File {
        /// What was tried, such as `read`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A file holds something else than we write.
    #[error("make sense of {}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// A program could not be started.
    #[error("run {program}")]
    Run {
        /// The program.
        program: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A program was started and ended with a failure.
    #[error("run {command}: it ended with {status}\n{output}")]
    Ended {
        /// The command line.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The end of what it said.
        output: String,
    },
    /// A program that has to come from the machine is missing.
    #[error("find {program} on the PATH (Debian package {package})")]
    Missing {
        /// The program.
        program: &'static str,
        /// Where it comes from.
        package: &'static str,
    },
    /// A part ended before it was ready.
    #[error("start {part}: it ended at once; its log {} ends with\n{tail}", log.display())]
    PartEnded {
        /// Its name.
        part: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// Something took longer than its deadline.
    #[error("see {what} within {seconds} s")]
    Deadline {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
    },
    /// The kernel refused an operation on a process, namespace or mount.
    #[error("{action}")]
    Kernel {
        /// What was tried on what.
        action: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The name of an image can't be one in the registry.
    #[error("name an image")]
    Name(#[from] unlade_registry::NameError),
    /// An image can't be copied into the registry.
    #[error("push an image")]
    Push(#[from] unlade_registry::Error),
    /// An image of the testbed's own can't be built.
    #[error("build an image")]
    Image(#[from] unlade_oci::build::Error),
    /// The helper was called in a way that it isn't meant to be.
    #[error("make sense of the helper's arguments {args:?}")]
    Arguments {
        /// What they were.
        args: Vec<String>,
    },
}

impl Error {
    /// What the person at the keyboard can do about it, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotRoot => Some("run it as root, in a machine where that is harmless".into()),
            Self::NotUp { .. } => Some("`cargo xtask cluster up` brings one up".into()),
            Self::Differs { .. } => Some("`cargo xtask cluster down` first".into()),
            // Another version of this program may have written it.
            Self::Content { .. } => Some("`cargo xtask cluster down` removes it".into()),
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
