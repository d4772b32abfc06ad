//! `cargo xtask fuzz`: runs the fuzz targets without cargo-fuzz.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    thread,
};

use crate::{
    bench::measure::{Arguments as Measure, Run, run_within},
    command::{self, Error, cargo},
    dist::{Architecture, Libc},
    workspace,
};

mod report;
mod total;

use report::Report;

/// The flags of cargo-fuzz without a sanitizer: coverage for libFuzzer, and overflow checks. A
/// stable toolchain supports all of them.
const FLAGS: [&str; 11] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg",
    "fuzzing",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Cllvm-args=-sanitizer-coverage-stack-depth",
    "-Cdebug-assertions",
    "-Ccodegen-units=1",
];
/// The maximum size of an input, in bytes. Larger inputs are families of `unlade-hostile`.
const LENGTH: u32 = 64 << 10;
/// The time in seconds after which a target ends if one input takes longer. It is generous, because
/// the machine may be busy; the targets also limit the processor time of each input.
const TIMEOUT: u32 = 900;
/// The maximum resident memory of a target, in MiB. It includes the corpus, and freed memory that
/// the allocator keeps; the targets also limit the memory of each input.
const MEMORY: u32 = 2_048;

/// Runs fuzz targets, and prints a table of the runs.
///
/// Builds them with the stable toolchain and without cargo-fuzz, whose layout they have.
/// Interesting inputs are kept in fuzz/corpus, and findings in fuzz/artifacts. Fails if there is a
/// finding.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The time that each target runs, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The number of targets that run at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Add the runs to the totals in docs/fuzzing.md.
    #[arg(long, conflicts_with = "reproduce")]
    record: bool,
    /// Run one target with this file only, and show its output.
    #[arg(long, value_name = "FILE", requires = "targets")]
    reproduce: Option<PathBuf>,
    /// The targets; all targets by default.
    targets: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let all = targets()?;
    if let Some(unknown) = arguments.targets.iter().find(|name| !all.contains(name)) {
        return Err(Error::Found(format!(
            "the target {unknown:?} does not exist; the targets are {}",
            all.join(", ")
        )));
    }
    let chosen = if arguments.targets.is_empty() { &all } else { &arguments.targets };
    let programs = build(chosen)?;
    if let (Some(file), Some(target)) = (&arguments.reproduce, chosen.first()) {
        let timeout = format!("-timeout={TIMEOUT}");
        return command::run(Command::new(programs.join(target)).arg(timeout).arg(file));
    }
    let seeds = place().join("seeds");
    let seeds_argument = seeds.to_string_lossy().into_owned();
    command::run(&mut cargo(
        ["run", "--locked", "--quiet", "--package", "unlade-hostile", "--", "seeds"]
            .map(str::to_owned)
            .into_iter()
            .chain([seeds_argument]),
    ))?;

    let waiting = Mutex::new(chosen.iter());
    let reports = Mutex::new(Vec::new());
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
    let work = || {
        while let Some(target) = next() {
            let report = run_target(target, &programs, &seeds, arguments.seconds);
            if let Ok(mut reports) = reports.lock() {
                reports.push(report);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..arguments.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let reports = reports.into_inner().unwrap_or_default();
    let mut reports: Vec<Report> = reports.into_iter().collect::<Result<_, _>>()?;
    reports.sort_by(|one, other| one.target.cmp(&other.target));
    if arguments.record {
        total::record(&reports)?;
    }
    summarize(&reports)
}

/// Returns the directory of builds, seeds and logs.
fn place() -> PathBuf {
    workspace::target().join("fuzz")
}

/// Reads the names of all targets.
fn targets() -> Result<Vec<String>, Error> {
    let directory = workspace::root().join("fuzz/fuzz_targets");
    let mut names: Vec<_> = entries(&directory)?
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds targets, and returns their directory.
fn build(targets: &[String]) -> Result<PathBuf, Error> {
    if !command::is_on_path("c++") {
        return Err(Error::Missing {
            what: "libFuzzer needs a C++ compiler".to_owned(),
            hint: "install g++ or clang".to_owned(),
        });
    }
    let triple = Architecture::host()?.target(Libc::Glibc);
    let mut build = cargo(["build", "--release", "--locked", "--target", &triple]);
    build.args(["--manifest-path", "fuzz/Cargo.toml", "--target-dir"]).arg(place());
    build.args(targets.iter().flat_map(|target| ["--bin", target]));
    command::run(build.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")))?;
    Ok(place().join(triple).join("release"))
}

fn run_target(target: &str, programs: &Path, seeds: &Path, seconds: u64) -> Result<Report, Error> {
    let fuzz = workspace::root().join("fuzz");
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    let logs = place().join("logs");
    for directory in [&corpus, &artifacts, &logs] {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    let before = entries(&artifacts)?;
    let mut libfuzzer = Command::new(programs.join(target));
    libfuzzer.args([&corpus, &seeds.join(target)]);
    libfuzzer.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={LENGTH}"));
    libfuzzer.arg(format!("-timeout={TIMEOUT}")).arg(format!("-rss_limit_mb={MEMORY}"));
    // The targets detect slow inputs by processor time, which does not depend on other load.
    libfuzzer.arg(format!("-report_slow_units={TIMEOUT}")).arg("-print_final_stats=1");
    libfuzzer.arg(format!("-artifact_prefix={}/", artifacts.display()));
    let dictionary = fuzz.join("dictionaries").join(format!("{target}.dict"));
    if dictionary.is_file() {
        libfuzzer.arg(format!("-dict={}", dictionary.display()));
    }
    let log = logs.join(format!("{target}.log"));
    let Run { cpu, code, .. } = run_within(&libfuzzer, &Measure::log(log.clone()))?;
    let text = fs::read(&log).map_err(Error::file(&log))?;
    let findings = entries(&artifacts)?.into_iter().filter(|path| !before.contains(path)).collect();
    let text = String::from_utf8_lossy(&text);
    Ok(Report::read(target, &text, cpu, findings, code == Some(0), log))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = Error::file(directory);
    let entries = fs::read_dir(directory).map_err(file)?;
    entries.map(|entry| Ok(entry.map_err(file)?.path())).collect()
}

fn summarize(reports: &[Report]) -> Result<(), Error> {
    println!("{}", report::HEADING);
    for report in reports {
        println!("{}", report.row());
    }
    let failed: Vec<_> = reports.iter().filter(|report| report.is_finding()).collect();
    for report in &failed {
        eprintln!("{}", report.explain());
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Error::Found(format!("{} of {} targets found something", failed.len(), reports.len())))
    }
}
