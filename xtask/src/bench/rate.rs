//! `cargo xtask bench rate`: rates within one process, and the floors below them.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use super::{
    Report, directory,
    goal::{Bound, Goal, digits},
    sample::{self, Bundle},
    side::{self, Pair, Side},
};
use crate::command::{self, Error};

/// What both sides do, with the name of its list of inputs, and how many times Go's rate ours must
/// be at least.
const BOTH: [(&str, &str, &str, f64); 4] = [
    ("ConfigMap written by upstream -> bundle, gzip", "load", "gzip", 12.0),
    ("ConfigMap written by upstream -> bundle, plain", "load", "plain", 12.0),
    ("YAML -> JSON", "json", "manifests", 10.0),
    ("manifest -> gzip+base64", "encode", "manifests", 2.5),
];

/// What only our side does.
const OURS: [(&str, &str); 5] = [
    ("copying memory", "copy"),
    ("decompressing with zlib-rs alone", "inflate"),
    ("compressing with zlib-rs alone, level 7", "deflate"),
    ("YAML -> values, with the composer for the block style", "read"),
    ("YAML -> values, with the parser library alone", "library"),
];

/// The lists of inputs in a directory, each with the number of inputs and of their decoded bytes.
struct Lists {
    directory: PathBuf,
    sizes: Vec<(&'static str, usize, f64)>,
}

pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let programs = side::programs()?;
    let [_, peer] = &programs;
    let lists = prepare(peer)?;
    let mut sides = side::start(&programs)?;
    let mut goals = Vec::new();
    let mut rows =
        "| what | sample | ratio | ours, MB/s | Go's, MB/s |\n|---|---|--:|--:|--:|\n".to_owned();
    let mut encoded = [0.0; 2];
    for (what, work, name, least) in BOTH {
        let (sample, n_bytes) = lists.sample(name);
        let measured = side::alternate(&mut sides, work, 1, &lists.path(name), n_rounds)?;
        let [ours, theirs] = measured.map(|measured| n_bytes / 1e6 / measured.seconds);
        if work == "encode" {
            encoded = measured.map(|measured| measured.n_bytes);
        }
        let (ratio, goal) = (ours / theirs, Bound::AtLeast(least));
        _ = writeln!(
            rows,
            "| {what} | {sample} | {} | {} | {} |",
            digits(ratio),
            digits(ours),
            digits(theirs)
        );
        goals.push(Goal::ratio(format!("{what}: times Go's rate"), ratio, goal));
    }
    let [ours, theirs] = encoded;
    goals.push(Goal::ratio(
        "manifest -> gzip+base64: size, compared with Go's",
        ours / theirs,
        Bound::None,
    ));
    let floors = floors(&mut sides, &lists, n_rounds)?;
    let text = include_str!("note/rate.md.in").replace("{rates}", &rows);
    Ok(Report { goals, text: text.replace("{floors}", &floors) })
}

fn floors(sides: &mut Pair<Side>, lists: &Lists, n_rounds: usize) -> Result<String, Error> {
    let [ours, _] = sides;
    let mut rows = "| what | sample | ours, MB/s |\n|---|---|--:|\n".to_owned();
    for (what, work) in OURS {
        let (sample, n_bytes) = lists.sample("manifests");
        let shortest = ours.measure_shortest(work, 1, &lists.path("manifests"), n_rounds)?;
        _ = writeln!(rows, "| {what} | {sample} | {} |", digits(n_bytes / 1e6 / shortest));
    }
    Ok(rows)
}

impl Lists {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns a description of the inputs, and the number of their bytes.
    fn sample(&self, name: &str) -> (String, f64) {
        let found = self.sizes.iter().find(|(found, ..)| *found == name);
        let &(_, n_inputs, n_bytes) = found.unwrap_or(&("", 0, f64::NAN));
        let kind = if name == "manifests" { "manifests" } else { "bundles" };
        (format!("{n_inputs} {kind}, {:.1} MB", n_bytes / 1e6), n_bytes)
    }

    fn add(&mut self, name: &'static str, files: &[(PathBuf, u64)]) -> Result<(), Error> {
        write_list(&self.path(name), files.iter().map(|(path, _)| path.as_path()))?;
        #[expect(clippy::cast_precision_loss, reason = "fewer bytes than 2^52")]
        let n_bytes = files.iter().map(|(_, size)| size).sum::<u64>() as f64;
        self.sizes.push((name, files.len(), n_bytes));
        Ok(())
    }
}

/// Writes the lists: the manifests, and what upstream's writer makes of each bundle in each
/// encoding. It refuses bundles that are too large for a ConfigMap.
fn prepare(peer: &Path) -> Result<Lists, Error> {
    let bundles = sample::all()?;
    let mut lists = Lists { directory: directory("rate")?, sizes: Vec::new() };
    let manifests: Vec<_> =
        bundles.iter().map(Bundle::manifests).collect::<Result<Vec<_>, _>>()?.concat();
    lists.add("manifests", &manifests)?;
    for (encoding, is_compressed) in [("gzip", true), ("plain", false)] {
        let config_maps = fill(peer, &bundles, is_compressed)?;
        let mut fitting = Vec::new();
        for ((bundle, config_map), number) in bundles.iter().zip(config_maps).zip(0..) {
            let Some(config_map) = config_map else { continue };
            let path = lists.directory.join(format!("{encoding}-{number}.json"));
            fs::write(&path, config_map.to_string()).map_err(Error::file(&path))?;
            let size = bundle.manifests()?.iter().map(|(_, size)| size).sum();
            fitting.push((path, size));
        }
        lists.add(encoding, &fitting)?;
    }
    Ok(lists)
}

/// Writes a list for [`Side::measure`].
pub(super) fn write_list<'p>(
    list: &Path,
    files: impl Iterator<Item = &'p Path>,
) -> Result<(), Error> {
    let mut text = String::new();
    for path in files {
        _ = writeln!(text, "{}", path.display());
    }
    fs::write(list, text).map_err(Error::file(list))
}

/// Returns what upstream's writer makes of each bundle, or nothing if it refuses the bundle.
fn fill(peer: &Path, bundles: &[Bundle], gzip: bool) -> Result<Vec<Option<Value>>, Error> {
    let mut command = Command::new(peer);
    // It logs each file.
    command.arg("answer").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let program = command::describe(&command);
    let failed = |source| Error::Start { program: program.clone(), source };
    let mut process = command.spawn().map_err(failed)?;
    let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
    let mut requests = String::new();
    for bundle in bundles {
        let existing = json!({"metadata": {"name": "bench", "namespace": "bench"}});
        let fill = json!({
            "dir": bundle.path, "gzip": gzip, "limit": u64::MAX, "image": "", "existing": existing,
        });
        _ = writeln!(requests, "{}", json!({"fill": fill}));
    }
    // Written beside the reader, because the pipes have limited space.
    let writer = thread::spawn(move || {
        stdin.map_or(Ok(()), |mut stdin| stdin.write_all(requests.as_bytes()))
    });
    let mut answers = Vec::new();
    for line in stdout.map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let mut answer: Value = serde_json::from_str(&line.map_err(failed)?)
            .map_err(|source| Error::Answer { program: program.clone(), source })?;
        answers.push(answer.get_mut("configMap").map(Value::take));
    }
    _ = writer.join();
    process.wait().map_err(failed)?;
    if answers.len() == bundles.len() {
        Ok(answers)
    } else {
        Err(Error::Found(format!("{program} gave {} answers", answers.len())))
    }
}
