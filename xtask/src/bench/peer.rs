//! The Go programs of the comparison, built from tests/peers.

use std::{path::PathBuf, process::Command};

use unlade_testbed::Settings;

use crate::{
    command::{self, Error},
    workspace,
};

/// The paths of the Go programs.
pub(super) struct Peers {
    /// The program with only the writer and the loader.
    pub(super) peer: PathBuf,
    /// The complete `opm`.
    pub(super) opm: PathBuf,
}

/// Builds the programs, which takes a minute on a fresh machine and seconds afterwards. Go's cache,
/// next to the programs of the testbed, keeps the compiled packages, including those that OLM's
/// programs share with these.
pub(super) fn build() -> Result<Peers, Error> {
    if !command::is_on_path("go") {
        return Err(Error::Missing {
            what: "`go` is not on the PATH".into(),
            hint: "install the version of Go in tests/peers/go.mod".into(),
        });
    }
    let directory = workspace::target().join("peers");
    let cache = Settings::from_env()?.cache;
    let build = |package: &str, name: &str| {
        let program = directory.join(name);
        let mut go = Command::new("go");
        go.current_dir(workspace::root().join("tests/peers")).env("CGO_ENABLED", "0");
        go.args(["build", "-trimpath", "-ldflags", "-s -w"]);
        go.env("GOMODCACHE", cache.join("go/mod")).env("GOCACHE", cache.join("go/build"));
        // Without these tags, both need C libraries, for image stores that are not used here.
        go.args(["-tags", "containers_image_openpgp,exclude_graphdriver_btrfs"]);
        go.arg("-o").arg(&program).arg(package);
        command::run(&mut go).map(|()| program)
    };
    let opm = "github.com/operator-framework/operator-registry/cmd/opm";
    Ok(Peers { peer: build(".", "peer")?, opm: build(opm, "opm")? })
}
