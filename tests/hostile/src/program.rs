//! The inputs of the real programs: files and directories that they read.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::image::{self, SEPARATOR, gzip, parts};
use crate::{Entry, tape};

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The programs that read untrusted bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The command.
    Unlade,
    /// The program that runs in the pod of a bundle.
    Unpacker,
    /// The server of a catalog.
    Server,
}

impl Program {
    /// Returns its file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unlade => "unlade",
            Self::Unpacker => "unlade-unpacker",
            Self::Server => "unlade-server",
        }
    }
}

const ANNOTATIONS: &[u8] = b"annotations: {}\n";

/// Writes `input` into the empty directory `directory` in the form that programs read, and returns
/// the runs that read it. The list is empty if no program reads such an input from a file.
///
/// # Errors
///
/// Returns an error if a file cannot be written.
pub fn write(entry: Entry, input: &[u8], directory: &Path) -> io::Result<Vec<Run>> {
    match entry {
        Entry::Annotations => bundle(directory, &[("metadata/annotations.yaml", input)]),
        Entry::Yaml | Entry::Json => {
            let files = [("manifests/a.yaml", input), ("metadata/annotations.yaml", ANNOTATIONS)];
            let mut runs = bundle(directory, &files)?;
            runs.extend(packed(directory, &[("a.yaml", &gzip(input))])?);
            Ok(runs)
        }
        Entry::Bundle => {
            let names = [
                "metadata/annotations.yaml",
                "metadata/dependencies.yaml",
                "metadata/properties.yaml",
                "manifests/csv.yaml",
            ];
            let files: Vec<_> = names.into_iter().zip(parts(input)).collect();
            let mut runs = bundle(directory, &files)?;
            let values: Vec<_> = files
                .iter()
                .map(|(name, bytes)| (name.rsplit('/').next().unwrap_or(name), gzip(bytes)))
                .collect();
            let values: Vec<_> =
                values.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
            runs.extend(packed(directory, &values)?);
            Ok(runs)
        }
        Entry::Catalog | Entry::Filter | Entry::Graph | Entry::Render | Entry::Template => {
            catalog(directory, input, commands(entry))
        }
        Entry::Diff => {
            let other = directory.join("catalog/other.yaml");
            write_file(&other, &change_numbers(input))?;
            catalog(directory, input, &[&["diff", "-o", "json", &other.display().to_string()]])
        }
        Entry::Served => {
            let path = directory.join("catalog.yaml");
            write_file(&path, input)?;
            let path = path.display().to_string();
            let arguments = vec!["--cache-only".to_owned(), path];
            Ok(vec![Run { program: Program::Server, arguments }])
        }
        Entry::IndexIgnore => {
            let path = directory.join("catalog");
            write_ignored(&path, input)?;
            Ok(vec![unlade(&["catalog", "validate", &path.display().to_string()])])
        }
        Entry::ConfigMap | Entry::Load => config_map(directory, input),
        Entry::Gzip => packed(directory, &[("csv.yaml", input)]),
        Entry::ImageLayout => {
            let path = directory.join("layout");
            for (name, bytes) in image::layout(input) {
                write_file(&path.join(name), &bytes)?;
            }
            Ok(vec![unpack(&format!("oci:{}", path.display()))])
        }
        Entry::OciArchive => {
            let path = directory.join("image.tar");
            write_file(&path, &image_file(input, |it| image::archive(&image::layout(it))))?;
            Ok(vec![unpack(&format!("oci-archive:{}", path.display()))])
        }
        Entry::DockerArchive => Ok(vec![unpack(&docker_archive(directory, input)?)]),
        Entry::Tar => {
            let template = image::over_bundle(input);
            let path = docker_archive(directory, &template)?;
            let tar = directory.join("bundle.tar");
            write_file(&tar, &image::layer(input))?;
            Ok(vec![unpack(&path), unpack(&tar.display().to_string())])
        }
        Entry::Extract => {
            let path = docker_archive(directory, &image::over_catalog(input))?;
            let validate = unlade(&["catalog", "validate", &path]);
            Ok(vec![validate, unlade(&["catalog", "diff", &path, &path])])
        }
        Entry::ApiResponse
        | Entry::Call
        | Entry::Certificates
        | Entry::Kubeconfig
        | Entry::Credentials
        | Entry::Manifest
        | Entry::Pod
        | Entry::PullSecret
        | Entry::Range
        | Entry::Reference
        | Entry::RegistriesConf
        | Entry::RegistryResponse => Ok(Vec::new()),
    }
}

