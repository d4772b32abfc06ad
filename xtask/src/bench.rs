//! `cargo xtask bench`: time and memory compared with the Go code.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::{self, Error, capture, cargo},
    dist, workspace,
};

mod catalog;
mod cluster;
mod hostile;
pub(crate) mod measure;
mod peer;
mod registry;
mod sample;
mod table;

use measure::Run;
use peer::Peers;
use sample::Bundle;

/// Measures wall time and peak memory of the unpacker and the loader, compared with the Go code
/// that they replace, and prints a Markdown table.
///
/// Both sides do the same work on the same input, in turns, on one machine. The Go side is
/// operator-registry, built from tests/peers. Without a Go toolchain, only our side is measured.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    /// How many times each program runs.
    #[arg(long, default_value_t = 10)]
    runs: usize,
    #[command(subcommand)]
    what: Option<What>,
}

/// Other measurements.
#[derive(clap::Subcommand)]
enum What {
    /// Measures reading catalogs, compared with `opm`, and how our commands grow.
    Catalog(catalog::Arguments),
    /// Measures launches on a real cluster, compared with OLM's own unpack Job.
    Cluster(cluster::Arguments),
    /// Measures the programs on hostile inputs.
    Hostile(hostile::Arguments),
    /// Measures reading bundles from a registry, compared with skopeo and opm.
    Registry(registry::Arguments),
}

/// Our programs.
struct Programs {
    unpacker: PathBuf,
    unlade: PathBuf,
}

/// A task that both sides can do.
struct Task {
    name: &'static str,
    ours: Command,
    theirs: Option<Command>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    match &arguments.what {
        Some(What::Catalog(arguments)) => return catalog::run(arguments),
        Some(What::Cluster(arguments)) => return cluster::run(arguments),
        Some(What::Hostile(arguments)) => return hostile::run(arguments),
        Some(What::Registry(arguments)) => return registry::run(arguments),
        None => {}
    }
    let bundles = sample::bundles()?;
    let unpacker = dist::build()?.program;
    let programs = Programs { unpacker, unlade: release_build()? };
    let peers = peer::build();

    println!("{}", table::HEADING);
    for bundle in &bundles {
        for task in tasks(bundle, &programs, peers.as_ref())? {
            let (ours, theirs) = alternate(&task, arguments.runs)?;
            println!("{}", table::row(task.name, &bundle.label, &ours, theirs.as_deref()));
        }
    }
    Ok(())
}

/// Builds the command for a release, and returns its path.
fn release_build() -> Result<PathBuf, Error> {
    let build = ["build", "--release", "--locked", "--package", "unlade", "--bin", "unlade"];
    command::run(&mut cargo(build))?;
    Ok(workspace::target().join("release/unlade"))
}

fn tasks(bundle: &Bundle, ours: &Programs, theirs: Option<&Peers>) -> Result<Vec<Task>, Error> {
    let config_map = config_map(bundle, ours)?;
    let peer = |command: &str, input: &Path| {
        theirs.map(|peers| with(&peers.peer, [command.as_ref(), input.as_os_str()]))
    };
    let unlade = ours.unlade.display();
    let source = bundle.path.display();
    let both = format!("'{unlade}' unpack '{source}' -o yaml | '{unlade}' load -o json -");
    let pair = format!("{source}=bench");
    Ok(vec![
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
            ours: with(Path::new("/bin/sh"), ["-c", &both]),
            theirs: theirs
                .map(|peers| with(&peers.opm, ["render".as_ref(), bundle.path.as_os_str()])),
        },
    ])
}

/// Writes the compressed ConfigMap of a bundle to a file, which both loaders read.
fn config_map(bundle: &Bundle, ours: &Programs) -> Result<PathBuf, Error> {
    let mut unpack = with(&ours.unlade, ["unpack", "-o", "yaml", "--encoding", "gzip"]);
    let output = capture(unpack.arg(&bundle.path))?;
    let path = workspace::target().join("bench.yaml");
    fs::write(&path, output.stdout).map_err(Error::file(&path))?;
    Ok(path)
}

/// Measures both sides in turns, so that other load on the machine affects both alike.
fn alternate(task: &Task, n_runs: usize) -> Result<(Vec<Run>, Option<Vec<Run>>), Error> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..n_runs {
        ours.push(measure::run(&task.ours)?);
        if let Some(command) = &task.theirs {
            theirs.push(measure::run(command)?);
        }
    }
    Ok((ours, task.theirs.is_some().then_some(theirs)))
}

fn with<S: AsRef<std::ffi::OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
