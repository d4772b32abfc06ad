//! `cargo xtask bench cluster`: launches compared with OLM's own unpack Job.

use std::env;

use crate::{
    cluster::{CLUSTER, ForTests},
    command::{self, Error, cargo},
    dist,
};

/// Measures launches on a new testbed, from the first request to the loaded bundle, compared with
/// OLM's own unpack Job with the real `opm` and `cpb`, and prints Markdown tables.
///
/// The first run builds OLM's programs, which takes minutes. With `UNLADE_CLUSTER=testbed`, the
/// testbed that is up is used. Nothing else may run on the machine meanwhile.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many times each way is measured.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Error> {
    let rounds = arguments.rounds.to_string();
    let bench = || cargo(["bench", "--locked", "--package", "unlade-tests", "--bench", "cluster"]);
    // Compiled first, so that the testbed does not have to wait for it.
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
