//! `cargo xtask bench cluster`: launches compared with OLM's own Job, from the first request to the
//! loaded bundle.
//!
//! One run measures all methods alternately, with the same client, images that are already on the
//! node, new objects each time, and the same loader. OLM's method ends when its Job is complete,
//! because OLM waits for this. The Job is watched, as in our own launches. The first bundle is also
//! measured with images that are new to the node.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a measurement, which every error must end")]

mod batch;
mod nothing;
mod olm;
mod ours;
mod stage;
mod table;
mod tool;

use std::path::PathBuf;
use std::time::Duration;

use unlade_launcher::Strategy;
use unlade_tests::corpus;

use stage::Stage;
use table::Tables;
use tool::Tools;

/// The default of `--rounds`: the number of times that each method is measured.
const ROUNDS: usize = 20;
/// The number of rounds with known images for each round with new images, which takes a long time.
const NEW: usize = 4;
/// The number of rounds with one bundle for each round with many bundles, which takes minutes.
const MANY: usize = 8;
/// The number of warm-up rounds, which pull the images and open the connections, and are not
/// measured.
const WARM_UP: usize = 2;

/// A method to unpack a bundle image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// OLM's Job of three containers.
    Olm,
    /// The same Job with our image in place of both of upstream's.
    InPlace,
    /// A launch by unlade.
    Ours(Strategy),
    /// A Job that does nothing, for comparison.
    Nothing,
}

const METHODS: [Method; 5] = [
    Method::Olm,
    Method::InPlace,
    Method::Ours(Strategy::Inject),
    Method::Ours(Strategy::ImageVolume),
    Method::Nothing,
];

/// The times of one launch, measured from its beginning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// Its phases, in order.
    pub(crate) phases: Vec<(&'static str, Duration)>,
    /// The time until the bundle was loaded.
    pub(crate) total: Duration,
    /// The name of the CSV, by which both sides are compared.
    pub(crate) csv_name: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let given = arguments.iter().skip_while(|argument| *argument != "--rounds").nth(1);
    let rounds = given.map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    Stage::open(async |stage| {
        let mut tables = Tables::default();
        for (at, (label, path)) in bundles().into_iter().enumerate() {
            let image = stage.push(&format!("bundle-{at}"), &path);
            let of = format!("{at}-known");
            tables.add(
                &label,
                &measure(stage, &image, &of, rounds, |method, _| stage.tools.for_method(method))
                    .await,
            );
            if at == 0 {
                // Measures again with images that the node does not have.
                let of = format!("{at}-new");
                let renewed = |method, round: &str| stage.renew_tools(method, round);
                let runs = measure(stage, &image, &of, rounds.div_ceil(NEW), renewed).await;
                tables.add(&format!("{label}, images new to the node"), &runs);
            }
        }
        batch::measure_all(stage, rounds.div_ceil(MANY), &mut tables).await;
        Tables::print_weights(&stage.tools.weights());
        tables.print();
    });
}

/// Measures all methods alternately. `tools` returns the images for a method and the name of a
/// round.
async fn measure(
    stage: &Stage<'_>,
    image: &str,
    of: &str,
    rounds: usize,
    tools: impl Fn(Method, &str) -> Tools,
) -> [(Method, Vec<Run>); METHODS.len()] {
    let mut runs = METHODS.map(|method| (method, Vec::new()));
    for round in 0..rounds + WARM_UP {
        let mut names = Vec::new();
        // Each round starts with another method.
        for turn in 0..METHODS.len() {
            let (method, runs) = runs.get_mut((round + turn) % METHODS.len()).unwrap();
            let name = format!("round-{of}-{round}-{turn}");
            let tools = tools(*method, &name);
            let run = match method {
                Method::Olm | Method::InPlace => olm::run(stage, &tools.olm, image, &name).await,
                Method::Ours(strategy) => {
                    ours::run(stage, &tools.unpacker, image, &name, *strategy).await
                }
                Method::Nothing => nothing::run(stage, &tools.unpacker, &name).await,
            };
            stage.clear(&name).await;
            eprintln!("{name}, {method:?}: {:.3} s", run.total.as_secs_f64());
            if *method != Method::Nothing {
                names.push(run.csv_name.clone());
            }
            if round >= WARM_UP {
                runs.push(run);
            }
        }
        names.dedup();
        assert_eq!(names.len(), 1, "all methods give the same bundle");
    }
    runs
}

/// Returns the published bundle of median size, and the largest one.
fn bundles() -> Vec<(String, PathBuf)> {
    let mut all: Vec<_> = corpus::published()
        .into_iter()
        .map(|sample| (sample.files().iter().map(|file| file.bytes.len()).sum::<usize>(), sample))
        .collect();
    all.sort_by_key(|(size, _)| *size);
    let picked = [all.get(all.len() / 2), all.last()];
    let named = picked.into_iter().flatten().map(|(size, sample)| {
        (format!("{} ({} kB)", sample.name.replace('/', " "), size / 1000), sample.path.clone())
    });
    named.collect()
}
