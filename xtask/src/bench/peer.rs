//! The Go programs of the comparison, built from tests/peers.

use std::{path::PathBuf, process::Command};

use unlade_testbed::Settings;

use crate::{
    command::{self, Error},
    workspace,
};

/// Builds the program with only the writer and the loader of operator-registry, and returns its
/// path.
pub(super) fn build_peer() -> Result<PathBuf, Error> {
    build(".", "peer")
}

/// Builds the complete `opm`, and returns its path.
pub(super) fn build_opm() -> Result<PathBuf, Error> {
    build("github.com/operator-framework/operator-registry/cmd/opm", "opm")
}

/// Builds a program, which takes a minute on a fresh machine and seconds afterwards. Go's cache,
/// next to the programs of the testbed, keeps the compiled packages, including those that OLM's
/// programs share with these.
fn build(package: &str, name: &str) -> Result<PathBuf, Error> {
    if !command::is_on_path("go") {
        return Err(Error::Missing {
            what: "`go` is not on the PATH".into(),
            hint: "install the version of Go in tests/peers/go.mod".into(),
        });
    }
    let program = workspace::target().join("peers").join(name);
    let cache = Settings::from_env()?.cache;
    let mut go = Command::new("go");
    go.current_dir(workspace::root().join("tests/peers")).env("CGO_ENABLED", "0");
    go.args(["build", "-trimpath", "-ldflags", "-s -w"]);
    go.env("GOMODCACHE", cache.join("go/mod")).env("GOCACHE", cache.join("go/build"));
    // Without these tags, both need C libraries, for image stores that are not used here.
    go.args(["-tags", "containers_image_openpgp,exclude_graphdriver_btrfs"]);
    go.arg("-o").arg(&program).arg(package);
    command::run(&mut go).map(|()| program)
}
