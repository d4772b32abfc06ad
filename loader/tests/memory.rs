//! Measures the peak memory and the work for malicious bundles. No test here measures time.
//!
//! This is a separate binary, because its allocator counts for all threads. The tests run one after
//! another.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;
use unlade_bundle::{Content, Directory, File, Limits, Reading, annotation, finding};
use unlade_config_map::{ConfigMap, Encoding, encode, gzip, object::Bytes};
use unlade_loader::{Error, Loaded, Options, load_config_maps_within};
use unlade_yaml as yaml;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

static TURN: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;

/// Returns the peak memory of `work`, in bytes, without the memory that was allocated before.
fn peak<T>(_turn: &MutexGuard<'_, ()>, work: impl FnOnce() -> T) -> (T, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let result = work();
    (result, ALLOCATOR.peak_usage().saturating_sub(before))
}

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a compressed ConfigMap of upstream.
fn config_map(files: &[(String, String)]) -> ConfigMap {
    use base64::Engine as _;
    let mut config_map = ConfigMap::new("hostile", "");
    let annotations = &mut config_map.metadata.annotations;
    annotations.insert(annotation::CONTENT_ENCODING.to_owned(), gzip::ENCODING.to_owned());
    for (key, text) in files {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        let text = base64::engine::general_purpose::STANDARD.encode(encoder.finish().unwrap());
        config_map.binary_data.insert(key.clone(), Bytes(text.into_bytes()));
    }
    config_map
}

fn load(config_map: &ConfigMap) -> (Result<Loaded, Error>, u64) {
    let options = Options::default();
    let reader = yaml::Reader::new(&options.limits.yaml);
    let result = load_config_maps_within(std::slice::from_ref(config_map), &options, &reader);
    (result, reader.work())
}

fn file(name: &str, text: impl Into<String>) -> Vec<(String, String)> {
    vec![(name.to_owned(), text.into())]
}

/// Returns a text with `n_brackets` around `n_items`, and with differences between the dialects of
/// the parser and of Go, for each of which the text is parsed again.
fn brackets(n_brackets: usize, n_items: usize) -> String {
    let (open, close) = ("[".repeat(n_brackets), "]".repeat(n_brackets));
    format!("a: {open}{}{}{close}\n", "a,".repeat(n_items), "a:,".repeat(16))
}

/// Loads a bundle of `files`, asserts the limits of its memory and work, and returns its work.
fn load_within_limits(turn: &MutexGuard<'_, ()>, name: &str, files: Vec<(String, String)>) -> u64 {
    let config_map = config_map(&files);
    drop(files);
    let limits = Limits::default();
    let ((result, work), peak) = peak(turn, || load(&config_map));
    println!("{name}: {} MiB, {work} units, {:?}", peak / MIB, result.map(|_| ()));
    assert!(peak < 160 * MIB, "{name}: {} MiB", peak / MIB);
    // The unit that exceeds the budget is also counted.
    assert!(work <= limits.yaml.work + limits.file_size as u64, "{name}: {work} units");
    work
}

#[test]
fn files_of_brackets_spend_no_more_than_the_budget() {
    let turn = turn();
    let files = |n, n_brackets, n_items| {
        (0..n).map(|n| (format!("f{n}.yaml"), brackets(n_brackets, n_items))).collect()
    };
    let budget = Limits::default().yaml.work;
    for (n, n_items) in [(20, 100_000), (800, 1_000)] {
        let name = format!("{n} files with {n_items} items in brackets");
        let work = load_within_limits(&turn, &name, files(n, yaml::FLOW_DEPTH, n_items));
        assert!(work > budget, "{name}: {work}");
    }
    // Nothing after the bracket that exceeds the limit is parsed.
    let work = load_within_limits(&turn, "too many brackets", files(800, 9_990, 9_500));
    assert!(work < budget, "{work}");
}

