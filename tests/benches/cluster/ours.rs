//! A launch by unlade.

use std::time::Instant;

use futures::StreamExt;
use unlade_launcher::{LaunchUpdate, Launcher, Name, Options, Request, Step, Strategy};

use crate::{Run, stage::Stage};

/// Launches a bundle with our image `unpacker`, and loads it.
pub(crate) async fn run(
    stage: &Stage<'_>,
    unpacker: &str,
    image: &str,
    name: &str,
    strategy: Strategy,
) -> Run {
    let start = Instant::now();
    let options = Options::new(unpacker).with_strategy(strategy);
    let request = Request::new(image, stage.namespace()).with_name(Name::Given(name.to_owned()));
    // A new launcher each time, which remembers nothing about the cluster.
    let launcher = Launcher::new(stage.client.clone(), options);
    let mut updates = std::pin::pin!(launcher.launch_with_updates(request));
    let mut phases = Vec::new();
    loop {
        match updates.next().await.unwrap() {
            LaunchUpdate::Event(event) => {
                phases.extend(phase(&event.step).map(|phase| (phase, event.at)));
            }
            LaunchUpdate::Ended(result) => {
                let loaded = result.unwrap().load(&unlade_loader::Options::default()).unwrap();
                return Run { phases, total: start.elapsed(), csv_name: loaded.bundle.csv_name };
            }
        }
    }
}

/// Returns the name of a phase for the table.
fn phase(step: &Step) -> Option<&'static str> {
    Some(match step {
        Step::Prepared { .. } => "ConfigMap there",
        Step::Created { .. } => "Job created",
        Step::Scheduled { .. } => "pod has a node",
        Step::Running => "unpacker seen running",
        Step::Written => "written",
        _ => return None,
    })
}
