//! Reading catalogs, compared with `opm`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::{Deserializer, Value};

use super::{
    Report, directory, peer, release_build,
    table::{self, Task},
    with,
};
use crate::{
    command::{Error, capture},
    corpus::Part,
};

/// The command that prints all metas of a catalog as JSON.
const RENDER: &[&str] = &["catalog", "render"];
/// Our commands and those of opm.
const COMMANDS: [(&str, &[&str], &[&str]); 3] = [
    ("validate", &["catalog", "validate"], &["validate"]),
    ("render", RENDER, &["render"]),
    ("list bundles", &["catalog", "list", "bundles"], &["alpha", "list", "bundles"]),
];

/// The catalogs below `catalogs/published` of the corpus: all of one version, and one of the
/// largest.
const CATALOGS: [&str; 2] = ["v4.20", "v4.14/dell-csm-operator"];
/// The numbers of copies of the first catalog, each with other package names, and whether `opm`
/// reads them too. `opm` keeps the whole catalog in memory. `unlade` refuses a catalog of more than
/// 256 MiB, which is about 42 copies.
const COPIES: [(usize, bool); 2] = [(10, true), (40, false)];

/// Returns the directory of the first catalog.
pub(super) fn whole() -> Result<PathBuf, Error> {
    let [whole, _] = catalogs()?;
    Ok(whole)
}

fn catalogs() -> Result<[PathBuf; 2], Error> {
    if Part::Catalogs.exists() {
        let directory = Part::Catalogs.corpus().join("catalogs/published");
        return Ok(CATALOGS.map(|catalog| directory.join(catalog)));
    }
    Err(Error::Missing {
        what: "the published catalogs are missing".into(),
        hint: "run `cargo xtask corpus fetch`".into(),
    })
}

pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let catalogs = catalogs()?;
    let unlade = release_build()?;
    let opm = peer::build_opm()?;
    let mut rows = table::HEADING.to_owned();
    for catalog in &catalogs {
        let label = catalog.file_name().unwrap_or_default().to_string_lossy();
        rows += &compare(catalog, &label, &unlade, Some(&opm), n_rounds)?;
    }
    let [whole, _] = &catalogs;
    for (n_copies, is_for_opm) in COPIES {
        let directory = directory("catalog")?;
        let megabytes = write_copies(&unlade, whole, n_copies, &directory.join("catalog.json"))?;
        let label = format!("{n_copies} copies, {megabytes:.1} MB");
        let opm = is_for_opm.then_some(opm.as_path());
        rows += &compare(&directory, &label, &unlade, opm, n_rounds)?;
        fs::remove_dir_all(&directory).map_err(Error::file(&directory))?;
    }
    let text = include_str!("note/catalog.md.in").replace("{catalog}", &rows);
    Ok(Report { goals: Vec::new(), text })
}

/// Measures all commands with the catalog in the directory `path`, and returns their rows.
fn compare(
    path: &Path,
    label: &str,
    unlade: &Path,
    opm: Option<&Path>,
    n_rounds: usize,
) -> Result<String, Error> {
    let mut rows = String::new();
    for (name, ours, theirs) in COMMANDS {
        let call = |program: &Path, words: &[&str]| {
            let mut command = with(program, words);
            command.arg(path);
            command
        };
        let theirs = opm.map(|opm| call(opm, theirs));
        let task = Task { name, ours: call(unlade, ours), theirs };
        rows += &table::compare(&task, label, n_rounds)?.row;
    }
    Ok(rows)
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
