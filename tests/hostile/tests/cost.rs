//! Checks the cost of each family: it grows no faster than the input.
//!
//! The cost is the number of instructions, which cachegrind counts. It is nearly the same on every
//! run, however busy the machine is, so the exponent of the growth is known to a few hundredths. A
//! clock could distinguish a slope of 1.1 from 1.2 only on an idle machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use unlade_hostile::{Cost, Entry, Family, cost};

/// The maximum slope of cost over size, on logarithmic scales. Sorting, and keeping keys in a tree,
/// have a slope of 1.08 at these sizes, and a list or hash table that has just grown adds to it.
const SLOPE: f64 = 1.15;
/// The number of sizes that are compared, each twice the previous one.
const SIZES: u32 = 3;
/// The minimum difference between two sizes that counts as growth, in instructions.
const LEAST: f64 = 5e5;
/// The maximum processor time of one run, in seconds.
const SECONDS: &str = "120";

/// One test for each entry, because the harness runs several tests at the same time.
macro_rules! entries {
    ($($(#[$attribute:meta])* fn $test:ident() { $entry:ident })*) => {
        $($(#[$attribute])* fn $test() {
            assert_linear(Entry::$entry);
        })*

        #[test]
        fn every_entry_is_measured() {
            assert_eq!([$(Entry::$entry),*], Entry::ALL);
        }
    };
}

entries! {
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_annotations_grows_with_their_size_only() { Annotations }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_api_responses_grows_with_their_size_only() { ApiResponse }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_bundles_grows_with_their_size_only() { Bundle }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_calls_grows_with_their_size_only() { Call }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_catalogs_grows_with_their_size_only() { Catalog }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_certificates_grows_with_their_size_only() { Certificates }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_config_maps_grows_with_their_size_only() { ConfigMap }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_credentials_grows_with_their_size_only() { Credentials }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_comparing_catalogs_grows_with_their_size_only() { Diff }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_docker_archives_grows_with_their_size_only() { DockerArchive }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_extracting_grows_with_the_size_only() { Extract }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_filtering_grows_with_the_size_only() { Filter }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_graphs_grows_with_the_size_only() { Graph }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_gzip_values_grows_with_their_size_only() { Gzip }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_image_layouts_grows_with_their_size_only() { ImageLayout }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_patterns_grows_with_their_size_only() { IndexIgnore }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_json_grows_with_its_size_only() { Json }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_kubeconfigs_grows_with_their_size_only() { Kubeconfig }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_loading_grows_with_the_size_only() { Load }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_rendering_manifests_grows_with_their_size_only() { Manifest }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_oci_archives_grows_with_their_size_only() { OciArchive }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_pods_grows_with_their_size_only() { Pod }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_pull_secrets_grows_with_their_size_only() { PullSecret }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_ranges_grows_with_their_size_only() { Range }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_references_grows_with_their_size_only() { Reference }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_rules_for_registries_grows_with_their_size_only() { RegistriesConf }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_registry_responses_grows_with_their_size_only() { RegistryResponse }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_rendering_catalogs_grows_with_their_size_only() { Render }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_served_catalogs_grows_with_their_size_only() { Served }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_layers_grows_with_their_size_only() { Tar }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_templates_grows_with_their_size_only() { Template }
    #[test]
    #[ignore = "needs valgrind"]
    fn cost_of_yaml_grows_with_its_size_only() { Yaml }
}

/// Runs in this process, because the allocated memory is the same on every machine and in every
/// build. The other tests of this process allocate little. The harness starts the tests in the
/// order of their names. This one takes minutes in one thread, so its name comes first, and the
/// others run beside it.
#[test]
fn a_family_never_holds_more_memory_than_the_limit() {
    for family in Family::all() {
        let input = family.input(1 << 20);
        let Cost { memory, .. } = Cost::measure(family.entry, &input);
        let bytes = input.len();
        assert!(memory <= cost::MEMORY, "{}: {bytes} bytes hold {memory}", family.id());
    }
}

fn assert_linear(entry: Entry) {
    let directory = tempfile::tempdir().unwrap();
    let families: Vec<_> =
        Family::all().filter(|it| it.entry == entry && !it.is_bounded()).collect();
    let inputs: Vec<_> = families
        .iter()
        .flat_map(|family| (0..SIZES).map(|step| family.input(family.from << step)))
        .collect();
    let counts = instructions(entry, &inputs, directory.path());
    let points: Vec<_> = inputs.iter().map(Vec::len).zip(counts).collect();
    let mut steep = Vec::new();
    for (family, points) in families.iter().zip(points.chunks(SIZES as usize)) {
        if let Some((size, _)) = points.iter().find(|(_, count)| count.is_none()) {
            steep.push(format!(
                "{}: a limit of time or memory ended the reader of {size} bytes",
                family.id()
            ));
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "both are below 2^52")]
        let points: Vec<_> =
            points.iter().map(|(size, count)| (*size as f64, count.unwrap() as f64)).collect();
        let slope = slope(&points);
        // `--nocapture` shows the points of the plot.
        println!("{:>6.2} {} {points:.0?}", slope, family.id());
        if slope > SLOPE {
            steep.push(format!("{}: {slope:.2} {points:.0?}", family.id()));
        }
    }
    assert!(steep.is_empty(), "steeper than {SLOPE}:\n{}", steep.join("\n"));
}

/// Returns the number of instructions of the process that reads each of `inputs`. The number is
/// `None` if a limit ended the process.
///
/// Forks of one program read them, because valgrind needs more time to start than to read most of
/// the inputs. Each number includes that of the program before the fork.
fn instructions(entry: Entry, inputs: &[Vec<u8>], directory: &Path) -> Vec<Option<u64>> {
    let files: Vec<_> = (0..inputs.len()).map(|n| directory.join(n.to_string())).collect();
    for (file, input) in files.iter().zip(inputs) {
        fs::write(file, input).unwrap();
    }
    // Unlimited memory would be as bad as unlimited time.
    let limits = format!("ulimit -t {SECONDS} && ulimit -v 8000000 && exec \"$@\"");
    let mut valgrind = Command::new("sh");
    valgrind.args(["-c", &limits, "sh", "valgrind", "--tool=cachegrind", "--cache-sim=no"]);
    valgrind.arg("--cachegrind-out-file=/dev/null").arg(program()).arg("each").arg(entry.name());
    let output = valgrind.args(files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    // A limit of time or memory ends a process without a message.
    assert!(output.status.success() && !text.contains("panicked"), "{entry}: {text}");
    let counts: HashMap<_, u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("==")?.split_once("== I   refs:"))
        .map(|(id, count)| (id, count.trim().replace(',', "").parse().unwrap()))
        .collect();
    let processes = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<_> = processes
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(id, status)| (status == "0").then(|| *counts.get(id).unwrap()))
        .collect();
    assert_eq!(counts.len(), inputs.len(), "{entry}: {text}");
    counts
}

