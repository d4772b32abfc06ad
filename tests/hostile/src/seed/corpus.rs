//! Inputs from the corpus of the tests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{Encoding, encode};

use crate::Entry;
use crate::image::{gzip, join};
use crate::tape::{Tape, flag};

/// The maximum size of a file of a seed, in bytes: that of the inputs of `cargo xtask fuzz`.
const LARGEST: u64 = 64 << 10;

/// The separate files of a bundle in an input of [`Entry::Bundle`]. Two manifests follow them.
const METADATA: [&str; 3] = ["annotations.yaml", "dependencies.yaml", "properties.yaml"];

/// Returns the inputs of `entry`. The list is empty if the corpus contains none.
pub(super) fn inputs(entry: Entry) -> io::Result<Vec<Vec<u8>>> {
    Ok(match entry {
        Entry::Annotations | Entry::Json | Entry::Manifest | Entry::Yaml => {
            let files = bundles()?.into_iter().flatten().map(|file| file.bytes);
            files.chain(cases("cases.jsonl")?).chain(cases("decode.jsonl")?).collect()
        }
        Entry::Gzip => bundles()?.iter().flatten().map(|file| gzip(&file.bytes)).collect(),
        Entry::Bundle => bundles()?.iter().map(|files| parts(files)).collect(),
        Entry::ConfigMap | Entry::Load => bundles()?.into_iter().flat_map(config_maps).collect(),
        Entry::Extract | Entry::Tar => bundles()?.iter().map(|files| layer(files)).collect(),
        _ => Vec::new(),
    })
}

fn parts(files: &[File]) -> Vec<u8> {
    let bytes = |file: Option<&File>| file.map_or(Vec::new(), |file| file.bytes.clone());
    let metadata = METADATA.map(|name| {
        bytes(files.iter().find(|it| it.directory == Directory::Metadata && it.name == name))
    });
    let mut manifests = files.iter().filter(|file| file.directory == Directory::Manifests);
    let manifests = [(); 2].map(|()| bytes(manifests.next()));
    let all: Vec<_> = metadata.iter().chain(&manifests).map(Vec::as_slice).collect();
    join(&all)
}

/// Returns the ConfigMaps of a bundle as JSON, in each encoding. An invalid bundle has none.
fn config_maps(files: Vec<File>) -> Vec<Vec<u8>> {
    let Ok(reading) = Content::assemble(files, &Limits::default()) else { return Vec::new() };
    let options = encode::Options::default().with_name("x".to_owned());
    [Encoding::Plain, Encoding::Gzip]
        .into_iter()
        .filter_map(|it| encode(&reading.content, &options.clone().with_encoding(it)).ok())
        .flatten()
        .filter_map(|config_map| serde_json::to_vec(&config_map).ok())
        .collect()
}

fn layer(files: &[File]) -> Vec<u8> {
    let tape = files
        .iter()
        .fold(Tape::new(), |tape, file| tape.long(flag::FILE, &file.path(), "", &file.bytes));
    tape.end()
}

/// Reads the small files of each crafted bundle.
fn bundles() -> io::Result<Vec<Vec<File>>> {
    let directories = [(Directory::Manifests, "manifests"), (Directory::Metadata, "metadata")];
    let mut bundles = Vec::new();
    for bundle in sorted(&directory().join("crafted"))? {
        let mut files = Vec::new();
        for (directory, name) in directories {
            let path = bundle.join(name);
            for path in if path.is_dir() { sorted(&path)? } else { Vec::new() } {
                if path.metadata().is_ok_and(|it| it.is_file() && it.len() <= LARGEST) {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    files.push(File { directory, name, bytes: fs::read(&path)? });
                }
            }
        }
        bundles.push(files);
    }
    Ok(bundles)
}

/// Reads the inputs of YAML cases.
fn cases(file: &str) -> io::Result<Vec<Vec<u8>>> {
    let lines = fs::read_to_string(directory().join("yaml").join(file))?;
    let input = |line| -> io::Result<Vec<u8>> {
        let case: Value = serde_json::from_str(line)?;
        if let Some(text) = case.get("yaml").and_then(Value::as_str) {
            return Ok(text.as_bytes().to_vec());
        }
        let text = case.get("yaml_base64").and_then(Value::as_str).unwrap_or_default();
        STANDARD.decode(text).map_err(io::Error::other)
    };
    let small = |input: &io::Result<Vec<u8>>| {
        input.as_ref().map_or(true, |input| input.len() as u64 <= LARGEST)
    };
    lines.lines().map(input).filter(small).collect()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<_> = paths.collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}
