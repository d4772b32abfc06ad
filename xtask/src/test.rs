//! `cargo xtask test`: every test that this machine can run.

use std::{collections::BTreeMap, env, process::Command, thread};

use unlade_testbed::{Node, Settings};

use crate::{
    cluster,
    command::{self, Error, cargo},
    need::{Limits, Plan},
    suite::{self, Suite, Test},
    workspace,
};

/// The variable with the number of tests that the harness runs at the same time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs every test that this machine can run: unit, table, property, command-line and
/// documentation tests of every crate, with every feature.
///
/// It announces everything that the selected tests need, and installs, fetches and builds it before
/// the first test starts. It leaves out tests whose needs cannot be met, and lists them at the end.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Arguments {
    /// Fail if any test would be skipped.
    #[arg(long)]
    require_all: bool,
    /// Also run slow tests, such as those that wait until a lost node is noticed.
    #[arg(long)]
    all: bool,
    /// Install, fetch and build nothing except with cargo, and skip the tests that need more.
    #[arg(long)]
    no_install: bool,
    /// Skip the tests on a cluster. Otherwise, a testbed is started for them if possible (as
    /// root, on Linux), and removed at the end. `UNLADE_CLUSTER` names another cluster.
    #[arg(long)]
    no_cluster: bool,
    /// Only run tests whose name contains this text.
    filter: Option<String>,
    /// Arguments for the test harness, such as `--nocapture`.
    #[arg(last = true)]
    harness: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let suite = Suite::read_tree()?;
    let selected = suite.selected(arguments.filter.as_deref());
    if let (true, Some(filter)) = (selected.is_empty(), &arguments.filter) {
        return Err(Error::Found(format!("no test name contains {filter:?}")));
    }
    let is_wanted = |test: &&Test| test.is_ordinary() || arguments.all;
    let mut wanted: Vec<_> = selected.iter().copied().filter(is_wanted).collect();

    let settings = Settings::from_env()?;
    let Arguments { no_install, no_cluster, .. } = *arguments;
    let limits = Limits { no_install, no_cluster };
    let plan = |tests: &[&Test]| Plan::new(&needs(tests), &limits, &settings);
    let all = plan(&wanted);
    // Nothing is built for a test that lacks something else.
    wanted.retain(|test| test.needs().iter().all(|need| all.meets(need)));
    let mut plan = plan(&wanted);
    plan.unmet = all.unmet;
    announce(&plan, &settings);
    let refused = |plan: &Plan| arguments.require_all && !plan.unmet.is_empty();
    if refused(&plan) {
        return Err(unmet(&plan));
    }
    plan.carry_out(&settings)?;
    // Everything is compiled first, so that the testbed does not have to wait for it.
    command::run(&mut cargo(["test", "--workspace", "--all-features", "--no-run"]))?;
    let testbed = testbed(&mut plan);
    if refused(&plan) {
        return Err(unmet(&plan));
    }

    let left_out = left_out(&selected, &plan, arguments.all);
    let skipped = skipped(&selected, &left_out, arguments.all);
    let outcome = run_tests(arguments, &plan, testbed, &skipped);
    report(arguments, &plan, &left_out, n_slow(&selected, arguments.all));
    outcome
}

fn needs<'t>(tests: &[&'t Test]) -> Vec<&'t str> {
    tests.iter().flat_map(|test| test.needs()).map(String::as_str).collect()
}

/// Announces what will be done on this machine before it is done.
fn announce(plan: &Plan, settings: &Settings) {
    let lines = plan.announcement(settings);
    if lines.is_empty() {
        return;
    }
    eprintln!("Before the tests, this will");
    for line in lines {
        eprintln!("  {line}");
    }
    eprintln!(
        "The times are those of two idle cores. With `--no-install`, nothing is installed or \
         fetched, only cargo builds, and tests that need more are skipped."
    );
}

fn unmet(plan: &Plan) -> Error {
    let lines = plan.unmet.iter().map(|(name, hint)| format!("\n  {name}: {hint}"));
    Error::Found(format!("the machine does not meet these needs:{}", lines.collect::<String>()))
}

/// Brings up the testbed of the plan. If it does not come up, the need for it is unmet.
fn testbed(plan: &mut Plan) -> Option<cluster::ForTests> {
    if !plan.needs_testbed {
        return None;
    }
    // One of the nodes reports the digests of image volumes.
    let nodes = [Node::default(), Node::default().with_volume_digests()];
    match cluster::ForTests::up(&nodes) {
        Ok(testbed) => Some(testbed),
        Err(error) => {
            let why = format!("the testbed did not come up: {error}");
            plan.unmet.extend(["a cluster", "a testbed"].map(|need| (need, why.clone())));
            None
        }
    }
}

/// Returns the ignored tests that do not run, each with its unmet need.
fn left_out<'t>(selected: &[&'t Test], plan: &Plan, all: bool) -> Vec<(&'t Test, &'t str)> {
    let lacks = |test: &'t Test| -> Option<&'t str> {
        if !test.is_ordinary() && !all {
            return None;
        }
        test.needs().iter().map(String::as_str).find(|need| !plan.meets(need))
    };
    selected.iter().filter_map(|test| Some((*test, lacks(test)?))).collect()
}

