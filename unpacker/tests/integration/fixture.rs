//! Bundles, and runs of the program on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Creates a bundle whose package is `name`.
pub(crate) fn bundle(name: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write_bundle(root.path(), name);
    root
}

/// Writes a bundle whose package is `name` to `root`.
pub(crate) fn write_bundle(root: &Path, name: &str) {
    fs::create_dir_all(root.join("manifests")).unwrap();
    fs::create_dir_all(root.join("metadata")).unwrap();
    let csv = format!("kind: ClusterServiceVersion\nmetadata:\n  name: {name}.v1.0.0\n");
    fs::write(root.join("manifests/csv.yaml"), csv).unwrap();
    let annotations = format!(
        "annotations:\n  operators.operatorframework.io.bundle.package.v1: {name}\n  \
         com.example/colour: blue\n"
    );
    fs::write(root.join("metadata/annotations.yaml"), annotations).unwrap();
}

/// Returns the program under test.
pub(crate) fn unpacker() -> Command {
    Command::new(PathBuf::from(env!("CARGO_BIN_EXE_unlade-unpacker")))
}

/// A finished run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn execute(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        Self {
            code: status.code(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Returns the list of outcomes, which is the last line.
    pub(crate) fn outcomes(&self) -> Vec<Value> {
        let line = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {}", self.stderr))
    }

    /// Returns the verdicts, in order.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let verdict = |outcome: &Value| outcome["verdict"].as_str().unwrap_or_default().to_owned();
        self.outcomes().iter().map(verdict).collect()
    }
}
