use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::finished::Finished;

/// Returns the command `unlade` without the environment variables that change its output.
pub(crate) fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_unlade")), arguments)
}

/// Runs `kubectl-unlade`.
pub(crate) fn plugin(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Finished {
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_kubectl-unlade")), arguments);
    command.output().unwrap().into()
}

/// Runs `unlade` with nothing on standard input.
pub(crate) fn unlade(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Finished {
    command(arguments).stdin(Stdio::null()).output().unwrap().into()
}

/// Runs `unlade` with `input` piped in.
pub(crate) fn piped(
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    input: impl Into<Vec<u8>>,
) -> Finished {
    Finished::run(command(arguments), input)
}

fn clean(mut command: Command, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    // Tests must not use what others have read.
    command.env("TERM", "xterm-256color").env("UNLADE_CACHE_SIZE", "0").args(arguments);
    command
}
