//! `cargo xtask test`.

use std::{env, fs, thread};

use unlade_testbed::{Olm, Peers, Settings};

use crate::{
    cluster,
    command::{self, Error, cargo},
    need, workspace,
};

/// How many tests the harness runs beside each other.
const THREADS: &str = "RUST_TEST_THREADS";

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
    /// Also the slow ones, such as those of a node that is lost.
    #[arg(long)]
    all: bool,
    /// Leave out the tests on a cluster. Without this a testbed is brought up for them where that
    /// can be (root, on Linux), and goes again; `UNLADE_CLUSTER` names any other cluster.
    #[arg(long)]
    no_cluster: bool,
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
    if env::var_os(THREADS).is_none() {
        test.env(THREADS, threads().to_string());
    }
    if arguments.require_all {
        test.env(REQUIRE_ALL, "1");
    }
    test.args(&arguments.filter);
    test.arg("--").args(arguments.all.then_some("--include-ignored")).args(&arguments.harness);
    let mut left_out: Vec<String> = missing
        .iter()
        .map(|need| format!("{}: {} is missing: {}", need.tests, need.name, need.hint))
        .collect();
    let cluster = testbed(arguments)?;
    if arguments.filter.is_none() {
        build_peers(&cluster);
    }
    let outcome = match cluster {
        Cluster::Testbed(testbed) => testbed.run(&mut test, command::run),
        Cluster::NotNeeded => command::run(&mut test),
        Cluster::LeftOut(why) => {
            left_out.push(format!("tests on a cluster (cluster_*): {why}"));
            command::run(&mut test)
        }
    };
    left_out.extend(fs::read_to_string(&report).map_err(file)?.lines().map(ToOwned::to_owned));
    fs::remove_file(&report).map_err(file)?;
    left_out.sort();
    left_out.dedup();
    for line in &left_out {
        eprintln!("LEFT OUT: {line}");
    }
    outcome?;
    match (left_out.as_slice(), &arguments.filter) {
        ([], None) => eprintln!("\nEvery test was run, none was left out."),
        ([], Some(filter)) => eprintln!("\nEvery test named *{filter}* was run."),
        _ if arguments.require_all => return Err(Error::Found("tests were left out".into())),
        _ => eprintln!("\nEvery OTHER test was run. `--require-all` makes that a failure."),
    }
    Ok(())
}

/// Builds upstream's programs before the first test starts, so that no test waits for a compiler,
/// and says how far it is. A run with a filter leaves it to the tests that want them.
fn build_peers(cluster: &Cluster) {
    let prepare = || {
        let settings = Settings::from_env()?;
        Peers::prepare(&settings.cache, &mut cluster::tell)?;
        if !matches!(cluster, Cluster::LeftOut(_)) {
            Olm::prepare(&settings.cache, &mut cluster::tell)?;
        }
        Ok::<_, unlade_testbed::Error>(())
    };
    // The tests that need them then say the same, and that they are left out.
    if let Err(error) = prepare() {
        eprintln!("upstream's programs cannot be built: {error}");
    }
}

/// At least four: tests on a cluster, which take nearly all of the time, mostly wait for it.
fn threads() -> usize {
    thread::available_parallelism().map_or(4, |n_cpus| n_cpus.get().max(4))
}

/// What the tests on a cluster run on.
enum Cluster {
    Testbed(cluster::ForTests),
    /// Another cluster is named, or none of them is among the tests.
    NotNeeded,
    LeftOut(String),
}

fn testbed(arguments: &Arguments) -> Result<Cluster, Error> {
    let is_wanted = arguments.filter.as_ref().is_none_or(|filter| filter.contains("cluster"));
    let is_named = env::var_os(cluster::CLUSTER).is_some_and(|cluster| !cluster.is_empty());
    if !is_wanted || is_named {
        return Ok(Cluster::NotNeeded);
    }
    if arguments.no_cluster {
        return Ok(Cluster::LeftOut("--no-cluster was given".into()));
    }
    if !need::is_root() {
        return Ok(Cluster::LeftOut("they need root (docs/testbed.md)".into()));
    }
    match cluster::ForTests::up(2) {
        Ok(testbed) => Ok(Cluster::Testbed(testbed)),
        // Where they are required, the reason must not drown in the output of the other tests.
        Err(error) if arguments.require_all => Err(error),
        Err(error) => Ok(Cluster::LeftOut(format!("the testbed is not up: {error}"))),
    }
}
