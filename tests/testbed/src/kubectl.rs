//! kubectl against a testbed or any other cluster.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Error;
use crate::network::Network;
use crate::place::Place;
use crate::program::{Programs, name_of, stdout_of};

/// A kubectl for one cluster.
#[derive(Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    network: Option<Network>,
    /// The directory of its discovery cache; `None` for the user's own cache.
    cache: Option<PathBuf>,
}

impl Kubectl {
    /// Returns the `kubectl` on the `PATH`, for the current context of a kubeconfig.
    pub fn for_kubeconfig(kubeconfig: PathBuf) -> Self {
        Self { program: "kubectl".into(), kubeconfig, network: None, cache: None }
    }

    pub(crate) fn for_testbed(place: &Place, programs: &Programs) -> Self {
        Self {
            program: programs.kubernetes("kubectl"),
            kubeconfig: place.kubeconfig(),
            network: Some(Network::at(place.network())),
            cache: Some(place.kubectl_cache()),
        }
    }

    /// Runs kubectl and returns its output.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with its output if it fails.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<String, Error> {
        self.run_with(args, b"")
    }

    /// Runs kubectl with `input` as its standard input.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Kubectl::run`].
    pub fn run_with<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<String, Error> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let run = || {
            let mut command = Command::new(&self.program);
            command.args(args).env("KUBECONFIG", &self.kubeconfig);
            if let Some(cache) = &self.cache {
                command.env("KUBECACHEDIR", cache);
            }
            exchange(&mut command, input)
        };
        match &self.network {
            Some(network) => network.within(run),
            None => run(),
        }
    }

    /// Creates or changes an object by a server-side apply as `unlade-tests`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with the API server's message if it refuses.
    pub fn apply(&self, object: &Value) -> Result<(), Error> {
        let manager = "--field-manager=unlade-tests";
        let args = ["apply", "--server-side", "--force-conflicts", manager, "--filename=-"];
        self.run_with(args, object.to_string().as_bytes()).map(drop)
    }

    /// Reads an object such as `job/unpack` in a namespace. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] if it cannot be read, [`Error::Content`] if the output is not JSON.
    pub fn get(&self, namespace: &str, object: &str) -> Result<Option<Value>, Error> {
        let output = ["--ignore-not-found", "--output=json"];
        let text = self.run(["--namespace", namespace, "get", object].into_iter().chain(output))?;
        if text.is_empty() {
            return Ok(None);
        }
        let content = |source| Error::Content { path: object.into(), source };
        serde_json::from_str(&text).map(Some).map_err(content)
    }
}

fn exchange(command: &mut Command, input: &[u8]) -> Result<String, Error> {
    let program = name_of(command);
    let run = |source| Error::Run { program: program.clone(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(run)?;
    if let Some(mut stdin) = child.stdin.take() {
        // kubectl reads all of its input before it prints, so this cannot block for ever. If it
        // ends without reading, its own message says more than a broken pipe.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().map_err(run)?;
    stdout_of(command, &output)
}
