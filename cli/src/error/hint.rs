//! The hints that follow errors.

use std::io;
use std::path::Path;

use unlade_bundle::{annotation, content, layout, source};
use unlade_catalog::edit;
use unlade_catalog_directory::ChangeError;
use unlade_config_map::{Encoding, decode, encode, gzip};
use unlade_loader as loader;
use unlade_name::ImageReference;
use unlade_oci::{self as oci, layer, store};
use unlade_registry::Configuration;
use unlade_text::excerpt;
use unlade_yaml as yaml;

use super::{Error, nearby};
use crate::command::{CredentialsError, DrawError};
use crate::input::{self, OtherKind};
use crate::{connection, remedy};

const FILES_HINT: &str = "raise the limit with --max-files";
const FILE_SIZE_HINT: &str = "raise the limit with --max-file-size";
const TOTAL_SIZE_HINT: &str = "raise the limit with --max-total-size";
const RATIO_HINT: &str = "raise the limit with --max-ratio";
const YAML_DEPTH_HINT: &str = "raise the limit with --max-yaml-depth";
const YAML_SIZE_HINT: &str = "raise the limit with --max-yaml-size";
/// The hints that name an option of `unpack` and `load`.
const LIMIT_HINTS: [&str; 6] =
    [FILES_HINT, FILE_SIZE_HINT, TOTAL_SIZE_HINT, RATIO_HINT, YAML_DEPTH_HINT, YAML_SIZE_HINT];

impl Error {
    /// Returns what the user can do about the error, in the imperative, without a full stop.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Trouble(error) => error.hint(),
            Self::DefaultLimits(error) => {
                error.hint().filter(|hint| !LIMIT_HINTS.contains(&hint.as_str()))
            }
            Self::Source(error) => opening_hint(error),
            Self::Directory { path, source: source::Error::Missing { .. } } => {
                Some(nearby::hint(Path::new(path)))
            }
            Self::Directory { source, .. } => source_hint(source).map(str::to_owned),
            Self::NoBundle { .. } => Some(
                "pass a ConfigMap that contains a Kubernetes object, or an annotation of OLM or \
                 unlade"
                    .to_owned(),
            ),
            Self::Encode(encode::Error::TooLarge { encoding: Encoding::Plain, .. }) => {
                Some("use --encoding gzip, which needs about a tenth of the space".to_owned())
            }
            Self::Encode(error) => error.hint().map(str::to_owned),
            Self::Load { source: loader::Error::Decode(error), .. } => {
                decode_hint(error).map(str::to_owned)
            }
            Self::Credentials(error) => credentials_hint(error),
            Self::Copy { source, .. } => registry_hint(source)
                .or_else(|| remedy::advice(source.hint().as_deref(), source.remedy().as_slice())),
            Self::Build(source) | Self::Extend { source, .. } => source.hint(),
            Self::NoCacheDirectory => Some("set UNLADE_CACHE_DIR or HOME".to_owned()),
            Self::Change(ChangeError::Text {
                source: edit::Error::Unchangeable { .. }, ..
            }) => Some("write the entries as a block list, one item on each line".to_owned()),
            Self::Draw(DrawError::TooLarge) => {
                Some("select a package with --package, or use -o dot and Graphviz".to_owned())
            }
            Self::Uncreated(_) => Some("use --create to create it".to_owned()),
            Self::LoadInput(error) => load_input_hint(error),
            Self::Input(input::Error::Yaml { source, .. }) => yaml_hint(source).map(str::to_owned),
            Self::Launch { failure, .. } | Self::Cluster(failure) => {
                remedy::advice(failure.hint.as_deref(), &failure.remedies)
            }
            Self::Connection(error) => connection_hint(error),
            Self::ToolImage => Some(
                "pass --tool-image or set UNLADE_TOOL_IMAGE; in a clone of the repository, build \
                 and push the image with `cargo xtask image --push NAME`"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

fn opening_hint(error: &crate::source::Error) -> Option<String> {
    use crate::source::Error;
    match error {
        Error::Notation(error) => error.hint(),
        Error::Image { name, source: oci::Error::Store(store::Error::Open { source, .. }) }
            if source.kind() == io::ErrorKind::NotFound
                && let Some(hint) = search_hint(name) =>
        {
            Some(hint)
        }
        Error::Image { source, .. } => {
            let hint = registry_hint(source).or_else(|| image_hint(source).map(str::to_owned));
            hint.or_else(|| remedy::advice(source.hint().as_deref(), source.remedy().as_slice()))
        }
        _ => None,
    }
}

fn credentials_hint(error: &CredentialsError) -> Option<String> {
    match error {
        CredentialsError::Reference(error) => error.hint(),
        CredentialsError::Unusable { source, .. } => source.hint(),
        CredentialsError::Missing { registry } => Some(format!(
            "log in with `podman login {registry}` or `docker login {registry}`, or pass \
             --authfile"
        )),
    }
}

/// Suggests the registries in which podman would search for `name`, if it may be an image.
fn search_hint(name: &str) -> Option<String> {
    let image = ImageReference::parse(name).ok()?;
    let is_short = !name.starts_with(image.registry()) && name.contains([':', '@']);
    let rules = Configuration::from_env().read().ok()?;
    let search = rules.unqualified_search_registries();
    let names: Vec<_> = search.iter().map(|host| format!("docker://{host}/{name}")).collect();
    (is_short && !names.is_empty())
        .then(|| format!("to read an image from a registry, use {}", excerpt::list(&names, " or ")))
}

/// Returns the hint for an error of a registry among the causes of `error`.
fn registry_hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let error = unlade_registry::Error::find(error)?;
    remedy::advice(error.hint().as_deref(), error.remedy().as_slice())
}

fn connection_hint(error: &connection::Error) -> Option<String> {
    match error {
        connection::Error::Nowhere => Some("set KUBECONFIG or pass --kubeconfig".to_owned()),
        connection::Error::Context { all, .. } | connection::Error::NoContext { all, .. } => {
            Some(match all.as_slice() {
                [] => "add a context to the kubeconfig".to_owned(),
                all => format!("choose one with --context: {}", all.join(", ")),
            })
        }
        _ => None,
    }
}

fn source_hint(error: &source::Error) -> Option<&'static str> {
    match error {
        source::Error::Files { .. } => Some(FILES_HINT),
        source::Error::FileSize { .. } => Some(FILE_SIZE_HINT),
        source::Error::TotalSize { .. } => Some(TOTAL_SIZE_HINT),
        source::Error::Content(error) => content_hint(error),
        source::Error::Layout(layout::Error::Annotations(error)) => annotations_hint(error),
        _ => None,
    }
}

