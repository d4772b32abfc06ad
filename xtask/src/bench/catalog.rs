//! Reading catalogs, compared with `opm`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::{Deserializer, Value};

use super::{Task, alternate, measure, peer, release_build, table, with};
use crate::{
    command::{Error, capture},
    workspace,
};

/// The command that prints all metas of a catalog as JSON.
const RENDER: &[&str] = &["catalog", "render"];
/// Our commands and those of opm.
const COMMANDS: [(&str, &[&str], &[&str]); 3] = [
    ("validate", &["catalog", "validate"], &["validate"]),
    ("render", RENDER, &["render"]),
    ("list bundles", &["catalog", "list", "bundles"], &["alpha", "list", "bundles"]),
];

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Directories of file-based catalogs.
    #[arg(required = true)]
    catalogs: Vec<PathBuf>,
    /// How many times each program runs.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Also measure our commands for these numbers of copies of the first catalog, each with other
    /// package names.
    #[arg(long, value_delimiter = ',')]
    copies: Vec<usize>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Error> {
    let unlade = release_build()?;
    let peers = peer::build();
    println!("{}", table::HEADING);
    for catalog in &arguments.catalogs {
        let path = catalog.display().to_string();
        let label = catalog.file_name().map_or_else(|| path.clone(), |it| it.display().to_string());
        for (name, ours, theirs) in COMMANDS {
            let call = |program: &Path, words: &[&str]| {
                with(program, words.iter().copied().chain([path.as_str()]))
            };
            let task = Task {
                name,
                ours: call(&unlade, ours),
                theirs: peers.as_ref().map(|peers| call(&peers.opm, theirs)),
            };
            let (ours, theirs) = alternate(&task, arguments.runs)?;
            println!("{}", table::row(name, &label, &ours, theirs.as_deref()));
        }
    }
    if let [first, ..] = arguments.catalogs.as_slice()
        && !arguments.copies.is_empty()
    {
        grow(&unlade, first, &arguments.copies)?;
    }
    Ok(())
}

/// Measures our commands for several copies of a catalog, and prints a Markdown table.
fn grow(unlade: &Path, catalog: &Path, copies: &[usize]) -> Result<(), Error> {
    println!("\n| what | copies | MB | time | time per MB | peak memory |");
    println!("|---|--:|--:|--:|--:|--:|");
    let path = workspace::target().join("bench-catalog.json");
    for &n_copies in copies {
        let megabytes = write_copies(unlade, catalog, n_copies, &path)?;
        for (name, ours, _) in COMMANDS {
            let words = ours.iter().map(AsRef::as_ref).chain([path.as_os_str()]);
            let run = measure::run(&with(unlade, words))?;
            #[expect(clippy::cast_precision_loss, reason = "fewer KiB than 2^52")]
            let memory = run.memory as f64 / 1024.0;
            println!(
                "| {name} | {n_copies} | {megabytes:.1} | {:.0} ms | {:.2} ms | {memory:.0} MiB |",
                run.seconds * 1e3,
                run.seconds * 1e3 / megabytes,
            );
        }
    }
    fs::remove_file(&path).map_err(Error::file(&path))
}

/// Writes the copies to one file, and returns its size in megabytes.
fn write_copies(unlade: &Path, catalog: &Path, n_copies: usize, to: &Path) -> Result<f64, Error> {
    let file = File::create(to).map_err(Error::file(to))?;
    let mut file = BufWriter::new(file);
    let metas = capture(with(unlade, RENDER).arg(catalog))?.stdout;
    for copy in 0..n_copies {
        for meta in Deserializer::from_slice(&metas).into_iter() {
            let program = "unlade catalog render".to_owned();
            let mut meta = meta.map_err(|source| Error::Answer { program, source })?;
            rename(&mut meta, copy);
            writeln!(file, "{meta}").map_err(Error::file(to))?;
        }
    }
    file.flush().map_err(Error::file(to))?;
    let metadata = fs::metadata(to).map_err(Error::file(to))?;
    #[expect(clippy::cast_precision_loss, reason = "fewer bytes than 2^52")]
    Ok(metadata.len() as f64 / 1e6)
}

/// Appends the number of the copy to the name of the package, everywhere.
fn rename(meta: &mut Value, copy: usize) {
    let append = |name: Option<&mut Value>| {
        if let Some(Value::String(name)) = name {
            *name = format!("{name}-{copy}");
        }
    };
    if meta["schema"] == "olm.package" {
        append(meta.get_mut("name"));
    }
    append(meta.get_mut("package"));
    for property in meta.get_mut("properties").and_then(Value::as_array_mut).into_iter().flatten() {
        if property["type"] == "olm.package" {
            append(property.pointer_mut("/value/packageName"));
        }
    }
}
