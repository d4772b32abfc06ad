//! `cargo xtask bench cluster`: launches compared with OLM's own unpack Job, and with a Job that
//! does nothing.

use std::{env, process::Command};

use unlade_testbed::Node;

use super::{Report, goal::Goal};
use crate::{
    cluster::{CLUSTER, ForTests},
    command::{self, Error, capture, cargo},
    dist,
};

/// The beginning of a line with a [`Goal`] in the output of the benchmark.
const GOAL: &str = "goal: ";

/// Measures launches on a new testbed, from the first request to the loaded bundle.
///
/// The first run builds OLM's programs, which takes minutes. With `UNLADE_CLUSTER=testbed`, the
/// testbed that is up is used.
pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let n_rounds = n_rounds.to_string();
    let bench = || cargo(["bench", "--locked", "--package", "unlade-tests", "--bench", "cluster"]);
    // Compiled first, so that the testbed does not have to wait for it.
    command::run(bench().arg("--no-run"))?;
    let mut bench = bench();
    bench.env("UNLADE_UNPACKER", dist::build()?.program);
    bench.args(["--", "--rounds", &n_rounds]);
    let capture = |bench: &mut Command| capture(bench).map(|output| output.stdout);
    let output = if env::var_os(CLUSTER).is_some_and(|cluster| !cluster.is_empty()) {
        capture(&mut bench)
    } else {
        // One node, so that it has all the images after the first rounds, with the limits that the
        // nodes of users have.
        let node = Node { has_pull_limits: true, ..Node::default() };
        ForTests::up(&[node])?.run(&mut bench, capture)
    }?;
    let output = String::from_utf8_lossy(&output);
    let (goals, tables): (Vec<_>, Vec<_>) = output.lines().partition(|line| line.starts_with(GOAL));
    let goals: Result<Vec<Goal>, _> =
        goals.iter().map(|line| serde_json::from_str(line.trim_start_matches(GOAL))).collect();
    let goals =
        goals.map_err(|source| Error::Answer { program: "the benchmark".into(), source })?;
    let text = include_str!("note/cluster.md.in").replace("{cluster}", tables.join("\n").trim());
    Ok(Report { goals, text })
}
