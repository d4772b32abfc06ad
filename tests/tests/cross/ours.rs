use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use unlade_tests::shipped;

use crate::IMAGE;
use crate::api_server::ApiServer;

const PATH: &str = "/api/v1/namespaces/olm/configmaps/bundle";

/// The static program, and an API server for it.
pub(crate) struct Ours {
    program: PathBuf,
    server: ApiServer,
    directory: TempDir,
}

/// The result of a run of `opm alpha bundle extract`.
pub(crate) struct Extracted {
    pub(crate) config_map: Value,
    pub(crate) log: String,
}

impl Ours {
    pub(crate) fn open() -> Self {
        let program = shipped::unpacker();
        let (server, directory) = (ApiServer::start(), tempfile::tempdir().unwrap());
        let config = json!({
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [
                {"name": "c", "cluster": {"server": format!("http://{}", server.address)}},
            ],
            "users": [{"name": "u", "user": {}}],
        });
        fs::write(directory.path().join("kubeconfig"), config.to_string()).unwrap();
        Self { program, server, directory }
    }

    /// Fills an existing ConfigMap. The error is the output of the program.
    pub(crate) fn extract(
        &self,
        directory: &Path,
        is_compressed: bool,
        existing: &Value,
    ) -> Result<Extracted, String> {
        self.server.put(PATH, existing.clone());
        let mut command = Command::new(&self.program);
        command.arg0("opm").args(["alpha", "bundle", "extract", "-n", "olm", "-c", "bundle"]);
        command.arg("-k").arg(self.directory.path().join("kubeconfig"));
        command.arg("-m").arg(directory.join(""));
        command.args(is_compressed.then_some("-z")).env("CONTAINER_IMAGE", IMAGE);
        let output = command.output().unwrap();
        let config_map = self.server.take(PATH).unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => Ok(Extracted { config_map, log }),
            Some(1) => {
                assert_eq!(config_map, *existing, "a failure wrote: {log}");
                Err(log)
            }
            _ => panic!("{}: {log}", output.status),
        }
    }

    /// Runs `serve` for the same bundle. The error is its output.
    pub(crate) fn serve(&self, directory: &Path) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--dry-run", "--bundle"]);
        let mut bundle = directory.as_os_str().to_owned();
        bundle.push("=bundle");
        let output = command.arg(bundle).output().unwrap();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        if output.status.success() { Ok(stdout) } else { Err(stderr) }
    }
}