/// Returns the commands of `unlade catalog` that read the input of an entry as their last argument.
fn commands(entry: Entry) -> &'static [&'static [&'static str]] {
    match entry {
        Entry::Catalog => &[&["validate"]],
        Entry::Filter => {
            &[&["filter", "-p", "tea"], &["filter", "-p", "tea@>=1.0.0"], &["filter", "-p", "p0"]]
        }
        Entry::Graph => &[&["graph", "--marks"], &["graph", "-o", "dot"], &["graph", "-o", "svg"]],
        Entry::Render => &[
            &["render", "-o", "yaml"],
            &["render", "--migrate-level", "bundle-object-to-csv-metadata"],
            &["list", "channels"],
            &["list", "bundles"],
            &["list", "bundles", "-o", "json"],
            &["list", "deprecations"],
            &["list", "images"],
            &["init", "tea", "--description"],
        ],
        Entry::Template => {
            &[&["template", "convert", "basic"], &["template", "convert", "substitutes"]]
        }
        _ => &[],
    }
}

/// Writes a catalog, and returns these commands of `unlade catalog` for it.
fn catalog(directory: &Path, input: &[u8], commands: &[&[&str]]) -> io::Result<Vec<Run>> {
    let path = directory.join("catalog/catalog.yaml");
    write_file(&path, input)?;
    let path = path.display().to_string();
    let run = |command: &&[&str]| unlade(&[&["catalog"], *command, &[&path]].concat());
    Ok(commands.iter().map(run).collect())
}

fn bundle(directory: &Path, files: &[(&str, &[u8])]) -> io::Result<Vec<Run>> {
    let root = directory.join("bundle");
    fs::create_dir_all(root.join("manifests"))?;
    for (name, bytes) in files {
        write_file(&root.join(name), bytes)?;
    }
    let root = root.display();
    let arguments = ["serve", "--dry-run", "--namespace=x", "--bundle", &format!("{root}=x")];
    let serve = Run { program: Program::Unpacker, arguments: arguments.map(str::to_owned).into() };
    Ok(vec![unpack(&root.to_string()), serve])
}

fn unpack(source: &str) -> Run {
    unlade(&["unpack", source, "-o", "yaml"])
}

/// Returns a run of `unlade` with these arguments.
fn unlade(arguments: &[&str]) -> Run {
    let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
    Run { program: Program::Unlade, arguments }
}

/// Returns a ConfigMap of upstream with these compressed values.
fn packed(directory: &Path, values: &[(&str, &[u8])]) -> io::Result<Vec<Run>> {
    let value = |bytes| json!(STANDARD.encode(STANDARD.encode(bytes)));
    let values: serde_json::Map<_, _> =
        values.iter().map(|(key, bytes)| ((*key).to_owned(), value(bytes))).collect();
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "annotations": {"olm.contentEncoding": "gzip+base64"}},
        "binaryData": values,
    });
    config_map(directory, object.to_string().as_bytes())
}

fn config_map(directory: &Path, json: &[u8]) -> io::Result<Vec<Run>> {
    let path = directory.join("config-map.json");
    write_file(&path, json)?;
    let run = |output: &str| unlade(&["load", &path.display().to_string(), "-o", output]);
    Ok(["json", "yaml"].map(run).into())
}

/// Writes a docker archive, and returns its name with the transport.
fn docker_archive(directory: &Path, input: &[u8]) -> io::Result<String> {
    let path = directory.join("image.tar");
    write_file(&path, &image_file(input, |it| image::archive(&image::docker(it))))?;
    Ok(format!("docker-archive:{}", path.display()))
}

/// Returns the catalog with an `x` for the last digit of each number that ends in 1. About a tenth
/// of consecutive numbers change, whatever the size of the catalog, so the costs of different sizes
/// can be compared.
pub(crate) fn change_numbers(input: &[u8]) -> Vec<u8> {
    let next = input.iter().skip(1).map(Some).chain([None]);
    let change = |(byte, next): (&u8, Option<&u8>)| match byte {
        b'1' if !next.is_some_and(u8::is_ascii_digit) => b'x',
        byte => *byte,
    };
    input.iter().zip(next).map(change).collect()
}

/// Returns the archive of a template, or an archive with corrected checksums of its headers.
pub(crate) fn image_file(input: &[u8], build: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if input.windows(SEPARATOR.len()).any(|window| window == SEPARATOR) {
        return build(input);
    }
    let mut bytes = input.to_vec();
    tape::mend(&mut bytes);
    bytes
}

/// Writes the `.indexignore` and the empty files of a catalog. Names that a file cannot have are
/// left out.
pub(crate) fn write_ignored(directory: &Path, input: &[u8]) -> io::Result<()> {
    let parts = parts(input);
    let [patterns, names @ ..] = parts.as_slice() else { return Ok(()) };
    write_file(&directory.join(".indexignore"), patterns)?;
    let is_name = |name: &&[u8]| {
        (1..=255).contains(&name.len())
            && !name.contains(&b'/')
            && !name.contains(&0)
            && !matches!(*name, b"." | b".." | b".indexignore")
    };
    for name in names.concat().split(|byte| *byte == b'\n').filter(is_name) {
        fs::write(directory.join(OsStr::from_bytes(name)), "")?;
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, bytes)
}