/// Returns a copy of the program without symbols, which valgrind would read at its start.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
        let mut strip = Command::new("strip");
        strip.arg(env!("CARGO_BIN_EXE_hostile")).arg("-o").arg(&path);
        assert!(strip.status().unwrap().success(), "failed to strip the program");
        path
    })
}

/// Computes the exponent of the growth, by least squares. It is 0 for inputs that do not grow.
///
/// It compares the differences between consecutive sizes, because costs that are the same for every
/// size would make the growth look smaller.
fn slope(points: &[(f64, f64)]) -> f64 {
    let steps = points.array_windows().map(|[one, next]| (next.0 - one.0, next.1 - one.1));
    let logarithms: Vec<_> =
        steps.map(|(size, cost)| (size.max(1.0).ln(), cost.max(LEAST).ln())).collect();
    let n = f64::from(SIZES - 1);
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = logarithms.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = logarithms.iter().map(|point| (point.0 - x).powi(2)).sum();
    if variance < 0.01 { 0.0 } else { covariance / variance }
}

#[test]
fn slope_is_the_exponent() {
    let of = |exponent: i32| {
        [1.0, 2.0, 4.0].map(|x: f64| (x * 100.0 + 70.0, 3e9 * x.powi(exponent) + 5e9))
    };
    assert!((slope(&of(1)) - 1.0).abs() < 1e-9);
    assert!((slope(&of(2)) - 2.0).abs() < 1e-9);
    assert!(slope(&[(7.0, 1e9), (7.0, 1e9), (7.0, 2e9)]).abs() < 1e-9);
}