/// Returns the parts of names that the harness has to skip: the tests that are left out, slow tests
/// unless `--all` was given, and child programs. If no test on a cluster runs, a single prefix
/// skips them all.
fn skipped(selected: &[&Test], left_out: &[(&Test, &str)], all: bool) -> Vec<String> {
    let is_skipped = |test: &&&Test| {
        (test.is_slow() && !all) || left_out.iter().any(|(other, _)| other == *test)
    };
    let (skipped, run): (Vec<&Test>, Vec<&Test>) =
        selected.iter().partition(|test| is_skipped(test));
    let is_on_cluster = |test: &&&Test| test.name.starts_with(suite::CLUSTER);
    let no_cluster = run.iter().filter(is_on_cluster).count() == 0;
    let mut names = vec![suite::CHILD.to_owned()];
    if no_cluster && skipped.iter().any(|test| is_on_cluster(&test)) {
        names.push(suite::CLUSTER.to_owned());
    }
    let others = skipped.iter().filter(|test| !(no_cluster && is_on_cluster(test)));
    names.extend(others.map(|test| test.name.clone()));
    names
}

/// Returns the number of tests that are left out because they are slow.
fn n_slow(selected: &[&Test], all: bool) -> usize {
    if all { 0 } else { selected.iter().filter(|test| test.is_slow()).count() }
}

/// Runs the tests on a testbed at the same time as all others, because they wait most of the time.
/// With a filter, a single command runs all tests, because the harness combines filters with "or".
fn run_tests(
    arguments: &Arguments,
    plan: &Plan,
    testbed: Option<cluster::ForTests>,
    skipped: &[String],
) -> Result<(), Error> {
    let command = |targets: Option<&str>, filter: Option<&str>, skip: Option<&str>| {
        // Every target runs even if one fails, so that one run shows all failures.
        let mut test = cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]);
        test.envs(plan.programs.iter().map(|(name, path)| (name, path)));
        test.args(targets).args(filter).args(["--", "--include-ignored"]);
        let skipped = skipped.iter().map(String::as_str).chain(skip);
        test.args(skipped.flat_map(|name| ["--skip", name])).args(&arguments.harness);
        test
    };
    let with_threads = |mut test: Command| {
        if env::var_os(THREADS).is_none() {
            test.env(THREADS, threads().to_string());
        }
        test
    };
    let filter = arguments.filter.as_deref();
    let mut all = with_threads(command(None, filter, None));
    match testbed {
        None => command::run(&mut all),
        Some(testbed) if filter.is_some() => testbed.run(&mut all, command::run),
        Some(testbed) => {
            let mut others = command(None, None, Some(suite::CLUSTER));
            // The tests in the documentation need no cluster.
            let mut on_cluster = with_threads(command(Some("--tests"), Some(suite::CLUSTER), None));
            let log = workspace::target().join("cluster-tests.log");
            testbed
                .run(&mut on_cluster, |on_cluster| command::run_both(&mut others, on_cluster, &log))
        }
    }
}

/// Reports which tests did not run, and why.
fn report(arguments: &Arguments, plan: &Plan, left_out: &[(&Test, &str)], n_slow: usize) {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, need) in left_out {
        *numbers.entry(need).or_default() += 1;
    }
    eprintln!();
    for (need, n) in &numbers {
        let why = plan.unmet.iter().find(|(name, _)| name == need).map_or("", |(_, why)| why);
        eprintln!("SKIPPED: {n} tests that need {need}: {why}");
    }
    let slow = match n_slow {
        0 => String::new(),
        n => format!(", except {n} slow ones, which `--all` runs"),
    };
    match (numbers.is_empty(), &arguments.filter) {
        (true, None) => eprintln!("All tests were run{slow}."),
        (true, Some(filter)) => eprintln!("All tests named *{filter}* were run{slow}."),
        _ => eprintln!("All OTHER tests were run. With `--require-all`, this is a failure."),
    }
}

/// Returns the number of threads for tests on a cluster, which is at least four, because they wait
/// most of the time.
fn threads() -> usize {
    thread::available_parallelism().map_or(4, |n_cpus| n_cpus.get().max(4))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "#[test]\n#[ignore = \"needs a testbed\"]\nfn cluster_one() {}\n\
        #[test]\n#[ignore = \"needs a cluster; slow: 50 s\"]\nfn cluster_slow() {}\n\
        #[test]\n#[ignore = \"needs strace, Go\"]\nfn traced() {}\n\
        #[test]\nfn plain() {}\n";

    fn skipped_and_left_out(unmet: &[&'static str], all: bool) -> (Vec<String>, Vec<String>) {
        let mut suite = Suite::default();
        suite.add(Path::new("a.rs"), TEXT);
        let selected = suite.selected(None);
        let mut plan = Plan::default();
        plan.unmet.extend(unmet.iter().map(|need| (*need, String::new())));
        let left_out = left_out(&selected, &plan, all);
        let describe = |(test, need): &(&Test, &str)| format!("{}: {need}", test.name);
        (skipped(&selected, &left_out, all), left_out.iter().map(describe).collect())
    }

    #[test]
    fn tests_with_unmet_needs_are_skipped_and_reported() {
        let (skipped, reported) = skipped_and_left_out(&[], false);
        assert_eq!((skipped, reported), (vec!["child_".into(), "cluster_slow".into()], vec![]));
        let (skipped, reported) = skipped_and_left_out(&["Go"], true);
        assert_eq!(skipped, ["child_", "traced"]);
        assert_eq!(reported, ["traced: Go"]);
        let (skipped, reported) = skipped_and_left_out(&["a testbed", "a cluster"], true);
        assert_eq!(skipped, ["child_", "cluster_"]);
        assert_eq!(reported, ["cluster_one: a testbed", "cluster_slow: a cluster"]);
    }
}
