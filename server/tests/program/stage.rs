//! A catalog in a directory, and the program that serves it. Waiting for the program has a
//! deadline.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use tempfile::{TempDir, tempfile};
use wait_timeout::ChildExt as _;

use crate::running::WAIT;

/// A directory with a catalog.
pub(crate) struct Stage(TempDir);

/// A server, which is stopped when this value is dropped.
pub(crate) struct Running {
    child: Child,
    /// The lines of its log.
    log: Receiver<String>,
}

/// Runs a program until it ends.
pub(crate) fn run(command: &mut Command) -> Output {
    // A pipe would block the program when it is full; a file does not.
    let (stdout, stderr) = (tempfile().unwrap(), tempfile().unwrap());
    command.stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap());
    let status = wait(&mut command.spawn().unwrap());
    let read = |mut file: File| {
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    Output { status, stdout: read(stdout), stderr: read(stderr) }
}

/// Links the program to another name.
pub(crate) fn link(stage: &Stage, name: &str) -> Command {
    let path = stage.path(name);
    symlink(env!("CARGO_BIN_EXE_unlade-server"), &path).unwrap();
    Command::new(path)
}

pub(crate) fn log(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn wait(child: &mut Child) -> ExitStatus {
    let ended = child.wait_timeout(WAIT).unwrap();
    if ended.is_none() {
        child.kill().unwrap();
    }
    ended.unwrap()
}

impl Stage {
    pub(crate) fn new(catalog: &str) -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join("catalog")).unwrap();
        fs::write(directory.path().join("catalog/catalog.yaml"), catalog).unwrap();
        Self(directory)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Runs the program on the catalog, which it must not serve.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unlade-server"));
        command.arg(self.path("catalog")).arg("--cache-dir").arg(self.path("cache"));
        command.arg("--termination-log").arg(self.path("termination-log"));
        run(command.args(arguments))
    }

    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().and_then(OsStr::to_str).unwrap().to_owned();
        let entries = fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap().path())).collect();
        names.sort();
        names
    }
}

impl Running {
    pub(crate) fn start(stage: &Stage, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unlade-server"));
        command.arg(stage.path("catalog")).args(["--port=0", "--log-format=json"]).args(arguments);
        command.args(["--termination-log", "/dev/null"]).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, log) = mpsc::channel();
        // Reading from a pipe has no deadline.
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, log }
    }

    /// Waits until the server logs this message, and returns its fields.
    pub(crate) fn wait_for(&mut self, message: &str) -> Value {
        loop {
            match self.log.recv_timeout(WAIT) {
                Ok(line) => {
                    let logged: Value = serde_json::from_str(&line).unwrap();
                    if logged["fields"]["message"] == message {
                        return logged["fields"].clone();
                    }
                }
                Err(error) => panic!("the server does not log {message:?}: {error}"),
            }
        }
    }

    /// Waits until the server listens, and returns its port.
    pub(crate) fn port(&mut self) -> u16 {
        let port = self.wait_for("serving the catalog")["port"].as_u64().unwrap();
        port.try_into().unwrap()
    }

    /// Sends SIGTERM.
    pub(crate) fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Changes the limit of open files, and returns the old one.
    pub(crate) fn limit_files(&self, limit: Rlimit) -> Rlimit {
        prlimit(Some(Pid::from_child(&self.child)), Resource::Nofile, limit).unwrap()
    }

    /// Sends SIGTERM, and returns the exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.signal();
        wait(&mut self.child).code()
    }

    /// Waits until the server ends, and returns its exit code and the rest of its log.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        loop {
            match self.log.recv_timeout(WAIT) {
                Ok(line) => log += &(line + "\n"),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end: {log}"),
            }
        }
        (wait(&mut self.child).code(), log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
