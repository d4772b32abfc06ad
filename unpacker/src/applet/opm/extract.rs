//! Writes the copy of a bundle into its ConfigMap.
//!
//! It fails only where upstream or the API server would, or where something is not safe; what
//! `serve` refuses beyond that is left out here and said.

use std::ffi::OsString;

use unlade_bundle::{Content, File, Limits, content, key::ConfigMapKey};
use unlade_config_map::{
    ConfigMap, Encoding,
    encode::{self, encode},
    fill,
};

use super::super::tell;
use super::flag::Options;
use super::log::logged;
use crate::api::{self, Connection, Fill, Pace, Policy, SystemClock};
use crate::directory;
use crate::serve::{self, Failure};

/// The way to the API server.
pub(super) fn connect(
    options: &Options,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Box<Connection>, Failure> {
    match &options.kubeconfig {
        Some(path) => {
            let message = format!("Loading kube client config from path {:?}", path.display());
            logged("info", &message, &[]);
        }
        None => logged("info", "Using in-cluster kube client config", &[]),
    }
    Ok(serve::connect(options.kubeconfig.as_deref(), None, variable)?.0)
}

/// Fills the ConfigMap; `image` is where the bundle came from, if that is known.
pub(super) fn extract(
    options: &Options,
    connection: &Connection,
    image: Option<String>,
) -> Result<(), Failure> {
    let limits = Limits::default();
    let files =
        directory::read_as_writer(&options.root, &directory::Options::with_limits(limits.clone()))?;
    tell_of(&files, options);
    let reading = Content::assemble_as_upstream(files, &limits).map_err(directory::Error::from)?;
    tell(&reading.findings, |finding| logged("warning", finding, &[]));
    let mut content = reading.content;
    let written = encode::Options {
        name: options.config_map.clone(),
        namespace: options.namespace.clone(),
        encoding: if options.is_compressed { Encoding::Gzip } else { Encoding::Plain },
        source_image: image,
        findings: reading.findings,
        metadata_as_upstream: true,
        ..encode::Options::default()
    };
    match fill_with(&content, &written, options, connection, unlade_config_map::fill_over) {
        Err(Unfilled::Annotations(_)) => {}
        result => return Ok(result?),
    }
    // Upstream keeps less, which may fit.
    let mut gone = Vec::new();
    let n_gone = content.keep_upstream_annotations();
    if n_gone > 0 {
        gone.push(format!("{n_gone} of annotations.yaml beside upstream's six"));
    }
    match fill_with(&content, &written, options, connection, replace) {
        Err(Unfilled::Annotations(_)) => {
            let written = encode::Options { without_marks: true, ..written };
            fill_with(&content, &written, options, connection, replace)?;
            gone.push("unlade's marks".to_owned());
        }
        result => result?,
    }
    let gone = if gone.is_empty() { String::new() } else { format!("{} and ", gone.join(", ")) };
    let message = format!(
        "the annotations are more than Kubernetes takes: {gone}those that the ConfigMap had are \
         left out"
    );
    logged("warning", &message, &[]);
    Ok(())
}

/// What upstream says while it reads, in its order.
fn tell_of(files: &[File], options: &Options) {
    for file in files {
        let path = options.root.join(file.path());
        logged("info", "Reading file", &[("file", &path.to_string_lossy())]);
        if file.name == content::ANNOTATIONS_FILE {
            continue;
        }
        if let Ok(key) = ConfigMapKey::of_file(&file.name)
            && key.as_str() != file.name
        {
            let fields = [("file.Name", file.name.as_str()), ("validConfigMapKey", key.as_str())];
            logged("info", "translated filename for configmap compatibility", &fields);
        }
        if !options.is_compressed && std::str::from_utf8(&file.bytes).is_err() {
            let message = format!(
                "{}: the file is not UTF-8, so it lies in binaryData, which OLM reads with gzip \
                 alone",
                file.path()
            );
            logged("warning", &message, &[]);
        }
    }
}

/// Why a ConfigMap is not filled.
enum Unfilled {
    /// The annotations are too large.
    Annotations(Failure),
    Other(Failure),
}

impl From<Unfilled> for Failure {
    fn from(unfilled: Unfilled) -> Self {
        match unfilled {
            Unfilled::Annotations(failure) | Unfilled::Other(failure) => failure,
        }
    }
}

fn fill_with(
    content: &Content,
    written: &encode::Options,
    options: &Options,
    connection: &Connection,
    put: Fill,
) -> Result<(), Unfilled> {
    let encoded = encode(content, written).map_err(|error| match error {
        encode::Error::Annotations(_) => Unfilled::Annotations(error.into()),
        error => Unfilled::Other(error.into()),
    })?;
    for mut config_map in encoded {
        check_limit(&config_map, options.limit)?;
        // Upstream leaves them as they are, and OLM has set its own.
        config_map.metadata.labels.clear();
        let (policy, clock) = (Policy::default(), SystemClock::start());
        let mut pace = Pace::new(&policy, &clock);
        api::fill(connection, &config_map, put, &mut pace).map_err(|error| match error {
            api::Error::Fill(fill::Error::Annotations { .. }) => {
                Unfilled::Annotations(error.into())
            }
            error => Unfilled::Other(error.into()),
        })?;
    }
    Ok(())
}

/// As upstream does it: no annotation of others stays.
fn replace(mut existing: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, fill::Error> {
    existing.metadata.annotations.clear();
    unlade_config_map::fill(existing, encoded)
}

fn check_limit(config_map: &ConfigMap, limit: u64) -> Result<(), Unfilled> {
    if config_map.values_size() as u64 <= limit {
        return Ok(());
    }
    logged("error", &format!("Bundle files exceeded {limit} bytes limit"), &[]);
    Err(Unfilled::Other(Failure::limit(limit)))
}
