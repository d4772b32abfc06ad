//! What to do about an error, where that is known.

use std::io;
use std::path::Path;

use unlade_bundle::{annotation, content, layout};
use unlade_config_map::{Encoding, decode, encode, gzip};
use unlade_loader as loader;
use unlade_oci::{self as oci, bundle, layer, store};
use unlade_unpacker::directory;
use unlade_yaml as yaml;

use super::{Error, nearby};
use crate::{connection, input, remedy};

const FILES: &str = "--max-files sets the limit";
const FILE_SIZE: &str = "--max-file-size sets the limit";
const TOTAL_SIZE: &str = "--max-total-size sets the limit";
const RATIO: &str = "--max-ratio sets the limit";
const YAML_DEPTH: &str = "--max-yaml-depth sets the limit";
const YAML_SIZE: &str = "--max-yaml-size sets the limit";

impl Error {
    /// What to do, as a sentence without a period.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Directory { path, source: directory::Error::Missing { .. } } => {
                Some(nearby::hint(Path::new(path)))
            }
            Self::Directory { source, .. } => of_directory(source).map(str::to_owned),
            Self::NoBundle { .. } => Some(
                "no value is a Kubernetes object, and no annotation belongs to OLM or unlade"
                    .to_owned(),
            ),
            Self::Encode(encode::Error::TooLarge { encoding: Encoding::Plain, .. }) => {
                Some("--encoding gzip takes about a tenth of that".to_owned())
            }
            Self::Encode(error) => error.hint().map(str::to_owned),
            Self::Load { source: loader::Error::Decode(error), .. } => {
                of_decode(error).map(str::to_owned)
            }
            Self::Image { source, .. } => {
                of_image(source).map(str::to_owned).or_else(|| source.hint())
            }
            Self::Input(error) => of_input(error),
            Self::Launch { failure, .. } | Self::Cluster(failure) => {
                remedy::advice(failure.hint.as_deref(), &failure.remedies)
            }
            Self::Connection(error) => of_connection(error),
            Self::ToolImage => {
                Some("--tool-image names it, or the variable UNLADE_TOOL_IMAGE".to_owned())
            }
            _ => None,
        }
    }
}

fn of_connection(error: &connection::Error) -> Option<String> {
    match error {
        connection::Error::Nowhere => Some("set KUBECONFIG or pass --kubeconfig".to_owned()),
        connection::Error::Context { all, .. } | connection::Error::NoContext { all, .. } => {
            Some(match all.as_slice() {
                [] => "the kubeconfig defines no contexts".to_owned(),
                all => format!("choose one with --context: {}", all.join(", ")),
            })
        }
        _ => None,
    }
}

fn of_directory(error: &directory::Error) -> Option<&'static str> {
    match error {
        directory::Error::Files { .. } => Some(FILES),
        directory::Error::FileSize { .. } => Some(FILE_SIZE),
        directory::Error::TotalSize { .. } => Some(TOTAL_SIZE),
        directory::Error::Content(error) => of_content(error),
        directory::Error::Layout(layout::Error::Annotations(error)) => of_annotations(error),
        _ => None,
    }
}

fn of_image(error: &oci::Error) -> Option<&'static str> {
    match error {
        oci::Error::Bundle(bundle::Error::Files { .. })
        | oci::Error::Layer { source: layer::Error::Files { .. }, .. } => Some(FILES),
        oci::Error::Bundle(bundle::Error::FileSize { .. }) => Some(FILE_SIZE),
        oci::Error::Bundle(bundle::Error::TotalSize { .. })
        | oci::Error::Layer { source: layer::Error::TotalSize { .. }, .. } => Some(TOTAL_SIZE),
        oci::Error::Content(error) => of_content(error),
        oci::Error::Layout(layout::Error::Annotations(error)) => of_annotations(error),
        oci::Error::Store(store::Error::NotAnArchive { .. }) => {
            Some("a bundle is a directory or an image; a ConfigMap is read by `unlade load`")
        }
        _ => None,
    }
}

fn of_content(error: &content::Error) -> Option<&'static str> {
    match error {
        content::Error::TooManyFiles { .. } => Some(FILES),
        content::Error::FileTooLarge { .. } => Some(FILE_SIZE),
        content::Error::TooLarge { .. } => Some(TOTAL_SIZE),
        content::Error::Annotations(error) => of_annotations(error),
        _ => error.hint(),
    }
}

fn of_annotations(error: &annotation::Error) -> Option<&'static str> {
    match error {
        annotation::Error::Yaml { source, .. } => of_yaml(source),
        _ => None,
    }
}

fn of_yaml(error: &yaml::Error) -> Option<&'static str> {
    match error {
        yaml::Error::TooDeep { .. } => Some(YAML_DEPTH),
        yaml::Error::TooLarge { .. } => Some(YAML_SIZE),
        _ => None,
    }
}

/// What helps if `error` is one of decoding a ConfigMap.
fn of_decode(error: &decode::Error) -> Option<&'static str> {
    match error {
        decode::Error::TooLarge { .. } => Some(TOTAL_SIZE),
        decode::Error::Value { source: gzip::Error::TooLarge { .. }, .. } => Some(FILE_SIZE),
        decode::Error::Value { source: gzip::Error::Ratio { .. }, .. } => Some(RATIO),
        decode::Error::Content(error) => of_content(error),
        _ => error.hint(),
    }
}

fn of_input(error: &input::Error) -> Option<String> {
    match error {
        input::Error::Terminal => Some(
            "pipe a ConfigMap in, as in `kubectl get configmap NAME -o yaml | unlade load`"
                .to_owned(),
        ),
        input::Error::Read { source, .. } if source.kind() == io::ErrorKind::IsADirectory => Some(
            "a bundle directory is unpacked first: `unlade unpack DIRECTORY -o yaml | unlade load`"
                .to_owned(),
        ),
        input::Error::Archive { origin } => Some(format!(
            "a bundle image is unpacked first: `unlade unpack {origin} -o yaml | unlade load`"
        )),
        input::Error::Missing { others, .. } if others.iter().any(|it| input::is_catalog(it)) => {
            Some("a file-based catalog is read by `opm`; this command reads ConfigMaps".to_owned())
        }
        input::Error::Yaml { source, .. } => of_yaml(source).map(str::to_owned),
        input::Error::TooLarge { .. } => Some("--max-input-size sets the limit".to_owned()),
        _ => None,
    }
}
