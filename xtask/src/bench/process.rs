//! `cargo xtask bench process`: the unpacker and the loader as processes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Report,
    goal::{Bound, Goal},
    peer, release_build,
    sample::{self, Bundle},
    table::{self, Task},
    with,
};
use crate::{
    command::{Error, capture},
    dist, workspace,
};

/// The wall time, as a part of that of Go's program.
const TIME: Bound = Bound::AtMost(1.0 / 8.0);
/// The peak memory for the bundles of median size and of the smallest size, in MiB.
const MEMORY: f64 = 10.0;

/// Our programs.
struct Programs {
    unpacker: PathBuf,
    unlade: PathBuf,
}

/// The Go programs.
struct Peers {
    peer: PathBuf,
    opm: PathBuf,
}

pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let bundles = sample::bundles()?;
    let programs = Programs { unpacker: dist::build()?.program, unlade: release_build()? };
    let peers = Peers { peer: peer::build_peer()?, opm: peer::build_opm()? };
    let mut goals = Vec::new();
    let mut rows = table::HEADING.to_owned();
    for (number, bundle) in bundles.iter().enumerate() {
        for (task, is_goal) in
            tasks(bundle, &programs, &peers)?.into_iter().zip([true, true, false])
        {
            let compared = table::compare(&task, &bundle.label, n_rounds)?;
            rows += &compared.row;
            if !is_goal {
                continue;
            }
            let what = |of: &str| format!("{}, {}: {of}", task.name, bundle.label);
            goals.push(Goal::ratio(what("time, compared with Go's"), compared.time, TIME));
            // The largest bundle comes first.
            let most = if number == 0 { 2.0 * bundle.mebibytes() } else { MEMORY };
            goals.push(Goal {
                what: what("peak memory"),
                measured: compared.mebibytes,
                unit: " MiB".into(),
                bound: Bound::AtMost(most),
            });
        }
    }
    let ours = with(&programs.unlade, ["--version"]);
    rows += &table::compare(&Task { name: "start", ours, theirs: None }, "-", n_rounds)?.row;
    Ok(Report { goals, text: include_str!("note/process.md.in").replace("{process}", &rows) })
}

fn tasks(bundle: &Bundle, ours: &Programs, theirs: &Peers) -> Result<[Task; 3], Error> {
    let config_map = config_map(bundle, ours)?;
    let peer = |command: &str, input: &Path| {
        Some(with(&theirs.peer, [command.as_ref(), input.as_os_str()]))
    };
    let unlade = ours.unlade.display();
    let source = bundle.path.display();
    let both = format!("'{unlade}' unpack '{source}' -o yaml | '{unlade}' load -o json -");
    let pair = format!("{source}=bench");
    Ok([
        Task {
            name: "directory -> ConfigMap",
            ours: with(
                &ours.unpacker,
                ["serve", "--dry-run", "--encoding=gzip", "--namespace=bench", "--bundle", &pair],
            ),
            theirs: peer("fill", &bundle.path),
        },
        Task {
            name: "ConfigMap -> bundle",
            ours: with(
                &ours.unlade,
                ["load".as_ref(), "-o".as_ref(), "json".as_ref(), config_map.as_os_str()],
            ),
            theirs: peer("load", &config_map),
        },
        Task {
            name: "directory -> bundle",
            ours: with("/bin/sh", ["-c", &both]),
            theirs: Some(with(&theirs.opm, ["render".as_ref(), bundle.path.as_os_str()])),
        },
    ])
}

/// Writes the compressed ConfigMap of a bundle to a file, which both loaders read.
fn config_map(bundle: &Bundle, ours: &Programs) -> Result<PathBuf, Error> {
    let mut unpack: Command = with(&ours.unlade, ["unpack", "-o", "yaml", "--encoding", "gzip"]);
    let output = capture(unpack.arg(&bundle.path))?;
    let path = workspace::target().join("bench.yaml");
    fs::write(&path, output.stdout).map_err(Error::file(&path))?;
    Ok(path)
}
