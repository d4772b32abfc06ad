use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use unlade_tests::corpus::golden::Loaded;
use unlade_tests::corpus::{self, Sample};

use crate::run::{piped, unlade};

/// Each encoding and each format at least once; what they have to do with one another is tested
/// with one bundle.
const FORMS: [(&str, &str); 3] = [("auto", "yaml"), ("plain", "json"), ("gzip", "json")];

#[test]
#[ignore = "needs the published bundles"]
fn every_real_bundle_survives_the_pipe_in_every_encoding() {
    let samples = corpus::published();
    let next = AtomicUsize::new(0);
    let n_threads = thread::available_parallelism().map_or(1, usize::from);
    let differences: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut differences = Vec::new();
                    while let Some(sample) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
                        differences.extend(differences_of(sample));
                    }
                    differences
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn differences_of(sample: &Sample) -> Vec<String> {
    let path = sample.path.to_str().unwrap();
    let mut differences = Vec::new();
    for (encoding, format) in FORMS {
        let mut differ = |what: &str| {
            differences.push(format!("{} as {encoding} in {format}: {what}", sample.name));
        };
        let unpacked = unlade(["unpack", path, "--encoding", encoding, "-o", format]);
        let is_refused = sample.golden.plain.as_ref().is_some_and(|it| it.error.is_some());
        if encoding == "plain" && is_refused {
            if unpacked.code != Some(4) {
                differ(&format!("not refused: {:?}", unpacked.code));
            }
            continue;
        }
        let loaded = piped(["load", "-o", "json"], unpacked.stdout);
        let expected = sample.golden.load.as_ref().unwrap();
        match serde_json::from_str(&loaded.stdout) {
            Ok(manifest) => compare(&manifest, expected).into_iter().for_each(&mut differ),
            Err(_) => differ(&format!("{} {}", unpacked.stderr, loaded.stderr)),
        }
    }
    differences
}

fn compare(manifest: &Value, expected: &Loaded) -> Vec<&'static str> {
    let bundle = &manifest["bundle"];
    let mut differences = Vec::new();
    if bundle["csvName"] != *expected.csv_name {
        differences.push("csvName");
    }
    if digest(&bundle["csvJson"]) != expected.csv_json_sha256 {
        differences.push("csvJson");
    }
    let objects = bundle["object"].as_array().unwrap();
    let digests = expected.objects.iter().map(|object| object.sha256.as_str());
    if !objects.iter().map(digest).eq(digests) {
        differences.push("object");
    }
    differences
}

fn digest(text: &Value) -> String {
    sha256(text.as_str().unwrap().as_bytes())
}

/// Returns the SHA-256 of `bytes` in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    unlade_text::hex(&Sha256::digest(bytes))
}
