//! The two processes that measure within themselves: `loader/benches/rate.rs` and
//! `tests/peers/measure.go`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value;

use super::peer;
use crate::command::{self, Error, capture, cargo};

/// A process that measures on request.
pub(super) struct Side {
    process: Child,
    requests: ChildStdin,
    responses: BufReader<ChildStdout>,
}

/// What one request measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// The processor time in seconds.
    pub(super) seconds: f64,
    /// The number of bytes of the results.
    pub(super) n_bytes: f64,
}

/// Ours, and Go's.
pub(super) type Pair<T> = [T; 2];

/// Returns the programs of both sides.
pub(super) fn programs() -> Result<Pair<PathBuf>, Error> {
    let bench = ["bench", "--locked", "--package", "unlade-loader", "--bench", "rate", "--no-run"];
    let mut bench = cargo(bench);
    bench.arg("--message-format=json-render-diagnostics");
    eprintln!("\n> {}", command::describe(&bench));
    let messages = capture(&mut bench)?.stdout;
    let program = String::from_utf8_lossy(&messages).lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_rate = message.pointer("/target/name").is_some_and(|name| name == "rate");
        message.get("executable").filter(|_| is_rate)?.as_str().map(PathBuf::from)
    });
    let ours = program.ok_or_else(|| Error::Found("cargo built no benchmark".into()))?;
    Ok([ours, peer::build_peer()?])
}

/// Starts both.
pub(super) fn start(programs: &Pair<PathBuf>) -> Result<Pair<Side>, Error> {
    let [ours, theirs] = programs;
    let mut go = Command::new(theirs);
    // On one core, as ours. Otherwise, the garbage collector also uses idle cores.
    go.arg("measure").env("GOMAXPROCS", "1");
    Ok([Side::start(&mut Command::new(ours))?, Side::start(&mut go)?])
}

impl Side {
    fn start(command: &mut Command) -> Result<Self, Error> {
        let program = command::describe(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process =
            command.spawn().map_err(|source| Error::Start { program: program.clone(), source })?;
        let (Some(requests), Some(responses)) = (process.stdin.take(), process.stdout.take())
        else {
            return Err(Error::Found(format!("{program} has no pipes")));
        };
        Ok(Self { process, requests, responses: BufReader::new(responses) })
    }

    /// Measures `work` with each file that `list` names, `times` times.
    pub(super) fn measure(
        &mut self,
        work: &str,
        times: usize,
        list: &Path,
    ) -> Result<Measured, Error> {
        let mut response = String::new();
        writeln!(self.requests, "{work} {times} {}", list.display())
            .and_then(|()| self.responses.read_line(&mut response))
            .map_err(Error::file(list))?;
        let numbers: Vec<f64> =
            response.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [seconds, n_bytes] = numbers[..] else {
            return Err(Error::Found(format!("failed to measure {work}: {response:?}")));
        };
        Ok(Measured { seconds, n_bytes })
    }

    /// Measures the same several times, and returns the shortest time in seconds.
    pub(super) fn measure_shortest(
        &mut self,
        work: &str,
        times: usize,
        list: &Path,
        n_rounds: usize,
    ) -> Result<f64, Error> {
        let mut shortest = f64::INFINITY;
        for _ in 0..n_rounds {
            shortest = shortest.min(self.measure(work, times, list)?.seconds);
        }
        Ok(shortest)
    }

    /// Returns the peak memory of the process so far, in MiB.
    pub(super) fn peak(&self) -> Result<f64, Error> {
        let path = PathBuf::from(format!("/proc/{}/status", self.process.id()));
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| Error::Found("VmHWM is missing".into()))
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may already have ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Measures the same with both sides, one after the other, and returns the shortest times. Both
/// must have results of the same size, unless they compress.
pub(super) fn alternate(
    sides: &mut Pair<Side>,
    work: &str,
    times: usize,
    list: &Path,
    n_rounds: usize,
) -> Result<Pair<Measured>, Error> {
    let mut shortest = [Measured { seconds: f64::INFINITY, n_bytes: 0.0 }; 2];
    for _ in 0..n_rounds {
        for (side, shortest) in sides.iter_mut().zip(&mut shortest) {
            let measured = side.measure(work, times, list)?;
            if measured.seconds < shortest.seconds {
                *shortest = measured;
            }
        }
    }
    let [ours, theirs] = shortest;
    if work != "encode" && (ours.n_bytes - theirs.n_bytes).abs() > 0.0 {
        return Err(Error::Found(format!(
            "{work}: our results have {} bytes, and those of Go {}",
            ours.n_bytes, theirs.n_bytes
        )));
    }
    Ok(shortest)
}
