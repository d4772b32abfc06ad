//! `unlade load`.

use std::io::{self, Write};
use std::slice;

use serde::Serialize;
use unlade_bundle::Finding;
use unlade_config_map::ConfigMap;
use unlade_loader::{self as loader, Loaded, Strictness};
use unlade_yaml as yaml;

use super::failure::Failures;
use crate::{
    args::{Format, Load},
    error::Error,
    input::{self, Input, Origin},
    output::{self, Documents, Form},
    screen::Screen,
    stderr, summary,
};

pub(super) fn run(args: Load, screen: &Screen) -> Result<(), Error> {
    let Load { file, filename, output, strict, max_input_size, limits } = args;
    let limits = unlade_bundle::Limits::from(limits);
    let reader = |size| yaml::Reader::new(&input_limits(&limits.yaml, size));
    let (Input { config_maps, is_many, others }, reader) = Origin::new(file.or(filename))
        .and_then(|origin| input::read(&origin, max_input_size.0, reader))
        .map_err(Error::LoadInput)?;
    // Only the input may be larger than a bundle.
    let reader = reader.with_limits_of_text(&limits.yaml);
    stderr::warn(
        others.iter().map(|object| format!("{object} is not a ConfigMap, so it is dropped")),
        screen,
    );
    let strictness = if strict { Strictness::Strict } else { Strictness::Upstream };
    let options = loader::Options::default().with_strictness(strictness).with_limits(limits);
    let mut writer = Writer::new(output, is_many, output::stdout(), screen);
    let mut failures = Failures::new("load", config_maps.len(), screen);
    for config_map in config_maps {
        let single = slice::from_ref(&config_map);
        let failure = match loader::load_config_maps_within(single, &options, &reader) {
            Ok(loaded) => {
                writer.write(&config_map, &loaded).map_err(Error::Output)?;
                continue;
            }
            Err(failure) => failure,
        };
        let report = match &failure {
            loader::Error::Lossy(findings) => findings.clone(),
            _ => Vec::new(),
        };
        let error = Error::load(format!("the {}", name(&config_map)), failure, screen);
        // If there is only one bundle, its error is the error of the command.
        if !is_many {
            return Err(error);
        }
        // The other ConfigMaps of a List may still load.
        writer.write_failure(&config_map, &error, &report).map_err(Error::Output)?;
        failures.add(&error);
    }
    writer.finish().map_err(Error::Output)?;
    failures.into_result()
}

/// Raises the limits of one bundle to those of an input of `size` bytes, which may contain all
/// ConfigMaps of a cluster. Published bundles need up to 15 units of work for each byte of their
/// ConfigMap.
fn input_limits(limits: &yaml::Limits, size: usize) -> yaml::Limits {
    let mut limits = limits.clone();
    limits.input = limits.input.max(size);
    limits.tree = limits.tree.max(size.saturating_mul(2));
    limits.output = limits.output.max(size.saturating_mul(2));
    limits.total_output = limits.total_output.max(size.saturating_mul(2));
    limits.work = limits.work.max((size as u64).saturating_mul(20));
    limits
}

/// A document of the output, about one ConfigMap. Fields are added but never removed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a, T> {
    config_map: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    #[serde(flatten)]
    payload: T,
}

impl<'a, T> Document<'a, T> {
    fn new(config_map: &'a ConfigMap, payload: T) -> Self {
        let metadata = &config_map.metadata;
        Self { config_map: &metadata.name, namespace: &metadata.namespace, payload }
    }
}

/// Takes the place of the bundle if a ConfigMap was not loaded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    error: String,
    exit_code: u8,
    /// The findings that `--strict` refuses.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    report: &'a [Finding],
}

fn name(config_map: &ConfigMap) -> String {
    let metadata = &config_map.metadata;
    match metadata.namespace.as_str() {
        "" => format!("ConfigMap {}", metadata.name),
        namespace => format!("ConfigMap {namespace}/{}", metadata.name),
    }
}

/// Writes bundles in the requested format.
#[derive(Debug)]
enum Writer<'a, W> {
    Summaries { to: W, is_many: bool, n_written: usize, screen: &'a Screen },
    Documents(Documents<W>),
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(format: Format, is_many: bool, to: W, screen: &'a Screen) -> Self {
        let form = match format {
            Format::Summary => return Self::Summaries { to, is_many, n_written: 0, screen },
            Format::Yaml => Form::Yaml,
            Format::Json if is_many => Form::JsonLines,
            Format::Json => Form::Json,
        };
        Self::Documents(Documents::new(form, to))
    }

    fn write(&mut self, config_map: &ConfigMap, loaded: &Loaded) -> io::Result<()> {
        match self {
            Self::Summaries { to, is_many, n_written, screen } => {
                let gap = if *n_written > 0 { "\n\n" } else { "" };
                let heading = is_many.then(|| name(config_map));
                let text = summary::format_loaded(loaded, heading.as_deref(), screen);
                *n_written += 1;
                write!(to, "{gap}{text}")
            }
            Self::Documents(documents) => documents.write(&Document::new(config_map, loaded)),
        }
    }

    /// Writes a document for a ConfigMap that failed to load. A summary does not contain it,
    /// because the error is on standard error.
    fn write_failure(
        &mut self,
        config_map: &ConfigMap,
        error: &Error,
        report: &[Finding],
    ) -> io::Result<()> {
        let Self::Documents(documents) = self else { return Ok(()) };
        let exit_code = error.exit().code();
        let failure = Failure { error: unlade_text::chain(error), exit_code, report };
        documents.write(&Document::new(config_map, failure))
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Summaries { mut to, .. } => to.flush(),
            Self::Documents(documents) => documents.finish(),
        }
    }
}
