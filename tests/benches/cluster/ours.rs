//! Our own launch.

use std::time::Instant;

use futures::StreamExt;
use futures::channel::mpsc::unbounded;
use unlade_launcher::{Launcher, Name, Options, Request, Step, Strategy};

use crate::{Run, stage::Stage};

/// Launches a bundle with our image `unpacker` and loads it.
pub(crate) async fn run(
    stage: &Stage<'_>,
    unpacker: &str,
    image: &str,
    name: &str,
    strategy: Strategy,
) -> Run {
    let start = Instant::now();
    let mut options = Options::new(unpacker);
    options.strategy = strategy;
    let mut request = Request::new(image, stage.namespace());
    request.name = Name::Given(name.to_owned());
    // A new one each time: nothing is remembered of the cluster.
    let launcher = Launcher::new(stage.client.clone(), options);
    let (sender, events) = unbounded();
    let done = launcher.launch_watched(&request, sender).await.unwrap();
    let loaded = done.load(&unlade_loader::Options::default()).unwrap();
    let total = start.elapsed();
    let events: Vec<_> = events.collect().await;
    let phases = events.iter().filter_map(|event| Some((phase(&event.step)?, event.at))).collect();
    Run { phases, total, csv_name: loaded.bundle.csv_name }
}

/// What people call it.
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
