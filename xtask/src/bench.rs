//! `cargo xtask bench`: time and memory compared with the Go code.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    command::{self, Error, cargo},
    workspace,
};

mod catalog;
mod cluster;
mod document;
mod fit;
mod goal;
mod growth;
mod hostile;
mod machine;
pub(crate) mod measure;
mod peer;
mod plot;
mod process;
mod rate;
mod registry;
mod sample;
mod server;
mod side;
mod size;
mod table;

use document::Document;
use goal::Goal;

/// The page that the command writes.
const PAGE: &str = "docs/benchmarks.md";
/// The beginning of the page.
const TITLE: &str = include_str!("bench/note/title.md.in");
/// The sections that do not belong to one part: the ratios of all parts, and the machine.
const RATIOS: &str = "ratios";
const MACHINE: &str = "machine";

/// Measures our programs beside the Go programs that they replace, alternately, and writes
/// docs/benchmarks.md.
///
/// Without a part, all parts run, and the page also names this machine. With a part, only its
/// section and its ratios are replaced. A part that this machine cannot run keeps its section; the
/// others are still measured, and the command fails at the end. Nothing else should run on the
/// machine.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many times everything is measured. Each part has its own default.
    #[arg(long, global = true)]
    rounds: Option<usize>,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    #[command(flatten)]
    Part(Part),
    /// Measures the programs on hostile inputs; the page does not have them.
    Hostile(hostile::Arguments),
}

/// A part of the page.
#[derive(clap::Subcommand, Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Loading, YAML and encoding within one process, and the floors below them.
    Rate,
    /// How loading and encoding grow, in one process; also writes docs/benchmarks/*.svg.
    Growth,
    /// Wall time and peak memory of the unpacker and the loader as processes.
    Process,
    /// The sizes of the static unpacker and of the images.
    Size,
    /// Launches on a testbed, beside OLM's own Job and a Job that does nothing.
    Cluster,
    /// Reading bundles from a registry, beside skopeo and opm.
    Registry,
    /// Reading catalogs, beside opm.
    Catalog,
    /// Serving catalogs, beside opm.
    Server,
}

/// What a part measured.
struct Report {
    goals: Vec<Goal>,
    /// The section of the part.
    text: String,
}

impl Part {
    const ALL: [Self; 8] = [
        Self::Rate,
        Self::Growth,
        Self::Process,
        Self::Size,
        Self::Cluster,
        Self::Registry,
        Self::Catalog,
        Self::Server,
    ];

    /// Its name in the markers, and the heading of its section.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Rate => ("rate", "Rates"),
            Self::Growth => ("growth", "Growth"),
            Self::Process => ("process", "Processes"),
            Self::Size => ("size", "Sizes"),
            Self::Cluster => ("cluster", "Launches"),
            Self::Registry => ("registry", "Registries"),
            Self::Catalog => ("catalog", "Catalogs"),
            Self::Server => ("server", "Serving catalogs"),
        }
    }

    /// Returns a link to its section.
    fn link(self) -> String {
        let (_, heading) = self.names();
        format!("[{heading}](#{})", heading.to_lowercase().replace(' ', "-"))
    }

    fn run(self, rounds: Option<usize>) -> Result<Report, Error> {
        match self {
            Self::Rate => rate::run(rounds.unwrap_or(5)),
            Self::Growth => growth::run(rounds.unwrap_or(5)),
            Self::Process => process::run(rounds.unwrap_or(10)),
            Self::Size => size::run(),
            Self::Cluster => cluster::run(rounds.unwrap_or(8)),
            Self::Registry => registry::run(rounds.unwrap_or(10)),
            Self::Catalog => catalog::run(rounds.unwrap_or(5)),
            Self::Server => server::run(rounds.unwrap_or(3)),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let machine = machine::describe()?;
    match &arguments.what {
        Some(What::Hostile(arguments)) => hostile::run(arguments),
        Some(What::Part(part)) => run_part(*part, arguments.rounds, &machine),
        None => {
            update(|page| page.replace(MACHINE, &machine))?;
            let mut failed = Vec::new();
            for part in Part::ALL {
                let (name, _) = part.names();
                eprintln!("\n=== {name}");
                if let Err(error) = run_part(part, arguments.rounds, &machine) {
                    eprintln!("FAILED: {name}: {}", unlade_text::chain(&error));
                    failed.push(name);
                }
            }
            if failed.is_empty() {
                return Ok(());
            }
            Err(Error::Found(format!("these parts failed: {}", failed.join(", "))))
        }
    }
}

/// Measures a part, prints its section, and replaces it in the page.
fn run_part(part: Part, rounds: Option<usize>, machine: &str) -> Result<(), Error> {
    let (name, heading) = part.names();
    let Report { goals, text } = part.run(rounds)?;
    update(|page| {
        // Only a run of all parts says which machine the page is about.
        let note = match page.section(MACHINE) {
            "" => {
                page.replace(MACHINE, machine);
                String::new()
            }
            of_page if of_page == machine => String::new(),
            _ => format!("Measured separately:\n\n{machine}\n\n"),
        };
        let section = format!("## {heading}\n\n{note}{}\n", text.trim());
        println!("{section}");
        page.replace(name, &section);
        let link = part.link();
        let before = page.section(RATIOS).to_owned();
        let after = goal::merge(&before, &link, &goals, &Part::ALL.map(Part::link));
        for (what, change) in goal::changes(&link, &before, &after) {
            eprintln!("{what}: {:+.1} % since the last run", (change - 1.0) * 100.0);
        }
        page.replace(RATIOS, &after);
    })
}

/// Changes the page. It is written after each part, so that the others are not lost if one fails.
fn update(change: impl FnOnce(&mut Document)) -> Result<(), Error> {
    let path = workspace::root().join(PAGE);
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let mut page = Document::parse(&text);
    change(&mut page);
    let parts = Part::ALL.iter().map(|part| part.names().0);
    let order: Vec<_> = [RATIOS, MACHINE].into_iter().chain(parts).collect();
    fs::write(&path, page.text(TITLE, &order)).map_err(Error::file(&path))
}

/// Builds the command for a release, and returns its path.
fn release_build() -> Result<PathBuf, Error> {
    let build = ["build", "--release", "--locked", "--package", "unlade", "--bin", "unlade"];
    command::run(&mut cargo(build))?;
    Ok(workspace::target().join("release/unlade"))
}

/// Returns a new directory for the files of a part.
fn directory(name: &str) -> Result<PathBuf, Error> {
    let directory = workspace::target().join("bench").join(name);
    let file = Error::file(&directory);
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(file)?;
    }
    fs::create_dir_all(&directory).map_err(file)?;
    Ok(directory)
}

fn with<S: AsRef<std::ffi::OsStr>>(
    program: impl AsRef<std::ffi::OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
