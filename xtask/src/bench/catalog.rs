//! Reading catalogs, compared with `opm`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::{Deserializer, Value};

use super::{Task, alternate, peer, release_build, table, with};
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

/// The largest number of copies that `opm` reads. It keeps the whole catalog in memory.
const MAX_COPIES_FOR_OPM: usize = 10;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Directories of file-based catalogs.
    #[arg(required = true)]
    catalogs: Vec<PathBuf>,
    /// How many times each program runs.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Also measure these numbers of copies of the first catalog, each with other package names;
    /// above 10, without `opm`.
    #[arg(long, value_delimiter = ',')]
    copies: Vec<usize>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Error> {
    let unlade = release_build()?;
    let opm = peer::build().map(|peers| peers.opm);
    let opm = opm.as_deref();
    println!("{}", table::HEADING);
    for catalog in &arguments.catalogs {
        let path = catalog.display().to_string();
        let label = catalog.file_name().map_or_else(|| path.clone(), |it| it.display().to_string());
        compare(&path, &label, &unlade, opm, arguments.runs)?;
    }
    let [first, ..] = arguments.catalogs.as_slice() else { return Ok(()) };
    let folder = workspace::target().join("bench-catalog");
    let file = Error::file(&folder);
    for &n_copies in &arguments.copies {
        fs::create_dir_all(&folder).map_err(file)?;
        let megabytes = write_copies(&unlade, first, n_copies, &folder.join("catalog.json"))?;
        let label = format!("{n_copies} copies, {megabytes:.1} MB");
        let opm = opm.filter(|_| n_copies <= MAX_COPIES_FOR_OPM);
        compare(&folder.display().to_string(), &label, &unlade, opm, arguments.runs)?;
        fs::remove_dir_all(&folder).map_err(file)?;
    }
    Ok(())
}

/// Measures all commands with the catalog in the directory `path`, and prints their rows.
fn compare(
    path: &str,
    label: &str,
    unlade: &Path,
    opm: Option<&Path>,
    runs: usize,
) -> Result<(), Error> {
    for (name, ours, theirs) in COMMANDS {
        let call =
            |program: &Path, words: &[&str]| with(program, words.iter().copied().chain([path]));
        let theirs = opm.map(|opm| call(opm, theirs));
        let (ours, theirs) = alternate(&Task { name, ours: call(unlade, ours), theirs }, runs)?;
        println!("{}", table::row(name, label, &ours, theirs.as_deref()));
    }
    Ok(())
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
