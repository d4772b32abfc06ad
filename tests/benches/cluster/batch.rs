//! Many bundles in one call, beside the same number of OLM's Jobs.

use std::fs;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt;
use unlade_launcher::batch::{AUTO_PACK, MAX_PACK};
use unlade_launcher::{Batch, BatchUpdate, LaunchOutcome, Launcher, Options, Request, Strategy};
use unlade_tests::corpus;

use crate::{olm, stage::Stage, table::Tables};

/// The number of bundles whose launches are compared with OLM's Jobs.
const BUNDLES: usize = 200;
/// The number of bundles that one call launches to measure its memory.
const MANY: usize = 1_000;

/// A method to unpack many bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// OLM's Jobs, all at once.
    Olm,
    /// Ours, with image volumes.
    Ours {
        /// The number of Jobs at the same time.
        concurrency: usize,
        /// The number of bundles in each pod.
        pack: usize,
    },
}

/// The number of Jobs at the same time that suits a node with two cores.
const CONCURRENCY: usize = 20;

const METHODS: [Method; 4] = [
    Method::Olm,
    Method::Ours { concurrency: CONCURRENCY, pack: 1 },
    Method::Ours { concurrency: 5, pack: AUTO_PACK.get() },
    PACKED,
];

/// The method with the fewest Jobs.
pub(crate) const PACKED: Method = Method::Ours { concurrency: 5, pack: MAX_PACK.get() };

/// What a call took.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// From its beginning until the last bundle was loaded.
    pub(crate) total: Duration,
    /// The peak memory of this process during the call, in MiB.
    pub(crate) peak: f64,
    /// The names of the CSVs, by which the methods are compared.
    pub(crate) csv_names: Vec<String>,
}

/// Measures all methods with images that the node has, and with images that are new to it, and then
/// one call with [`MANY`] bundles.
pub(crate) async fn measure_all(stage: &Stage<'_>, n_rounds: usize, tables: &mut Tables) {
    let samples: Vec<_> = corpus::published().into_iter().map(|sample| sample.path).collect();
    let push = |name: &str, n| stage.push_many(&samples, name, n);
    let label = format!("{BUNDLES} bundles");
    let known = push("known", BUNDLES);
    // The node pulls the images.
    run(stage, PACKED, &known).await;
    let runs = measure(stage, n_rounds, |_| known.clone()).await;
    tables.add_batches(&label, &runs);
    // One round is enough: the limit of pulls per second decides.
    let runs = measure(stage, 1, |method| push(&format!("new-{method}"), BUNDLES)).await;
    tables.add_batches(&format!("{label}, images new to the node"), &runs);
    let many = run(stage, PACKED, &push("many", MANY)).await;
    tables.add_batches(&format!("{MANY} bundles, images new to the node"), &[(PACKED, vec![many])]);
}

/// Measures all methods alternately. `images` returns the images for the index of a method.
async fn measure(
    stage: &Stage<'_>,
    n_rounds: usize,
    images: impl Fn(usize) -> Vec<String>,
) -> [(Method, Vec<Run>); METHODS.len()] {
    let mut runs = METHODS.map(|method| (method, Vec::new()));
    for round in 0..n_rounds {
        for turn in 0..METHODS.len() {
            // Each round starts with another method.
            let at = (round + turn) % METHODS.len();
            let (method, runs) = runs.get_mut(at).unwrap();
            runs.push(run(stage, *method, &images(at)).await);
        }
    }
    runs
}

/// Unpacks and loads the bundles in these images, and deletes everything again.
async fn run(stage: &Stage<'_>, method: Method, images: &[String]) -> Run {
    // Resets the peak, so that it is that of this run only.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let start = Instant::now();
    let csv_names = match method {
        Method::Olm => olm::run_all(stage, &stage.tools.olm, images).await,
        Method::Ours { concurrency, pack } => {
            let options = Options::new(&stage.tools.unpacker).with_strategy(Strategy::ImageVolume);
            let size = |number| NonZeroUsize::new(number).unwrap();
            let batch = Batch::default()
                .with_concurrency(size(concurrency))
                .with_keep_going(false)
                .with_pack(size(pack));
            launch(stage, options, batch, images).await
        }
    };
    let run = Run { total: start.elapsed(), peak: peak_memory(), csv_names };
    eprintln!("{} bundles, {method:?}: {:.1} s", images.len(), run.total.as_secs_f64());
    stage.clear_all().await;
    run
}

async fn launch(
    stage: &Stage<'_>,
    options: Options,
    batch: Batch,
    images: &[String],
) -> Vec<String> {
    let request = |image: &String| Request::new(image, stage.namespace());
    let launcher = Launcher::new(stage.client.clone(), options);
    let updates = launcher.launch_each(images.iter().map(request).collect(), batch);
    let mut updates = pin!(updates);
    let mut csv_names = vec![String::new(); images.len()];
    while let Some(update) = updates.next().await {
        let BatchUpdate::Ended { index, outcome, .. } = update else { continue };
        let LaunchOutcome::Launched(filled) = outcome else { panic!("{outcome:?}") };
        let loaded = filled.load(&unlade_loader::Options::default()).unwrap();
        *csv_names.get_mut(index).unwrap() = loaded.bundle.csv_name;
    }
    csv_names
}

/// Returns the peak memory of this process, in MiB.
fn peak_memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}
