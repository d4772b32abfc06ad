//! Measures the server, compared with `opm serve`: its start, its memory, and its answers.
//!
//! ```console
//! $ cargo xtask image --server
//! $ UNLADE_SERVER=target/shipped/unlade-server-amd64 \
//!     cargo bench --package unlade-server -- CATALOG [ROUNDS] [SECONDS]
//! ```
//!
//! Relative paths begin at the root of the repository. Without `UNLADE_SERVER`, it measures the
//! program that Cargo builds for benchmarks.
//!
//! The programs run alternately. CPU time and memory are those of the server's process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark: what fails here ends it")]

mod client;
mod process;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use unlade_testbed::{Olm, Settings};

use crate::client::Client;
use crate::process::{Sample, Served};

/// The number of bursts of the package server. The system counts CPU time in units of 10 ms, and a
/// burst takes less.
const N_BURSTS: usize = 50;

/// A program with the arguments of `opm serve`.
struct Program {
    path: PathBuf,
    arguments: &'static [&'static str],
}

/// What one server did in one round.
#[derive(Default)]
struct Round {
    without_cache: Sample,
    with_cache: Sample,
    list: Sample,
    snapshot: Sample,
    bursts: Sample,
    steady: Sample,
    /// The 99th percentile of the latency of `GetBundle`.
    p99: Duration,
}

/// A part of a round.
type Part = fn(&Round) -> Sample;

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<_> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let [catalog, rest @ ..] = arguments.as_slice() else { panic!("name a catalog") };
    // Cargo runs benchmarks in the directory of their package.
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let catalog = root.join(catalog);
    let number = |at: usize, default| rest.get(at).map_or(default, |it| it.parse().unwrap());
    let (n_rounds, n_seconds) = (number(0, 3), number(1, 60));
    let settings = Settings::from_env().unwrap();
    let olm = Olm::prepare(&settings.cache, &mut |line| eprintln!("{line}")).unwrap();
    let built = env!("CARGO_BIN_EXE_unlade-server").into();
    let ours = root.join(env::var_os("UNLADE_SERVER").unwrap_or(built));
    let programs = [
        Program { path: ours, arguments: &[] },
        Program { path: olm.program("opm"), arguments: &["serve", "--pprof-addr="] },
    ];
    let runtime = Runtime::new().unwrap();
    let mut rounds = programs.each_ref().map(|_| Vec::new());
    let caches = programs.each_ref().map(|program| build_cache(program, &catalog));
    for _ in 0..n_rounds {
        for ((program, cache), rounds) in programs.iter().zip(&caches).zip(&mut rounds) {
            let run = measure(program, &catalog, cache.path(), n_seconds);
            rounds.push(runtime.block_on(run));
        }
    }
    print(&rounds, &caches.each_ref().map(|cache| size(cache.path())));
}

/// Builds a cache in a new directory.
fn build_cache(program: &Program, catalog: &Path) -> TempDir {
    let directory = TempDir::new().unwrap();
    let mut command = program.command(catalog);
    // The cache for opm is not read by our program.
    if program.arguments.is_empty() {
        command.arg("--cache-format=unlade");
    }
    let output = command.arg("--cache-dir").arg(directory.path()).arg("--cache-only").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    directory
}

impl Program {
    fn command(&self, catalog: &Path) -> std::process::Command {
        let mut command = std::process::Command::new(&self.path);
        command.args(self.arguments).arg(catalog).arg("--termination-log=/dev/null");
        command
    }
}

async fn measure(program: &Program, catalog: &Path, cache: &Path, n_seconds: u32) -> Round {
    let mut round = Round::default();
    let served = Served::start(program.command(catalog)).await;
    round.without_cache = served.sample();
    drop(served);
    let mut command = program.command(catalog);
    command.arg("--cache-dir").arg(cache);
    let served = Served::start(command).await;
    round.with_cache = served.sample();
    let mut client = Client::connect(&served.address).await;
    let names = client.list_bundles().await;
    round.list = served.sample_of(client.list_bundles()).await;
    round.snapshot = served.sample_of(client.snapshot()).await;
    let bursts = async {
        for _ in 0..N_BURSTS {
            client.burst().await;
        }
    };
    round.bursts = served.sample_of(bursts).await;
    let steady = async { round.p99 = client.steady(&names, n_seconds).await };
    round.steady = served.sample_of(steady).await;
    round
}

fn size(path: &Path) -> u64 {
    let metadata = fs::metadata(path).unwrap();
    if metadata.is_file() {
        return metadata.len();
    }
    fs::read_dir(path).unwrap().map(|entry| size(&entry.unwrap().path())).sum()
}

/// Prints the medians.
fn print(rounds: &[Vec<Round>; 2], caches: &[u64; 2]) {
    println!("| what | ratio | ours | opm |\n|---|--:|--:|--:|");
    let row = |what: &str, unit: &str, value: &dyn Fn(&Round) -> f64| {
        let [ours, theirs] = rounds.each_ref().map(|rounds| {
            let mut values: Vec<_> = rounds.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        });
        println!("| {what} | {:.3} | {ours:.2} {unit} | {theirs:.2} {unit} |", ours / theirs);
    };
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    // Whether the time and the CPU time are shown: the client determines the time at a constant
    // rate, and less CPU time than the unit of the system cannot be measured.
    let samples: [(_, Part, _, _); 6] = [
        ("start without a cache", |it| it.without_cache, true, true),
        ("start with a cache", |it| it.with_cache, true, true),
        ("ListBundles", |it| it.list, true, false),
        ("a snapshot as OLM takes it", |it| it.snapshot, true, false),
        ("50 bursts of the package server", |it| it.bursts, true, true),
        ("1,000 GetBundle per second", |it| it.steady, false, true),
    ];
    for (what, sample, has_time, has_cpu) in samples {
        if has_time {
            row(&format!("{what}: time"), "ms", &|round| ms(sample(round).wall));
        }
        if has_cpu {
            row(&format!("{what}: CPU"), "ms", &|round| ms(sample(round).cpu));
        }
        row(&format!("{what}: memory"), "MiB", &|round| sample(round).memory);
        row(&format!("{what}: peak memory"), "MiB", &|round| sample(round).peak);
    }
    row("1,000 GetBundle per second: p99", "ms", &|round| ms(round.p99));
    #[expect(clippy::cast_precision_loss, reason = "a cache has less than 2^53 bytes")]
    let [ours, theirs] = caches.map(|bytes| bytes as f64 / 1e3);
    let ratio = ours / theirs;
    println!("| cache on disk | {ratio:.3} | {ours:.0} kB | {theirs:.0} kB |");
}
