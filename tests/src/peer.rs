//! The Go code that ours stands in for, asked directly: `tests/peers`.

#![expect(clippy::panic, reason = "a harness: a peer that does not answer must fail the test")]

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use unlade_testbed::{Peers, Settings};

/// For one answer, of a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(5);

/// The program that says what Go reads in layers and documents of images; it is built unless it
/// already is.
///
/// # Panics
///
/// If the settings are invalid, or the program cannot be built here.
pub fn dialect() -> PathBuf {
    let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
    unlade_testbed::dialect(&settings.cache, &mut |line| eprintln!("{line}"))
        .unwrap_or_else(|error| panic!("failed to build what asks Go's readers: {error}"))
}

/// The programs, which are built unless they already are.
///
/// # Panics
///
/// If the settings are invalid, or they cannot be built here.
pub fn programs() -> Peers {
    let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
    Peers::prepare(&settings.cache, &mut |line| eprintln!("{line}"))
        .unwrap_or_else(|error| panic!("failed to build upstream's programs: {error}"))
}

/// operator-registry's writer and loader, running.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    requests: BufWriter<ChildStdin>,
    answers: Receiver<io::Result<String>>,
}

/// What the writer is asked to fill a ConfigMap with.
#[derive(Debug, Clone, Copy)]
pub struct Fill<'a> {
    /// The directory of the bundle.
    pub directory: &'a Path,
    /// Whether it is told `--gzip`.
    pub is_compressed: bool,
    /// `--datalimit`, in bytes.
    pub limit: u64,
    /// `CONTAINER_IMAGE`.
    pub image: &'a str,
    /// The ConfigMap that is there beforehand.
    pub existing: &'a Value,
}

/// What the loader makes of a ConfigMap: the fields that it sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// `csvName`.
    pub csv_name: String,
    /// `csvJson`.
    pub csv_json: String,
    /// The texts of `object`, with U+FFFD for what is not UTF-8.
    pub objects: Vec<String>,
    /// SHA-256 of their bytes, in hex.
    pub digests: Vec<String>,
}

/// One line of the peer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Answer {
    config_map: Option<Value>,
    bundle: Option<Bundle>,
    digests: Vec<String>,
    error: Option<String>,
}

/// The other fields of `api.Bundle` would be an error here: the loader sets none of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Bundle {
    csv_name: String,
    csv_json: String,
    object: Vec<String>,
}

impl Peer {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// If the program cannot be built here, or does not start.
    pub fn open() -> Self {
        Self::start(&programs().peer())
    }

    fn start(program: &PathBuf) -> Self {
        let mut command = Command::new(program);
        // It says which files it reads.
        command.arg("answer").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let process = command.spawn();
        let mut process = process.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (stdin, stdout) = pipes.unwrap_or_else(|| panic!("the peer has no pipes"));
        let (sender, answers) = mpsc::channel();
        // It ends with the peer's output, or when nobody asks any more.
        thread::spawn(move || {
            BufReader::new(stdout).lines().try_for_each(|line| sender.send(line))
        });
        Self { process, requests: BufWriter::new(stdin), answers }
    }

    /// The ConfigMap as the writer leaves it.
    ///
    /// # Errors
    ///
    /// What the writer says, or what the API server would say of its ConfigMap.
    ///
    /// # Panics
    ///
    /// If the peer ends.
    pub fn fill(&mut self, fill: &Fill<'_>) -> Result<Value, String> {
        let answer = self.ask(&json!({"fill": {
            "dir": fill.directory,
            "gzip": fill.is_compressed,
            "limit": fill.limit,
            "image": fill.image,
            "existing": fill.existing,
        }}))?;
        Ok(answer.config_map.unwrap_or_default())
    }

    /// What the loader makes of a ConfigMap.
    ///
    /// # Errors
    ///
    /// What it says.
    ///
    /// # Panics
    ///
    /// If the peer ends.
    pub fn load(&mut self, config_map: &Value) -> Result<Loaded, String> {
        let answer = self.ask(&json!({"load": config_map}))?;
        let Bundle { csv_name, csv_json, object } = answer.bundle.unwrap_or_default();
        Ok(Loaded { csv_name, csv_json, objects: object, digests: answer.digests })
    }

    /// Whether the API server takes a ConfigMap.
    ///
    /// # Errors
    ///
    /// What it would say.
    ///
    /// # Panics
    ///
    /// If the peer ends.
    pub fn check(&mut self, config_map: &Value) -> Result<(), String> {
        self.ask(&json!({"check": config_map})).map(drop)
    }

    fn ask(&mut self, request: &Value) -> Result<Answer, String> {
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        sent.unwrap_or_else(|error| panic!("ask the peer: {error}"));
        let answer = self.answers.recv_timeout(PATIENCE);
        let answer = answer.unwrap_or_else(|error| {
            panic!("the peer's answer to {:.300}: {error}", request.to_string())
        });
        let line = answer.unwrap_or_else(|error| panic!("the peer's answer: {error}"));
        let answer: Answer =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:.300}"));
        match answer.error {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends with its input, too.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
