//! `cargo xtask test`.

use std::fs;

use crate::{
    cluster,
    command::{self, Error, cargo},
    need, workspace,
};

/// What the tests are told by environment; `unlade_tests::left_out` reads both.
const LEFT_OUT: &str = "UNLADE_LEFT_OUT";
const REQUIRE_ALL: &str = "UNLADE_REQUIRE_ALL";

/// Runs every test that this machine can run: unit, table, property, command-line and
/// documentation tests of every crate, with every feature.
///
/// What the tests need is installed where that is allowed (root, on a Debian). Tests whose needs
/// can't be met are left out, and named at the end.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail if any test would be left out.
    #[arg(long)]
    require_all: bool,
    /// Also run the tests on a cluster: on a testbed that is brought up for them and goes again.
    /// docs/testbed.md tells how to run them on any other cluster.
    #[arg(long)]
    cluster: bool,
    /// Only tests whose name contains this.
    filter: Option<String>,
    /// More for the test harness, such as `--nocapture`.
    #[arg(last = true)]
    harness: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let missing = need::provide();
    if arguments.require_all && !missing.is_empty() {
        let lines = missing.iter().map(|need| format!("\n  {}: {}", need.name, need.hint));
        return Err(Error::Found(format!("needs that are not met:{}", lines.collect::<String>())));
    }

    let report = workspace::target().join(format!("left-out-{}.txt", std::process::id()));
    let file = |source| Error::File { path: report.display().to_string(), source };
    fs::create_dir_all(workspace::target()).map_err(file)?;
    fs::write(&report, "").map_err(file)?;

    // Every target is run even if one fails: one run tells everything.
    let mut test = cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]);
    test.env(LEFT_OUT, &report);
    if arguments.require_all {
        test.env(REQUIRE_ALL, "1");
    }
    test.args(&arguments.filter);
    if !arguments.harness.is_empty() {
        test.arg("--").args(&arguments.harness);
    }
    let outcome = if arguments.cluster {
        cluster::with_testbed(&mut test, command::run)
    } else {
        command::run(&mut test)
    };

    let mut left_out: Vec<String> = missing
        .iter()
        .map(|need| format!("{}: {} is missing: {}", need.tests, need.name, need.hint))
        .collect();
    left_out.extend(fs::read_to_string(&report).map_err(file)?.lines().map(ToOwned::to_owned));
    fs::remove_file(&report).map_err(file)?;
    left_out.sort();
    left_out.dedup();
    for line in &left_out {
        eprintln!("LEFT OUT: {line}");
    }
    outcome?;
    if !arguments.cluster {
        eprintln!("\nTests on a cluster were not asked for: `--cluster` runs them too.");
    }
    match (left_out.as_slice(), &arguments.filter) {
        ([], None) => eprintln!("\nEvery test was run, none was left out."),
        ([], Some(filter)) => eprintln!("\nEvery test named *{filter}* was run."),
        _ if arguments.require_all => return Err(Error::Found("tests were left out".into())),
        _ => eprintln!("\nEvery OTHER test was run. `--require-all` makes that a failure."),
    }
    Ok(())
}