#[test]
fn hostile_config_maps_stay_within_their_memory_and_work() {
    let turn = turn();
    let long = "s".repeat(28_000);
    let csv = format!("kind: ClusterServiceVersion\nmetadata: {{name: x}}\na: &a {long}\n");
    let aliases = |n| format!("{csv}b: [{}]\n", "*a,".repeat(n));
    let listed = |list: &str| {
        let items: Vec<_> = (0..9_000).map(|n| format!("- {{type: t{n}, value: *a}}")).collect();
        let items = items.join("\n");
        format!("a: &a {long}\n{list}:\n{items}\n")
    };
    let families: [(&str, Vec<(String, String)>); 12] = [
        ("aliases in the CSV", file("csv.yaml", aliases(9_400))),
        ("aliases that fit in the CSV", file("csv.yaml", aliases(500))),
        ("aliases in properties", file("properties.yaml", listed("properties"))),
        (
            "aliases everywhere",
            [
                file("csv.yaml", aliases(9_400)),
                file("properties.yaml", listed("properties")),
                file("dependencies.yaml", listed("dependencies")),
            ]
            .concat(),
        ),
        (
            "many files of small values",
            (0..10)
                .map(|n| (format!("f{n}"), format!("kind: A\na: [{}]\n", "a,".repeat(700_000))))
                .collect(),
        ),
        ("small values", file("a.yaml", format!("kind: A\na: [{}]\n", "a,".repeat(5_000_000)))),
        (
            "empty properties",
            file("properties.yaml", "properties:\n".to_owned() + &"- {}\n".repeat(1_000_000)),
        ),
        (
            "properties",
            file(
                "properties.yaml",
                "properties:\n".to_owned()
                    + &(0..300_000)
                        .map(|n| format!("- {{type: t{n}}}"))
                        .collect::<Vec<_>>()
                        .join("\n"),
            ),
        ),
        (
            "owned APIs",
            file(
                "csv.yaml",
                format!(
                    "{csv}spec: {{apiservicedefinitions: {{owned: [{}]}}}}\n",
                    "{},".repeat(700_000)
                ),
            ),
        ),
        (
            "wrong values",
            file("csv.yaml", format!("{csv}spec: {{skips: [{}]}}\n", "1,".repeat(500_000))),
        ),
        ("package manifests", package_manifests()),
        ("zeros", (0..20).map(|n| (format!("f{n}"), "\0".repeat(MIB))).collect()),
    ];
    for (name, files) in families {
        load_within_limits(&turn, name, files);
    }
}

/// Returns files whose empty channels need 24 times their size in memory.
fn package_manifests() -> Vec<(String, String)> {
    let manifest = |n_channels: usize| {
        let channels = vec!["{}"; n_channels].join(",");
        format!("{{\"kind\":\"PackageManifest\",\"packageName\":\"a\",\"channels\":[{channels}]}}")
    };
    let long = (0..10).map(|n| (format!("a{n}"), manifest(800_000)));
    // Each has as many channels as are read.
    let short = (0..200).map(|n| (format!("b{n}"), manifest(10_000)));
    long.chain(short).collect()
}

/// Writes a bundle as `unlade load` does.
fn write(loaded: &Loaded, as_yaml: bool) {
    let mut to = std::io::sink();
    if as_yaml {
        yaml::write_to(&serde_json::to_value(loaded).unwrap(), &mut to).unwrap();
    } else {
        serde_json::to_writer_pretty(&mut to, loaded).unwrap();
    }
}

/// The texts that aliases repeat are those of the JSON, of which a bundle keeps several.
#[test]
fn bundles_of_as_many_aliases_as_are_read_are_written_within_256_mib() {
    let turn = turn();
    let long = "s".repeat(28_000);
    let anchor = format!("a: &a {long}\n");
    let head = format!("kind: ClusterServiceVersion\nmetadata: {{name: x}}\n{anchor}");
    let csv = |n| file("csv.yaml", format!("{head}b: [{}]\n", "*a,".repeat(n)));
    let properties = |n| {
        let items = (0..n).map(|n| format!("- {{type: t{n}, value: *a}}\n"));
        format!("{anchor}properties:\n{}", items.collect::<Vec<_>>().concat())
    };
    // 16 MiB of JSON in each of two files are also the limit of all files.
    let most = 590;
    let all = config_map(&[csv(most), file("properties.yaml", properties(most))].concat());
    let over = load(&config_map(&csv(most + 10))).0;
    assert!(over.map_or(true, |loaded| loaded.bundle.csv_json.is_empty()));
    for as_yaml in [false, true] {
        let ((), peak) = peak(&turn, || {
            let loaded = load(&all).0.unwrap();
            let values: usize = loaded.bundle.properties.iter().map(|it| it.value.len()).sum();
            assert!(values > 15 * MIB && loaded.bundle.csv_json.len() > 15 * MIB);
            write(&loaded, as_yaml);
        });
        println!("as YAML {as_yaml}: {} MiB", peak / MIB);
        assert!(peak < 256 * MIB, "as YAML {as_yaml}: {} MiB", peak / MIB);
    }
}

