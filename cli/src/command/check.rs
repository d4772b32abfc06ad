//! `unlade check`.

mod place;

use serde_json::json;
use unlade_launcher::{
    Launcher,
    check::{Outcome, Subject},
};

use super::launch;
use crate::{
    args::{Check, CheckOutput, PullSecret, Reuse},
    connection::{self, Cluster},
    error::Error,
    output,
    screen::Screen,
    summary,
};

pub(super) fn run(args: Check, screen: &Screen) -> Result<(), Error> {
    let Check { image, olm, output, job, pod, connection, remote, registry } = args;
    if let Some(remote) = remote {
        let secrets = pod
            .pull_secret
            .iter()
            .map(|name| PullSecret { namespace: connection.namespace.clone(), name: name.clone() });
        let secrets = connection::read_pull_secrets(&connection, &secrets.collect::<Vec<_>>())?;
        return place::run(&remote, output, &registry.options(secrets), screen);
    }
    let lends_credentials = pod.pull_secret_from_login;
    let options = launch::options(&job, pod, Reuse::default())?;
    if let Some(image) = image.as_deref().filter(|_| lends_credentials) {
        // Without credentials, a launch fails before it sends a request.
        let stored = registry.options(Vec::new()).auth;
        launch::find_credentials(&stored, image, &options.tool_image)?;
    }
    connection::block_on(async {
        let Cluster { client, namespace } = connection::connect(&connection).await?;
        let subject = Subject { image: image.as_deref(), olm, lends_credentials };
        let checks = Launcher::new(client, options).check(&namespace, subject).await;
        let failed = checks.iter().filter(|check| check.outcome == Outcome::Failed).count();
        match output {
            CheckOutput::Summary => {
                output::print(summary::format_checks(&checks, screen).as_bytes())
            }
            CheckOutput::Json => {
                output::print_json(&json!({"success": failed == 0, "checks": checks}))
            }
        }
        .map_err(Error::Output)?;
        if failed > 0 {
            return Err(Error::Checks { failed, all: checks.len() });
        }
        Ok(())
    })
}
