//! `cargo xtask bench hostile`: the programs on hostile inputs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use super::measure::{Arguments as Measure, Run, run_within};
use crate::{
    command::{self, Error, capture, cargo},
    dist, workspace,
};

/// The maximum processor time for an input, in seconds.
const CPU: f64 = 5.0;
/// The maximum resident memory for an input, in MiB.
const MEMORY: i64 = 256;
/// The processor time in seconds, and the address space in MiB, at which a run is ended. They are
/// far above the allowed maximum, so that the table shows the excess.
const END: (u64, u64) = (60, 8 << 10);

/// Runs the real programs on every family of hostile inputs, and measures processor time and
/// resident memory of each: `unlade unpack`, `unlade load`, `unlade catalog`, `unlade-unpacker
/// serve --dry-run`, `unlade-server --cache-only`. Also runs the readers alone, except those of
/// images: to make an image of an input costs as much as to read it.
///
/// Prints a Markdown table of the runs that take more than 5 seconds or 256 MiB, and fails if
/// there are any.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The maximum size of each input, in MiB.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10])]
    size: Vec<usize>,
    /// Show every run in the table.
    #[arg(long)]
    all: bool,
    /// Only run families whose name contains this text.
    filter: Option<String>,
}

/// A run of a program, as `hostile runs` prints it.
#[derive(Deserialize)]
struct Planned {
    program: String,
    arguments: Vec<String>,
}

struct Programs {
    hostile: PathBuf,
    unlade: PathBuf,
    server: PathBuf,
    unpacker: PathBuf,
}

impl Programs {
    fn build() -> Result<Self, Error> {
        let packages = ["unlade", "unlade-hostile", "unlade-server"];
        let packages = packages.iter().flat_map(|name| ["--package", *name]);
        command::run(cargo(["build", "--release", "--locked"]).args(packages))?;
        let release = workspace::target().join("release");
        Ok(Self {
            hostile: release.join("hostile"),
            unlade: release.join("unlade"),
            server: release.join("unlade-server"),
            unpacker: dist::build()?.program,
        })
    }

    fn named(&self, name: &str) -> &Path {
        match name {
            "unlade" => &self.unlade,
            "unlade-server" => &self.server,
            "unlade-unpacker" => &self.unpacker,
            _ => &self.hostile,
        }
    }

    /// Runs `hostile` and returns its output.
    fn hostile(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = capture(Command::new(&self.hostile).args(arguments))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Error> {
    let programs = Programs::build()?;
    let families = programs.hostile(&["families"])?;
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let (mut n_runs, mut n_above) = (0, 0);
    println!("| family | bytes | program | CPU | memory | end |\n|---|--:|---|--:|--:|---|");
    for family in families.lines().filter(|family| family.contains(filter)) {
        for size in &arguments.size {
            for row in rows(&programs, family, size << 20)? {
                n_runs += 1;
                n_above += usize::from(row.is_above());
                if row.is_above() || arguments.all {
                    println!("{}", row.text(family));
                }
            }
        }
    }
    println!("\n{n_above} of {n_runs} runs take more than {CPU} s or {MEMORY} MiB.");
    if n_above > 0 {
        Err(Error::Found("hostile inputs exceed the maximum of time or memory".into()))
    } else {
        Ok(())
    }
}

struct Row {
    program: String,
    bytes: u64,
    run: Run,
}

fn rows(programs: &Programs, family: &str, size: usize) -> Result<Vec<Row>, Error> {
    let directory = super::directory("hostile")?;
    let text =
        programs.hostile(&["runs", family, &size.to_string(), &directory.to_string_lossy()])?;
    let bytes = fs::metadata(directory.join("input")).map_err(Error::file(&directory))?.len();
    let mut rows = Vec::new();
    for line in text.lines() {
        let planned: Planned = serde_json::from_str(line)
            .map_err(|source| Error::Answer { program: "hostile".into(), source })?;
        let mut command = Command::new(programs.named(&planned.program));
        command.args(&planned.arguments);
        let run = run_within(&command, &Measure::limits(END.0, END.1))?;
        let words = planned.arguments.iter().filter(|word| !word.contains('/'));
        let words = words.take(4).fold(planned.program.clone(), |text, word| text + " " + word);
        rows.push(Row { program: words, bytes, run });
    }
    Ok(rows)
}

impl Row {
    fn is_above(&self) -> bool {
        self.run.cpu > CPU || self.run.memory > MEMORY << 10 || self.run.code.is_none()
    }

    fn text(&self, family: &str) -> String {
        let Self { program, bytes, run } = self;
        let end = run.code.map_or("a signal".to_owned(), |code| code.to_string());
        let memory = run.memory >> 10;
        format!("| {family} | {bytes} | `{program}` | {:.2} s | {memory} MiB | {end} |", run.cpu)
    }
}
