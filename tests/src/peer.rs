//! The Go code that unlade replaces, as programs that the tests run: `tests/peers`.

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

/// The maximum time for a result. It is long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(5);

/// Returns the program that reports how Go reads layers and documents of images, and builds it if
/// necessary.
///
/// # Panics
///
/// If the settings are invalid, or the program cannot be built here.
pub fn dialect() -> PathBuf {
    let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
    unlade_testbed::dialect(&settings.cache, &mut |line| eprintln!("{line}")).unwrap_or_else(
        |error| panic!("failed to build the program that runs Go's readers: {error}"),
    )
}

/// Returns the programs of the peers, and builds them if necessary.
///
/// # Panics
///
/// If the settings are invalid, or they cannot be built here.
pub fn programs() -> Peers {
    let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
    Peers::prepare(&settings.cache, &mut |line| eprintln!("{line}"))
        .unwrap_or_else(|error| panic!("failed to build upstream's programs: {error}"))
}

/// A running process with the writer and the loader of operator-registry.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    requests: BufWriter<ChildStdin>,
    answers: Receiver<io::Result<String>>,
}

/// The arguments of the writer.
#[derive(Debug, Clone, Copy)]
pub struct Fill<'a> {
    /// The directory of the bundle.
    pub directory: &'a Path,
    /// Whether `--gzip` is set.
    pub is_compressed: bool,
    /// `--datalimit`, in bytes.
    pub limit: u64,
    /// `CONTAINER_IMAGE`.
    pub image: &'a str,
    /// The existing ConfigMap.
    pub existing: &'a Value,
}

/// The result of the loader for a ConfigMap: the fields that it sets.
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

/// One line of output of the peer.
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
    /// Starts the peer.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be built here, or does not start.
    pub fn open() -> Self {
        Self::start(&programs().peer())
    }

    fn start(program: &PathBuf) -> Self {
        let mut command = Command::new(program);
        // Its log names the files that it reads.
        command.arg("answer").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let process = command.spawn();
        let mut process = process.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (stdin, stdout) = pipes.unwrap_or_else(|| panic!("the peer has no pipes"));
        let (sender, answers) = mpsc::channel();
        // The thread ends with the output of the peer, or when the receiver is dropped.
        thread::spawn(move || {
            BufReader::new(stdout).lines().try_for_each(|line| sender.send(line))
        });
        Self { process, requests: BufWriter::new(stdin), answers }
    }

    /// Fills a ConfigMap with the writer, and returns the ConfigMap.
    ///
    /// # Errors
    ///
    /// Returns the error of the writer, or the error of the API server about the ConfigMap.
    ///
    /// # Panics
    ///
    /// Panics if the peer ends.
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

    /// Loads a ConfigMap with the loader.
    ///
    /// # Errors
    ///
    /// Returns the error of the loader.
    ///
    /// # Panics
    ///
    /// Panics if the peer ends.
    pub fn load(&mut self, config_map: &Value) -> Result<Loaded, String> {
        let answer = self.ask(&json!({"load": config_map}))?;
        let Bundle { csv_name, csv_json, object } = answer.bundle.unwrap_or_default();
        Ok(Loaded { csv_name, csv_json, objects: object, digests: answer.digests })
    }

    /// Checks whether the API server would accept a ConfigMap.
    ///
    /// # Errors
    ///
    /// Returns the error of the API server.
    ///
    /// # Panics
    ///
    /// Panics if the peer ends.
    pub fn check(&mut self, config_map: &Value) -> Result<(), String> {
        self.ask(&json!({"check": config_map})).map(drop)
    }

    fn ask(&mut self, request: &Value) -> Result<Answer, String> {
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        sent.unwrap_or_else(|error| panic!("failed to write to the peer: {error}"));
        let answer = self.answers.recv_timeout(PATIENCE);
        let answer = answer.unwrap_or_else(|error| {
            panic!("failed to read the answer of the peer to {:.300}: {error}", request.to_string())
        });
        let line =
            answer.unwrap_or_else(|error| panic!("failed to read the answer of the peer: {error}"));
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
        // The peer also ends when its input ends.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
