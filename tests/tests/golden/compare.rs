//! Compares a loaded bundle with upstream's answers.

use std::fmt::Debug;

use base64::{Engine, engine::general_purpose::STANDARD};
use unlade_bundle::Api;
use unlade_loader::Loaded;
use unlade_tests::corpus::{Sample, golden, sha256};

/// Bundles with several CSVs. Upstream's ConfigMap loader uses the last one, and its directory
/// reader the first one, so fields that depend on the CSV are not compared.
const OTHER_CSV: [&str; 5] = [
    "crafted/csv-escapes",
    "crafted/csv-other-group",
    "crafted/csv-several",
    "crafted/duplicates-merges",
    "crafted/long-line",
];

/// A file with 9,990 nested flow collections, which upstream's loader treats as an object: a
/// deliberate difference (docs/compatibility.md).
const TOO_DEEP: (&str, &str) = ("crafted/deep-nesting", "flow9990.yaml");

/// Returns all differences from upstream.
pub(crate) fn compare(sample: &Sample, loaded: &Loaded) -> Vec<String> {
    let mut differences = Differences { name: &sample.name, found: Vec::new() };
    match &sample.golden.load {
        Some(golden) => compare_loaded(golden, loaded, &mut differences),
        None => differences.found.push(format!("{}: loaded", sample.name)),
    }
    if let Some(golden) = &sample.golden.registry {
        compare_registry(golden, loaded, &mut differences);
    }
    differences.found
}

struct Differences<'a> {
    name: &'a str,
    found: Vec<String>,
}

impl Differences<'_> {
    fn check<T: PartialEq + Debug + ?Sized>(&mut self, what: &str, ours: &T, upstream: &T) {
        if ours != upstream {
            let name = self.name;
            self.found.push(format!("{name}: {what}: {ours:?}, upstream has {upstream:?}"));
        }
    }
}

/// Compares with the result of upstream's `BundleLoader.Load`.
fn compare_loaded(golden: &golden::Loaded, loaded: &Loaded, differences: &mut Differences<'_>) {
    let bundle = &loaded.bundle;
    differences.check("csvName", &bundle.csv_name, &golden.csv_name);
    differences.check("size of csvJson", &bundle.csv_json.len(), &golden.csv_json_size);
    let digest = sha256(bundle.csv_json.as_bytes());
    differences.check("digest of csvJson", &digest, &golden.csv_json_sha256);
    if let Some(text) = &golden.csv_json {
        differences.check("csvJson", &bundle.csv_json, text);
    }
    let name = differences.name;
    let objects = golden.objects.iter().filter(|object| (name, object.key.as_str()) != TOO_DEEP);
    differences.check("number of objects", &bundle.objects.len(), &objects.clone().count());
    for (object, golden) in bundle.objects.iter().zip(objects) {
        let what = |field| format!("{field} of {}", golden.key);
        differences.check("key", &object.key, &golden.key);
        differences.check(&what("kind"), &object.kind, &golden.kind);
        differences.check(&what("apiVersion"), &object.api_version, &golden.api_version);
        differences.check(&what("name"), &object.name, &golden.name);
        differences.check(&what("size"), &object.size(), &golden.size);
        differences.check(&what("digest"), &sha256(&object.bytes), &golden.sha256);
        if let Some(text) = &golden.object {
            differences.check(&what("text"), &*object.text(), text);
        }
        if let Some(base64) = &golden.object_base64 {
            differences.check(&what("bytes"), &STANDARD.encode(&object.bytes), base64);
        }
    }
}

/// Compares with the result of upstream's directory reader.
fn compare_registry(golden: &golden::Registry, loaded: &Loaded, differences: &mut Differences<'_>) {
    // If upstream's directory reader refuses a bundle that its loader accepts, we accept it too,
    // and report the reason.
    if golden.error.is_some() {
        differences.check("whether nothing is reported", &loaded.report.is_empty(), &false);
        return;
    }
    let bundle = &loaded.bundle;
    differences.check("package", &bundle.package_name, &golden.package);
    differences.check("channels", &bundle.channels, &golden.channels);
    differences.check("defaultChannel", &bundle.default_channel, &golden.default_channel);
    let own = golden.channels.iter().find(|&channel| *channel == golden.default_channel);
    let channel = own.or(golden.channels.first()).cloned().unwrap_or_default();
    differences.check("channelName", &bundle.channel_name, &channel);
    let dependencies = typed(&bundle.dependencies, |d| (&d.kind, &d.value));
    differences.check("dependencies", &dependencies, &golden.dependencies);
    if OTHER_CSV.contains(&differences.name) {
        return;
    }
    differences.check("name", &bundle.csv_name, &golden.name);
    differences.check("version", &bundle.version, &golden.version);
    differences.check("release", &bundle.release, &golden.release);
    differences.check("skipRange", &bundle.skip_range, &golden.skip_range);
    differences.check("replaces", &bundle.replaces, &golden.replaces);
    differences.check("skips", &bundle.skips, &golden.skips);
    differences.check("substitutesFor", &bundle.substitutes_for, &golden.substitutes_for);
    differences.check("providedApis", &apis(&bundle.provided_apis), &golden.provided_apis);
    differences.check("requiredApis", &apis(&bundle.required_apis), &golden.required_apis);
    let properties = typed(&bundle.properties, |p| (&p.kind, &p.value));
    differences.check("properties", &properties, &golden.properties);
    let catalog = typed(&bundle.catalog_properties, |p| (&p.kind, &p.value));
    differences.check("catalogProperties", &catalog, &golden.catalog_properties);
}

fn apis(apis: &[Api]) -> Vec<golden::Api> {
    let api =
        |Api { group, version, kind, plural }: Api| golden::Api { group, version, kind, plural };
    apis.iter().cloned().map(api).collect()
}

fn typed<T>(items: &[T], parts: impl Fn(&T) -> (&String, &String)) -> Vec<golden::Typed> {
    let typed = |item| {
        let (kind, value) = parts(item);
        golden::Typed { kind: kind.clone(), value: serde_json::from_str(value).unwrap_or_default() }
    };
    items.iter().map(typed).collect()
}