fn image_hint(error: &oci::Error) -> Option<&'static str> {
    match error {
        oci::Error::Bundle(error) => source_hint(error),
        oci::Error::Layer { source: layer::Error::Files { .. }, .. } => Some(FILES_HINT),
        oci::Error::Layer { source: layer::Error::TotalSize { .. }, .. } => Some(TOTAL_SIZE_HINT),
        oci::Error::Store(store::Error::NotAnArchive { .. }) => Some(
            "pass a bundle directory or a bundle image, or use `unlade load` to read a ConfigMap",
        ),
        _ => None,
    }
}

fn content_hint(error: &content::Error) -> Option<&'static str> {
    match error {
        content::Error::TooManyFiles { .. } => Some(FILES_HINT),
        content::Error::FileTooLarge { .. } => Some(FILE_SIZE_HINT),
        content::Error::TooLarge { .. } => Some(TOTAL_SIZE_HINT),
        content::Error::Annotations(error) => annotations_hint(error),
        _ => error.hint(),
    }
}

fn annotations_hint(error: &annotation::Error) -> Option<&'static str> {
    match error {
        annotation::Error::Yaml { source, .. } => yaml_hint(source),
        _ => None,
    }
}

fn yaml_hint(error: &yaml::Error) -> Option<&'static str> {
    match error {
        // No option sets the maximum depth of flow collections, or the maximum sizes of the text
        // and of the document in memory.
        yaml::Error::TooDeep { limit: yaml::FLOW_DEPTH, .. } => None,
        yaml::Error::TooDeep { .. } => Some(YAML_DEPTH_HINT),
        yaml::Error::TooLarge { what: "the JSON", .. } => Some(YAML_SIZE_HINT),
        _ => None,
    }
}

/// Returns the hint for an error in decoding a ConfigMap.
fn decode_hint(error: &decode::Error) -> Option<&'static str> {
    match error {
        decode::Error::TooLarge { .. } => Some(TOTAL_SIZE_HINT),
        decode::Error::Value { source: gzip::Error::TooLarge { .. }, .. } => Some(FILE_SIZE_HINT),
        decode::Error::Value { source: gzip::Error::Ratio { .. }, .. } => Some(RATIO_HINT),
        decode::Error::Content(error) => content_hint(error),
        _ => error.hint(),
    }
}

fn load_input_hint(error: &input::Error) -> Option<String> {
    match error {
        input::Error::Terminal => Some(
            "pass FILE, or use a pipe: `kubectl get configmap NAME -o yaml | unlade load`"
                .to_owned(),
        ),
        input::Error::Read { origin, source } if source.kind() == io::ErrorKind::IsADirectory => {
            Some(format!(
                "unpack a bundle directory first: `unlade unpack {origin} -o yaml | unlade load`"
            ))
        }
        input::Error::Archive { origin } => Some(format!(
            "unpack a bundle image first: `unlade unpack {origin} -o yaml | unlade load`"
        )),
        input::Error::Missing { others, .. }
            if others.iter().any(|it| it.kind == OtherKind::CatalogEntry) =>
        {
            Some(
                "pass a ConfigMap, or use `unlade catalog validate` to read a file-based catalog"
                    .to_owned(),
            )
        }
        input::Error::Yaml { source, .. } => yaml_hint(source).map(str::to_owned),
        input::Error::TooLarge { .. } => Some("raise the limit with --max-input-size".to_owned()),
        _ => None,
    }
}
