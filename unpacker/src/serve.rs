//! `serve`: fills the ConfigMap of each bundle.

mod report;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use unlade_bundle::{Limits, finding};
use unlade_config_map::{
    ConfigMap, Encoding,
    encode::{self, encode},
    mark,
    protocol::outcome::{Outcome, Verdict},
};
use unlade_text::Escaping;

pub(crate) use self::report::Failure;
use crate::api::{self, Access, Connection, Filled, Kubeconfig, Pace, Policy, SystemClock};
use crate::log;

/// The options of `serve`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) source_image_from_env: bool,
    pub(crate) limits: Limits,
    pub(crate) namespace: Option<String>,
    pub(crate) encoding: Encoding,
    pub(crate) attempt: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) output: Output,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) policy: Policy,
    pub(crate) termination_log: Option<PathBuf>,
}

/// A bundle and the ConfigMap to fill with it.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) root: PathBuf,
    pub(crate) config_map: String,
    pub(crate) source_image: Option<String>,
}

/// The format of printed ConfigMaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Output {
    /// YAML documents that each start with `---`.
    #[default]
    Yaml,
    /// One JSON object per line.
    Json,
}

/// Fills or prints the ConfigMaps of all bundles, and calls `done` with the index and the outcome
/// of each.
///
/// `variable` reads environment variables: the two of the `kubernetes` service, and
/// `CONTAINER_IMAGE` if a flag allows it.
pub(crate) fn serve(
    options: &Options,
    variable: impl Fn(&str) -> Option<OsString>,
    stdout: &mut dyn Write,
    mut done: impl FnMut(usize, Outcome),
) {
    let clock = SystemClock::start();
    let target = match Target::new(options, &variable) {
        Ok(target) => target,
        Err(failure) => {
            failure.log(None);
            for (index, bundle) in options.bundles.iter().enumerate() {
                done(index, failure.outcome(&bundle.config_map));
            }
            return;
        }
    };
    let image = options.source_image_from_env.then(|| variable("CONTAINER_IMAGE")).flatten();
    let image = image.and_then(|image| image.into_string().ok()).filter(|image| !image.is_empty());
    for (index, bundle) in options.bundles.iter().enumerate() {
        // A bug that one bundle triggers must not affect the others.
        let run = catch_unwind(AssertUnwindSafe(|| {
            unpack_bundle(bundle, image.as_ref(), options, &target, &clock, stdout)
        }));
        let result = run.unwrap_or_else(|_| Err(Failure::panicked()));
        let outcome = result.unwrap_or_else(|failure| {
            failure.log(Some(&bundle.root));
            failure.outcome(&bundle.config_map)
        });
        done(index, outcome);
    }
}

/// Where the ConfigMaps are written to.
enum Target {
    Stdout { namespace: String },
    Server { connection: Box<Connection>, namespace: String },
}

impl Target {
    fn new(
        options: &Options,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Failure> {
        if options.dry_run {
            return Ok(Self::Stdout { namespace: options.namespace.clone().unwrap_or_default() });
        }
        let kubeconfig = options.kubeconfig.as_deref();
        let (connection, context_namespace) =
            connect(kubeconfig, options.context.as_deref(), variable)?;
        let namespace = match options.namespace.clone().or(context_namespace) {
            Some(namespace) => namespace,
            None if kubeconfig.is_some() => "default".to_owned(),
            None => api::namespace_of_pod(Path::new(api::ACCOUNT))?,
        };
        Ok(Self::Server { connection, namespace })
    }

    fn namespace(&self) -> &str {
        match self {
            Self::Stdout { namespace } | Self::Server { namespace, .. } => namespace,
        }
    }
}

/// Prepares the connection to the API server that the kubeconfig names, or to that of the pod. Also
/// returns the namespace of the kubeconfig's context.
pub(crate) fn connect(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(Box<Connection>, Option<String>), Failure> {
    let (access, namespace) = match kubeconfig {
        Some(path) => {
            let Kubeconfig { access, namespace, withholds_credentials } =
                Kubeconfig::read(path, context)?;
            if withholds_credentials {
                let server = format_args!("http://{}", access.host);
                let result = "so the credentials of the kubeconfig are not sent, as with kubectl";
                log::line(
                    "warning",
                    format_args!("the connection to {server} does not use TLS, {result}"),
                );
            }
            (access, namespace)
        }
        None => (Access::from_pod(variable, Path::new(api::ACCOUNT))?, None),
    };
    let connection = Connection::new(access).map_err(Failure::system)?;
    Ok((Box::new(connection), namespace))
}

fn unpack_bundle(
    bundle: &Bundle,
    image_from_env: Option<&String>,
    options: &Options,
    target: &Target,
    clock: &SystemClock,
    stdout: &mut dyn Write,
) -> Result<Outcome, Failure> {
    let reading = unlade_directory::read(&bundle.root, &options.limits)?;
    let root = bundle.root.display();
    for finding in finding::listed(&reading.findings) {
        log::line("warning", format_args!("{root}: {finding}"));
    }
    let encoded = encode(
        &reading.content,
        &encode::Options::default()
            .with_name(bundle.config_map.clone())
            .with_namespace(target.namespace().to_owned())
            .with_encoding(options.encoding)
            .with_source_image(bundle.source_image.as_ref().or(image_from_env).cloned())
            .with_attempt(options.attempt.clone())
            .with_findings(reading.findings.clone()),
    )?;
    let verdict = match target {
        Target::Stdout { .. } => {
            match print(&encoded, options.output, stdout) {
                // The reader closed the pipe, which is not a failure.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                result => result.map_err(Failure::system)?,
            }
            Verdict::Printed
        }
        Target::Server { connection, .. } => {
            let mut verdict = Verdict::Unchanged;
            for config_map in &encoded {
                let mut pace = Pace::new(&options.policy, clock);
                if api::fill(connection.as_ref(), config_map, unlade_config_map::fill, &mut pace)?
                    == Filled::Written
                {
                    verdict = Verdict::Written;
                }
            }
            verdict
        }
    };
    let mut outcome = Outcome::new(&bundle.config_map, verdict);
    outcome.files = Some(reading.content.files().len());
    let mut annotations = encoded.iter().map(|config_map| &config_map.metadata.annotations);
    outcome.digest = annotations.find_map(|them| them.get(mark::DIGEST)).cloned();
    outcome.findings = finding::count(&reading.findings);
    Ok(outcome)
}

fn print(config_maps: &[ConfigMap], output: Output, stdout: &mut dyn Write) -> io::Result<()> {
    for config_map in config_maps {
        match output {
            Output::Json => {
                serde_json::to_writer(Escaping(&mut *stdout), config_map)?;
                stdout.write_all(b"\n")?;
            }
            Output::Yaml => {
                let value = serde_json::to_value(config_map)?;
                stdout.write_all(b"---\n")?;
                stdout.write_all(unlade_yaml::write(&value).as_bytes())?;
            }
        }
    }
    stdout.flush()
}

#[cfg(test)]
mod tests;
