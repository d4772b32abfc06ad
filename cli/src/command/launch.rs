//! `unlade launch`.

mod credentials;
mod document;
mod dry_run;
mod list;
mod many;
mod one;
mod report;
mod stop;

use std::fmt::Display;
use std::path::Path;

use k8s_openapi::api::core::v1::Affinity;
use serde_json::Value;
use unlade_launcher::{Batch, Launcher, Name, Options, Request, owner};
use unlade_loader::{self as loader, Strictness};
use unlade_yaml as yaml;

pub(crate) use credentials::Error as CredentialsError;
use credentials::find_all;
pub(super) use credentials::find_credentials;

use crate::{
    args::{self, DryRun, JobArgs, Launch, Many, Output, PodArgs, Reuse, stored_auth},
    connection::{self, Cluster},
    error::Error,
    input::Origin,
    screen::Screen,
};

/// The maximum size of a file with an Affinity, in bytes.
const MAX_AFFINITY_SIZE: usize = 1 << 20;

/// The settings of a launch of one or many images.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate switch")]
struct Settings<'a> {
    launcher: Launcher,
    namespace: String,
    output: Output,
    is_quiet: bool,
    /// Whether the log shows the phases instead of the progress lines.
    is_logged: bool,
    is_removed: bool,
    is_cancelled_on_interrupt: bool,
    loader: loader::Options,
    screen: &'a Screen,
}

pub(super) fn run(args: Launch, screen: &Screen) -> Result<(), Error> {
    let Launch {
        images,
        filename,
        output,
        quiet,
        strict,
        dry_run,
        rm,
        cancel_on_interrupt,
        many,
        config_map,
        job,
        pod,
        authfile,
        connection,
    } = args;
    let is_list = filename.is_some() || images.len() > 1;
    let images = list::images(images, filename.as_deref())?;
    let auth = pod.pull_secret_from_login.then(|| stored_auth(authfile, Vec::new()));
    let options = options(&job, pod, config_map.reuse)?;
    let credentials = find_all(auth.as_ref(), &images, &options.tool_image)?;
    if is_list && config_map.name.is_some() {
        return Err(Error::Usage("--name cannot be used with several images".to_owned()));
    }
    if dry_run == DryRun::Client && config_map.owner.is_some() {
        return Err(Error::Usage(
            "--owner cannot be used with --dry-run=client, because the owner is read from the \
             cluster"
                .to_owned(),
        ));
    }
    let requests = |namespace: &str| -> Vec<Request> {
        let requests = images.iter().map(|image| request(image, namespace, &config_map));
        let with_credentials =
            requests.zip(credentials.clone()).map(|(mut request, credentials)| {
                request.credentials = credentials;
                request
            });
        with_credentials.collect()
    };
    connection::block_on(async {
        if dry_run == DryRun::Client {
            let namespace = connection::namespace_only(&connection).await?;
            return dry_run::client(&requests(&namespace), &options, output);
        }
        let Cluster { client, namespace } = connection::connect(&connection).await?;
        let mut requests = requests(&namespace);
        if let Some(text) = &config_map.owner {
            let owner = owner::resolve(&client, &namespace, text).await?;
            for request in &mut requests {
                request.owner = Some(owner.clone());
            }
        }
        let launcher = Launcher::new(client, options);
        if dry_run == DryRun::Server {
            return dry_run::server(&launcher, &requests, output).await;
        }
        let strictness = if strict { Strictness::Strict } else { Strictness::Upstream };
        let settings = Settings {
            launcher,
            namespace,
            output: output.unwrap_or_default(),
            is_quiet: quiet,
            is_logged: connection.verbose > 0,
            is_removed: rm,
            is_cancelled_on_interrupt: cancel_on_interrupt,
            loader: loader::Options::default().with_strictness(strictness),
            screen,
        };
        let Many { concurrency, keep_going, pack } = many;
        let batch = Batch::default()
            .with_concurrency(concurrency)
            .with_keep_going(keep_going)
            .with_pack(pack);
        match requests.as_slice() {
            [request] if !is_list => one::launch(&settings, request).await,
            requests => many::launch(&settings, requests, batch).await,
        }
    })
}

/// Returns the launcher's options for the arguments, including the content of the Affinity file.
pub(super) fn options(job: &JobArgs, pod: PodArgs, reuse: Reuse) -> Result<Options, Error> {
    let affinity = pod.affinity.as_deref().map(read_affinity).transpose()?;
    let mut options = job.options(reuse).ok_or(Error::ToolImage)?;
    options.pod = pod.options(affinity);
    Ok(options)
}

fn request(image: &str, namespace: &str, config_map: &args::ConfigMapArgs) -> Request {
    let name = match &config_map.name {
        Some(name) => Name::Given(name.clone()),
        None if config_map.generate_name => Name::Generated,
        None => Name::Derived,
    };
    Request::new(image, namespace).with_name(name).with_encoding(config_map.encoding)
}

/// Reads an Affinity from a file.
fn read_affinity(path: &Path) -> Result<Affinity, Error> {
    let origin = Origin::new(Some(path.to_owned()))?;
    let text = origin.read(MAX_AFFINITY_SIZE)?;
    let failed = |cause: &dyn Display| {
        Error::Usage(format!("{} is not an Affinity: {cause}", origin.name()))
    };
    let json = yaml::to_json(&text, &yaml::Limits::default()).map_err(|error| failed(&error))?;
    let given: Value = serde_json::from_str(&json).map_err(|error| failed(&error))?;
    let affinity = serde_path_to_error::deserialize(&given).map_err(|error| failed(&error))?;
    // k8s-openapi ignores fields that it does not know, so another kind of object would be
    // accepted.
    let read = serde_json::to_value(&affinity).map_err(|error| failed(&error))?;
    match ignored_field(&given, &read) {
        Some(field) => Err(failed(&format!("unknown field {field}"))),
        None => Ok(affinity),
    }
}

/// Returns the path of the first field that has a value and was not read.
fn ignored_field(given: &Value, read: &Value) -> Option<String> {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => given
            .iter()
            .filter(|(_, value)| !value.is_null())
            .find_map(|(key, value)| match read.get(key) {
                None => Some(key.clone()),
                Some(read) => ignored_field(value, read).map(|field| format!("{key}.{field}")),
            }),
        (Value::Array(given), Value::Array(read)) => {
            given.iter().zip(read).find_map(|(given, read)| ignored_field(given, read))
        }
        _ => None,
    }
}
