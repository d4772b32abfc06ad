//! `cargo xtask bench cluster`.

use std::env;

use crate::{
    cluster::{CLUSTER, ForTests},
    command::{self, Error, cargo},
    dist,
};

/// Measures launches on a testbed of its own, from the first request to the loaded bundle, beside
/// OLM's own unpack Job with the real `opm` and `cpb`, and prints Markdown tables.
///
/// The first time it builds OLM's programs, which takes minutes. With `UNLADE_CLUSTER=testbed` the
/// testbed that is up is used. Nothing else is to run on the machine meanwhile.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each way is taken.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Error> {
    let rounds = arguments.rounds.to_string();
    let bench = || cargo(["bench", "--locked", "--package", "unlade-tests", "--bench", "cluster"]);
    // Before there is a testbed that would wait for it.
    command::run(bench().arg("--no-run"))?;
    let mut bench = bench();
    bench.env("UNLADE_UNPACKER", dist::build()?.program);
    bench.args(["--", "--rounds", &rounds]);
    if env::var_os(CLUSTER).is_some_and(|cluster| !cluster.is_empty()) {
        return command::run(&mut bench);
    }
    // One node, so that it has all the images after the first rounds.
    ForTests::up(1)?.run(&mut bench, command::run)
}