/// As a value in memory, each item of a list needs several hundred bytes.
#[test]
fn bundles_of_lists_of_many_items_are_written_within_256_mib() {
    let turn = turn();
    let list = |item: fn(usize) -> String, n| (0..n).map(item).collect::<Vec<_>>().join(",");
    for (n, is_read) in [(10_000, true), (230_000, false)] {
        let kinds = list(|n| format!("{{\"kind\":\"{n}\"}}"), n);
        let types = list(|n| format!("{{\"type\":\"{n}\"}}"), n);
        let csv = format!(
            "{{\"kind\":\"ClusterServiceVersion\",\"metadata\":{{\"name\":\"x\"}},\"spec\":{{\
             \"apiservicedefinitions\":{{\"owned\":[{kinds}],\"required\":[{kinds}]}},\
             \"customresourcedefinitions\":{{\"required\":[{kinds}]}}}}}}"
        );
        let files = [
            file("csv.json", csv),
            file("dependencies.yaml", format!("{{\"dependencies\":[{types}]}}")),
            file("properties.yaml", format!("{{\"properties\":[{types}]}}")),
        ];
        let config_map = config_map(&files.concat());
        let ((), peak) = peak(&turn, || {
            let loaded = load(&config_map).0.unwrap();
            let n_read = if is_read { n } else { 0 };
            assert_eq!(loaded.bundle.dependencies.len(), n_read);
            assert_eq!(loaded.bundle.owned_api_services.len(), n_read);
            write(&loaded, true);
        });
        println!("{n} items: {} MiB", peak / MIB);
        assert!(peak < 256 * MIB, "{n} items: {} MiB", peak / MIB);
    }
}

#[test]
fn a_report_is_bounded() {
    let _turn = turn();
    let csv = format!(
        "kind: ClusterServiceVersion\nmetadata: {{name: x}}\nspec: {{skips: [{}]}}\n",
        "1,".repeat(100_000)
    );
    let report = load(&config_map(&file("csv.yaml", csv))).0.unwrap().report;
    assert!(report.len() <= finding::MAX_KEPT + 1, "{}", report.len());
    let long = format!("a: *{}\n", "x".repeat(900_000));
    let report = load(&config_map(&file("csv.yaml", long))).0.unwrap().report;
    let longest = report.iter().map(|finding| finding.to_string().len()).max();
    assert!(longest < Some(1_000), "{longest:?}");
}

/// Returns random bytes, which gzip and base64 make larger by a third.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    next.take(size).collect()
}

#[test]
fn a_bundle_that_does_not_fit_is_not_encoded_to_its_end() {
    let turn = turn();
    let files = |directory, names: [&str; 2], bytes: &[u8]| {
        names.map(|name| File { directory, name: name.to_owned(), bytes: bytes.to_vec() })
    };
    let values = format!("kind: A\na: [{}]\n", "[],".repeat(1_300_000)).into_bytes();
    let mut all = Vec::from(files(Directory::Manifests, ["a", "b"], &noise(12 * MIB)));
    all.extend(files(Directory::Metadata, ["c.yaml", "d.yaml"], &values));
    let Reading { content, .. } = Content::assemble(all, &Limits::default()).unwrap();
    for encoding in [Encoding::Plain, Encoding::Gzip, Encoding::Auto] {
        let options = encode::Options::default().with_encoding(encoding);
        let (result, peak) = peak(&turn, || encode::encode(&content, &options));
        println!("{encoding}: {} MiB", peak / MIB);
        assert!(matches!(result, Err(encode::Error::TooLarge { .. })), "{encoding}");
        assert!(peak < 48 * MIB, "{encoding}: {} MiB", peak / MIB);
    }
}
