//! Fills the ConfigMap of a bundle from the copy of the bundle.
//!
//! This fails only where upstream or the API server would fail, or where going on is not safe.
//! Other things that `serve` refuses are dropped with a warning.

use std::ffi::OsString;

use unlade_bundle::{Content, Limits, source};
use unlade_config_map::{
    ConfigMap, Encoding,
    encode::{self, encode},
    fill,
};
use unlade_directory::Dir;

use super::flag::Options;
use crate::api::{self, Connection, Fill, Pace, Policy, SystemClock};
use crate::applet::report_findings;
use crate::log;
use crate::serve::{self, Failure};

/// Fills the ConfigMap. `variable` reads environment variables.
pub(super) fn extract(
    options: &Options,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), Failure> {
    let (connection, _) = serve::connect(options.kubeconfig.as_deref(), None, &variable)?;
    let image = variable("CONTAINER_IMAGE").and_then(|image| image.into_string().ok());
    let limits = Limits::default();
    let files = source::read_as_writer(Dir::open_root(&options.root)?, &limits)?;
    let encoding = if options.is_compressed { Encoding::Gzip } else { Encoding::Plain };
    let reading = Content::assemble_as_upstream(files, &limits).map_err(source::Error::from)?;
    report_findings(&reading.findings);
    let mut content = reading.content;
    report_findings(&encode::unread_manifests(&content, encoding).collect::<Vec<_>>());
    let written = encode::Options::default()
        .with_name(options.config_map.clone())
        .with_namespace(options.namespace.clone())
        .with_encoding(encoding)
        .with_source_image(image.filter(|image| !image.is_empty()))
        .with_findings(reading.findings)
        .with_metadata_as_upstream(true);
    match fill_with(&content, &written, options, &connection, unlade_config_map::fill_over) {
        Err(FillError::Annotations(_)) => {}
        result => return Ok(result?),
    }
    // Upstream writes fewer annotations, which may fit.
    let mut dropped = Vec::new();
    let n_dropped = content.keep_upstream_annotations();
    if n_dropped > 0 {
        dropped.push(format!("{n_dropped} annotations of annotations.yaml"));
    }
    match fill_with(&content, &written, options, &connection, replace) {
        Err(FillError::Annotations(_)) => {
            let written = written.without_marks(true);
            fill_with(&content, &written, options, &connection, replace)?;
            dropped.push("the marks of unlade".to_owned());
        }
        result => result?,
    }
    let dropped =
        if dropped.is_empty() { String::new() } else { format!("{} and ", dropped.join(", ")) };
    let message = format_args!(
        "the annotations are larger than Kubernetes allows: {dropped}the existing annotations of \
         the ConfigMap are dropped"
    );
    log::line("warning", message);
    Ok(())
}

/// Why a ConfigMap was not filled.
enum FillError {
    /// The annotations are too large.
    Annotations(Failure),
    Other(Failure),
}

impl From<FillError> for Failure {
    fn from(error: FillError) -> Self {
        match error {
            FillError::Annotations(failure) | FillError::Other(failure) => failure,
        }
    }
}

fn fill_with(
    content: &Content,
    written: &encode::Options,
    options: &Options,
    connection: &Connection,
    put: Fill,
) -> Result<(), FillError> {
    let encoded = encode(content, written).map_err(|error| match error {
        encode::Error::Annotations(_) => FillError::Annotations(error.into()),
        error => FillError::Other(error.into()),
    })?;
    for mut config_map in encoded {
        check_limit(&config_map, options.limit)?;
        // Upstream does not change the labels, and OLM has set its own.
        config_map.metadata.labels.clear();
        let (policy, clock) = (Policy::default(), SystemClock::start());
        let mut pace = Pace::new(&policy, &clock);
        api::fill(connection, &config_map, put, &mut pace).map_err(|error| match error {
            api::Error::Fill(fill::Error::Annotations { .. }) => {
                FillError::Annotations(error.into())
            }
            error => FillError::Other(error.into()),
        })?;
    }
    Ok(())
}

/// Fills the ConfigMap as upstream does: without the annotations that it already had.
fn replace(mut existing: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, fill::Error> {
    existing.metadata.annotations.clear();
    unlade_config_map::fill(existing, encoded)
}

fn check_limit(config_map: &ConfigMap, limit: u64) -> Result<(), FillError> {
    if config_map.values_size() as u64 <= limit {
        return Ok(());
    }
    Err(FillError::Other(Failure::limit(limit)))
}
