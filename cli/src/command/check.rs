//! `unlade check`.

use serde_json::json;
use unlade_launcher::{
    Launcher,
    check::{Outcome, Subject},
};

use super::launch;
use crate::{
    args::{Check, CheckOutput, Reuse},
    connection::{self, Cluster},
    error::Error,
    output::{self, Documents, Form},
    screen::Screen,
    summary,
};

pub(super) fn run(args: Check, screen: &Screen) -> Result<(), Error> {
    let Check { image, olm, output, job, pod, connection } = args;
    let options = launch::options(&job, pod, Reuse::default())?;
    connection::block_on(async {
        let Cluster { client, namespace } = connection::connect(&connection).await?;
        let subject = Subject { image: image.as_deref(), olm };
        let checks = Launcher::new(client, options).check(&namespace, subject).await;
        let failed = checks.iter().filter(|check| check.outcome == Outcome::Failed).count();
        match output {
            CheckOutput::Summary => {
                output::print(summary::format_checks(&checks, screen).as_bytes())
            }
            CheckOutput::Json => {
                let document = json!({"success": failed == 0, "checks": checks});
                let mut documents = Documents::new(Form::Json, output::stdout());
                documents.write(&document).and_then(|()| documents.finish())
            }
        }
        .map_err(Error::Output)?;
        if failed > 0 {
            return Err(Error::Checks { failed, all: checks.len() });
        }
        Ok(())
    })
}
