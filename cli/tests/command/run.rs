use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Its standard output, if it succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Its standard error, if it failed with `code` and without data.
    #[track_caller]
    pub(crate) fn failure(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        self.stderr
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// `unlade` with nothing of the environment that changes what it prints.
pub(crate) fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_unlade")), arguments)
}

/// `kubectl-unlade`.
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
    let input = input.into();
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that fails early does not read all of it.
    let writer = thread::spawn(move || _ = stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

fn clean(mut command: Command, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm-256color").args(arguments);
    command
}
