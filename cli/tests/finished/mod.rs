//! The result of a command, for both test programs.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;

#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Runs `command` with `input` piped in.
    pub(crate) fn run(mut command: Command, input: impl Into<Vec<u8>>) -> Self {
        let input = input.into();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that fails early does not read all of it.
        let writer = thread::spawn(move || _ = stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output.into()
    }

    /// Its standard output, if it succeeded.
    #[track_caller]
    pub(crate) fn success(&self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout.clone()
    }

    /// Its standard error, if it failed with `code` and without data.
    #[track_caller]
    pub(crate) fn failure(&self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        self.stderr.clone()
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
