//! The inputs of the real programs: files and directories that they read.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::image::{self, SEPARATOR, gzip, parts};
use crate::tape::Tape;
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
}

impl Program {
    /// Returns its file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unlade => "unlade",
            Self::Unpacker => "unlade-unpacker",
        }
    }
}

const ANNOTATIONS: &[u8] = b"annotations: {}\n";

/// Writes `input` into the empty directory `folder` in the form that programs read, and returns the
/// runs that read it. The list is empty if no program reads such an input from a file.
///
/// # Errors
///
/// Returns an error if a file cannot be written.
pub fn write(entry: Entry, input: &[u8], folder: &Path) -> io::Result<Vec<Run>> {
    match entry {
        Entry::Annotations => bundle(folder, &[("metadata/annotations.yaml", input)]),
        Entry::Yaml | Entry::Json => {
            let files = [("manifests/a.yaml", input), ("metadata/annotations.yaml", ANNOTATIONS)];
            let mut runs = bundle(folder, &files)?;
            runs.extend(packed(folder, &[("a.yaml", &gzip(input))])?);
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
            let mut runs = bundle(folder, &files)?;
            let values: Vec<_> = files
                .iter()
                .map(|(name, bytes)| (name.rsplit('/').next().unwrap_or(name), gzip(bytes)))
                .collect();
            let values: Vec<_> =
                values.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
            runs.extend(packed(folder, &values)?);
            Ok(runs)
        }
        Entry::Catalog => {
            let path = folder.join("catalog/catalog.yaml");
            write_file(&path, input)?;
            let arguments = ["catalog".into(), "validate".into(), path.display().to_string()];
            Ok(vec![Run { program: Program::Unlade, arguments: arguments.into() }])
        }
        Entry::ConfigMap | Entry::Load => config_map(folder, input),
        Entry::Gzip => packed(folder, &[("csv.yaml", input)]),
        Entry::ImageLayout => {
            let path = folder.join("layout");
            for (name, bytes) in image::layout(input) {
                write_file(&path.join(name), &bytes)?;
            }
            Ok(vec![unpack(format!("oci:{}", path.display()))])
        }
        Entry::OciArchive => {
            archive(folder, "oci-archive", input, |it| image::archive(&image::layout(it)))
        }
        Entry::DockerArchive => {
            archive(folder, "docker-archive", input, |it| image::archive(&image::docker(it)))
        }
        Entry::Tar => {
            let template = image::over_bundle(input);
            archive(folder, "docker-archive", &template, |it| image::archive(&image::docker(it)))
        }
        Entry::ApiAnswer
        | Entry::Kubeconfig
        | Entry::Pod
        | Entry::PullSecret
        | Entry::Range
        | Entry::Reference => Ok(Vec::new()),
    }
}

fn bundle(folder: &Path, files: &[(&str, &[u8])]) -> io::Result<Vec<Run>> {
    let root = folder.join("bundle");
    fs::create_dir_all(root.join("manifests"))?;
    for (name, bytes) in files {
        write_file(&root.join(name), bytes)?;
    }
    let root = root.display();
    let arguments = ["serve", "--dry-run", "--namespace=x", "--bundle", &format!("{root}=x")];
    let serve = Run { program: Program::Unpacker, arguments: arguments.map(str::to_owned).into() };
    Ok(vec![unpack(root.to_string()), serve])
}

fn unpack(source: String) -> Run {
    let arguments = ["unpack".into(), source, "-o".into(), "yaml".into()];
    Run { program: Program::Unlade, arguments: arguments.into() }
}

/// The ConfigMap of upstream's with these compressed values.
fn packed(folder: &Path, values: &[(&str, &[u8])]) -> io::Result<Vec<Run>> {
    let value = |bytes| json!(STANDARD.encode(STANDARD.encode(bytes)));
    let values: serde_json::Map<_, _> =
        values.iter().map(|(key, bytes)| ((*key).to_owned(), value(bytes))).collect();
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "annotations": {"olm.contentEncoding": "gzip+base64"}},
        "binaryData": values,
    });
    config_map(folder, object.to_string().as_bytes())
}

fn config_map(folder: &Path, json: &[u8]) -> io::Result<Vec<Run>> {
    let path = folder.join("config-map.json");
    write_file(&path, json)?;
    let run = |output: &str| Run {
        program: Program::Unlade,
        arguments: ["load", &path.display().to_string(), "-o", output].map(str::to_owned).into(),
    };
    Ok(["json", "yaml"].map(run).into())
}

fn archive(
    folder: &Path,
    transport: &str,
    input: &[u8],
    build: fn(&[u8]) -> Vec<u8>,
) -> io::Result<Vec<Run>> {
    let path = folder.join("image.tar");
    write_file(&path, &image_file(input, build))?;
    Ok(vec![unpack(format!("{transport}:{}", path.display()))])
}

/// An archive out of a template, or as it is but for the checksums of its headers.
pub(crate) fn image_file(input: &[u8], build: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if input.windows(SEPARATOR.len()).any(|window| window == SEPARATOR) {
        return build(input);
    }
    let mut bytes = input.to_vec();
    tape::mend(&mut bytes);
    bytes
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

/// Inputs of no family that fuzzing starts from: ordinary ones.
pub fn ordinary(entry: Entry) -> Vec<Vec<u8>> {
    let layer = Tape::bundle().end();
    match entry {
        Entry::ImageLayout => vec![image::template(&[&layer])],
        Entry::OciArchive => {
            let template = image::template(&[&layer]);
            vec![image::archive(&image::layout(&template)), template]
        }
        Entry::DockerArchive => {
            let template = image::over_bundle(&layer);
            vec![image::archive(&image::docker(&template)), template]
        }
        Entry::Tar => vec![layer.clone(), gzip(&layer)],
        Entry::Gzip => vec![gzip(b"kind: A\napiVersion: v1\n")],
        Entry::PullSecret => {
            let secret = br#"{"auths":{"registry.example:5000":{"auth":"YTpi"},"*.example":{}}}"#;
            vec![image::join(&[b"registry.example:5000/a/b:1", secret])]
        }
        Entry::Range => [">=1.0.0 <2.0.0\n1.2.3", "1.x || !2.0.0\n1.2.3-a.1+b", "~1\n1.0.0"]
            .map(|text| text.as_bytes().to_vec())
            .into(),
        Entry::Reference => vec![
            b"oci:a:@1\noci-archive:a.tar:b\ndocker-archive:a@sha256:00\nlinux/arm64/v8\n".to_vec(),
            b"registry.example:5000/a/b:c\nlocalhost/a\na__b/c-d@sha256:00\n".to_vec(),
            b"serve\n--bundle\n/=a\n-n\nb\n--deadline\n2m\n--max-file-size\n1Ki\n".to_vec(),
        ],
        _ => Vec::new(),
    }
}
