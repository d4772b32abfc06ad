//! Writes the copy of a bundle into its ConfigMap.
//!
//! It fails only where upstream or the API server would, or where something is not safe; what
//! `serve` refuses beyond that is left out here and said.

use std::ffi::OsString;

use unlade_format::encode::{self, encode};
use unlade_format::{Content, Encoding, Limits};

use super::flag::Options;
use super::logged;
use crate::api::{self, Pace, Policy, SystemClock};
use crate::directory;
use crate::serve::{self, FINDINGS, Failure};

pub(super) fn extract(
    options: &Options,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), Failure> {
    match &options.kubeconfig {
        Some(path) => {
            let message = format!("Loading kube client config from path {:?}", path.display());
            logged("info", &message, &[]);
        }
        None => logged("info", "Using in-cluster kube client config", &[]),
    }
    let (connection, _) = serve::connect(options.kubeconfig.as_deref(), None, &variable)?;
    let limits = Limits::default();
    let files =
        directory::read_as_writer(&options.root, &directory::Options::with_limits(limits.clone()))?;
    for file in &files {
        let path = options.root.join(file.path());
        logged("info", "Reading file", &[("file", &path.to_string_lossy())]);
    }
    let reading = Content::assemble_as_upstream(files, &limits).map_err(directory::Error::from)?;
    for finding in reading.findings.iter().take(FINDINGS) {
        logged("warning", &finding.to_string(), &[]);
    }
    let image = variable("CONTAINER_IMAGE").and_then(|image| image.into_string().ok());
    let encoding = if options.is_compressed { Encoding::Gzip } else { Encoding::Plain };
    let encoded = encode(
        &reading.content,
        &encode::Options {
            name: options.config_map.clone(),
            namespace: options.namespace.clone(),
            encoding,
            source_image: image.filter(|image| !image.is_empty()),
            attempt: None,
        },
    )?;
    let clock = SystemClock::start();
    let policy = Policy::default();
    for config_map in &encoded {
        if config_map.values_size() as u64 > options.limit {
            return Err(Failure::limit(options.limit));
        }
        let mut pace = Pace::new(&policy, &clock);
        api::fill(connection.as_ref(), config_map, unlade_format::fill_over, &mut pace)?;
    }
    Ok(())
}
