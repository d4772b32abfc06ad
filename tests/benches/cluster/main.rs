//! `cargo xtask bench cluster`: launches compared with OLM's own Job, from the first request to the
//! loaded bundle.
//!
//! One run measures all ways in turns, with the same client, images that are already on the node,
//! new objects each time, and the same loader. OLM's way ends when its Job is complete, because OLM
//! waits for this. The Job is watched, as in our own launches. The first bundle is also measured
//! with images that are new to the node.

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

/// The default of `--rounds`: the number of times that each way is measured.
const ROUNDS: usize = 20;
/// The number of rounds with known images for each round with new images, which takes long.
const NEW: usize = 4;
/// The number of rounds with one bundle for each round with many bundles, which takes minutes.
const MANY: usize = 8;
/// The number of earlier rounds that do not count, in which images are pulled and connections opened.
const WARM_UP: usize = 2;

/// A way to unpack a bundle image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// OLM's Job of three containers.
    Olm,
    /// The same Job with our image in place of both of upstream's.
    InPlace,
    /// A launch by unlade.
    Ours(Strategy),
    /// A Job that does nothing, for comparison.
    Nothing,
}

const WAYS: [Way; 5] = [
    Way::Olm,
    Way::InPlace,
    Way::Ours(Strategy::Inject),
    Way::Ours(Strategy::ImageVolume),
    Way::Nothing,
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
                &measure(stage, &image, &of, rounds, |way, _| stage.tools.for_way(way)).await,
            );
            if at == 0 {
                // Measures again with images that the node does not have.
                let of = format!("{at}-new");
                let renewed = |way, round: &str| stage.renew_tools(way, round);
                let runs = measure(stage, &image, &of, rounds.div_ceil(NEW), renewed).await;
                tables.add(&format!("{label}, images new to the node"), &runs);
            }
        }
        batch::measure_all(stage, rounds.div_ceil(MANY), &mut tables).await;
        Tables::print_weights(&stage.tools.weights());
        tables.print();
    });
}

/// Measures all ways in turns. `tools` returns the images for a way and the name of a round.
async fn measure(
    stage: &Stage<'_>,
    image: &str,
    of: &str,
    rounds: usize,
    tools: impl Fn(Way, &str) -> Tools,
) -> [(Way, Vec<Run>); WAYS.len()] {
    let mut runs = WAYS.map(|way| (way, Vec::new()));
    for round in 0..rounds + WARM_UP {
        let mut names = Vec::new();
        // Each round starts with another way.
        for turn in 0..WAYS.len() {
            let (way, runs) = runs.get_mut((round + turn) % WAYS.len()).unwrap();
            let name = format!("round-{of}-{round}-{turn}");
            let tools = tools(*way, &name);
            let run = match way {
                Way::Olm | Way::InPlace => olm::run(stage, &tools.olm, image, &name).await,
                Way::Ours(strategy) => {
                    ours::run(stage, &tools.unpacker, image, &name, *strategy).await
                }
                Way::Nothing => nothing::run(stage, &tools.unpacker, &name).await,
            };
            stage.clear(&name).await;
            eprintln!("{name}, {way:?}: {:.3} s", run.total.as_secs_f64());
            if *way != Way::Nothing {
                names.push(run.csv_name.clone());
            }
            if round >= WARM_UP {
                runs.push(run);
            }
        }
        names.dedup();
        assert_eq!(names.len(), 1, "all ways give the same bundle");
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
