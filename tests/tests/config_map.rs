//! Every bundle of the corpus becomes the ConfigMap that upstream's writer creates for it, except
//! for the differences that are named here and in docs/compatibility.md.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which clippy does not count as such")]

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::{
    Content, Directory, Limits, Reading, Reason,
    annotation::{UPSTREAM, is_reserved},
};
use unlade_config_map::{
    ConfigMap, Decoded, Encoding, decode, encode,
    encode::{Error, Options},
    mark,
    object::VALUES_SIZE,
};
use unlade_tests::corpus::{self, Sample, golden::Populated, sha256};
use unlade_yaml as yaml;

/// Bundles that no reader of directories accepts. The tests of the unpacker cover them.
const UNREADABLE: [&str; 6] = [
    "crafted/dir-no-manifests",
    "crafted/dir-no-metadata",
    "crafted/nested-dir",
    "crafted/nested-dir-metadata",
    "crafted/symlink-dangling",
    "crafted/symlink-directory",
];

/// Bundles that upstream writes although it drops a file, or although the API server rejects a key.
/// (`names-odd` has `é.yaml` and `😀.yaml`.)
const LOST_OR_REFUSED: [&str; 5] = [
    "crafted/name-dotdot",
    "crafted/name-long",
    "crafted/names-collide",
    "crafted/names-collide-plain",
    "crafted/names-odd",
];

/// Bundles whose unquoted annotations keep their text.
const AS_WRITTEN: [&str; 2] = ["crafted/annotations-typed", "crafted/annotations-typed2"];

/// Bundles with manifests that are not UTF-8, which are in `binaryData` of a plain ConfigMap.
const NOT_UTF8: [&str; 2] = ["crafted/bom", "crafted/not-utf8"];

fn readable(samples: Vec<Sample>) -> impl Iterator<Item = Sample> {
    samples.into_iter().filter(|sample| !UNREADABLE.contains(&sample.name.as_str()))
}

/// Returns the content of the bundles that both upstream and we accept.
fn readings(samples: Vec<Sample>) -> impl Iterator<Item = (Sample, Reading)> {
    readable(samples).filter_map(|sample| {
        let reading = Content::assemble(sample.files(), &Limits::default()).ok()?;
        Some((sample, reading))
    })
}

fn encoded(content: &Content, encoding: Encoding) -> Result<ConfigMap, Error> {
    let options = Options::default().with_encoding(encoding);
    encode(content, &options).map(|mut config_maps| config_maps.remove(0))
}

fn decoded(config_map: ConfigMap) -> Decoded {
    decode(&[config_map], &Limits::default()).unwrap()
}

fn answers(sample: &Sample) -> [(Encoding, &Populated); 2] {
    [
        (Encoding::Plain, sample.golden.plain.as_ref().unwrap()),
        (Encoding::Gzip, sample.golden.gzip.as_ref().unwrap()),
    ]
}

#[test]
fn crafted_bundles_that_upstream_accepts_are_accepted() {
    assert_taken_as_by_upstream(corpus::crafted());
}

#[test]
#[ignore = "needs the published bundles"]
fn published_bundles_that_upstream_accepts_are_accepted() {
    assert_taken_as_by_upstream(corpus::published());
}

#[test]
fn keys_fields_and_bytes_of_crafted_bundles_are_upstreams() {
    assert_keys_fields_and_bytes(corpus::crafted(), &NOT_UTF8);
}

#[test]
#[ignore = "needs the published bundles"]
fn keys_fields_and_bytes_of_published_bundles_are_upstreams() {
    assert_keys_fields_and_bytes(corpus::published(), &[]);
}

#[test]
fn without_marks_the_same_files_of_crafted_bundles_are_read() {
    assert_read_without_marks(corpus::crafted());
}

#[test]
#[ignore = "needs the published bundles"]
fn without_marks_the_same_files_of_published_bundles_are_read() {
    assert_read_without_marks(corpus::published());
}

#[test]
fn upstreams_six_annotations_of_crafted_bundles_are_equal_and_all_others_are_there() {
    assert_annotations(corpus::crafted());
}

#[test]
#[ignore = "needs the published bundles"]
fn upstreams_six_annotations_of_published_bundles_are_equal_and_all_others_are_there() {
    assert_annotations(corpus::published());
}

#[test]
fn every_encoding_of_a_crafted_bundle_has_the_same_digest() {
    assert_one_digest(corpus::crafted());
}

#[test]
#[ignore = "needs the published bundles"]
fn every_encoding_of_a_published_bundle_has_the_same_digest() {
    assert_one_digest(corpus::published());
}

#[test]
fn no_crafted_bundle_is_larger_than_upstreams() {
    assert_no_larger(corpus::crafted());
}

#[test]
#[ignore = "needs the published bundles"]
fn no_published_bundle_is_larger_than_upstreams() {
    assert_no_larger(corpus::published());
}

fn assert_taken_as_by_upstream(samples: Vec<Sample>) {
    for sample in readable(samples) {
        let reading = Content::assemble(sample.files(), &Limits::default());
        let refused = LOST_OR_REFUSED.contains(&sample.name.as_str());
        for (encoding, answer) in answers(&sample) {
            let ours = reading.as_ref().ok().map(|reading| encoded(&reading.content, encoding));
            let taken = ours.is_some_and(|result| result.is_ok());
            let wanted = answer.error.is_none() && !refused;
            assert_eq!(taken, wanted, "{} {encoding}: {:?}", sample.name, answer.error);
        }
    }
}

fn assert_keys_fields_and_bytes(samples: Vec<Sample>, wanted_not_utf8: &[&str]) {
    let mut aside = BTreeSet::new();
    let mut not_utf8 = BTreeSet::new();
    for (sample, reading) in readings(samples) {
        for (encoding, answer) in answers(&sample).into_iter().filter(|(_, a)| a.error.is_none()) {
            let config_map = encoded(&reading.content, encoding).unwrap();
            let decoded = decoded(config_map.clone());
            assert_eq!(decoded.content, reading.content, "{}", sample.name);
            let keys: Vec<_> = decoded.content.entries().map(|(key, _)| key.as_str()).collect();
            let theirs: Vec<_> = answer.keys.iter().map(|key| key.key.as_str()).collect();
            assert_eq!(keys, theirs, "{} {encoding}", sample.name);

            for ((key, file), theirs) in decoded.content.entries().zip(&answer.keys) {
                let name = format!("{} {encoding} {key}", sample.name);
                let hash = sha256(&file.bytes);
                assert_eq!(
                    (file.bytes.len() as u64, &hash),
                    (theirs.size, &theirs.sha256),
                    "{name}"
                );
                let in_data = config_map.data.contains_key(key.as_str());
                if in_data == (theirs.field == "data") {
                    continue;
                }
                if file.directory == Directory::Metadata {
                    aside.insert(format!("{} {key}", sample.name));
                } else {
                    assert!(encoding == Encoding::Plain, "{name}");
                    assert!(std::str::from_utf8(&file.bytes).is_err(), "{name}");
                    not_utf8.insert(sample.name.clone());
                }
            }
        }
    }
    assert!(not_utf8.iter().eq(wanted_not_utf8), "{not_utf8:?}");
    assert_eq!(aside, BTreeSet::new());
}

/// Asserts that a ConfigMap without our marks is read by upstream's rules.
fn assert_read_without_marks(samples: Vec<Sample>) {
    for (sample, reading) in readings(samples) {
        for encoding in [Encoding::Plain, Encoding::Gzip] {
            let Ok(mut config_map) = encoded(&reading.content, encoding) else { continue };
            config_map.metadata.annotations.retain(|key, _| !mark::ALL.contains(&key.as_str()));
            let decoded = decoded(config_map);
            let unread: BTreeSet<_> = decoded
                .findings
                .iter()
                .inspect(|finding| assert_eq!(finding.reason, Reason::UnreadKey))
                .map(|finding| finding.subject.as_str())
                .collect();
            let expected: Vec<_> = reading
                .content
                .entries()
                .filter(|(key, _)| !unread.contains(key.as_str()))
                .map(|(key, file)| (key, &file.bytes))
                .collect();
            let found: Vec<_> =
                decoded.content.entries().map(|(key, file)| (key, &file.bytes)).collect();
            assert_eq!(found, expected, "{} {encoding}", sample.name);
            let expected: BTreeMap<_, _> = reading
                .content
                .annotations()
                .iter()
                .filter(|(key, _)| UPSTREAM.contains(&key.as_str()))
                .collect();
            assert!(decoded.content.annotations().iter().eq(expected), "{}", sample.name);
        }
    }
}

fn assert_annotations(samples: Vec<Sample>) {
    for (sample, reading) in readings(samples) {
        let Ok(config_map) = encoded(&reading.content, Encoding::Gzip) else { continue };
        let ours = &config_map.metadata.annotations;
        if !AS_WRITTEN.contains(&sample.name.as_str()) {
            let [_, (_, answer)] = answers(&sample);
            for key in UPSTREAM {
                assert_eq!(ours.get(key), answer.annotations.get(key), "{} {key}", sample.name);
            }
        }
        let files = sample.files();
        let file = files.iter().find(|file| file.path() == "metadata/annotations.yaml");
        let Some(file) = file else { continue };
        let json = yaml::to_json(&file.bytes, &yaml::Limits::default()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let written = json.get("annotations").and_then(|it| it.as_object()).cloned();
        let written = written.unwrap_or_default();
        for (key, value) in written.iter().filter(|(key, _)| !UPSTREAM.contains(&key.as_str())) {
            assert_eq!(ours.contains_key(key), !is_reserved(key), "{} {key}", sample.name);
            if let (Some(value), false) = (value.as_str(), is_reserved(key)) {
                assert_eq!(ours[key], value, "{} {key}", sample.name);
            }
        }
    }
}

fn assert_one_digest(samples: Vec<Sample>) {
    for (sample, reading) in readings(samples) {
        for encoding in [Encoding::Auto, Encoding::Plain, Encoding::Gzip] {
            if let Ok(config_map) = encoded(&reading.content, encoding) {
                let digest = decoded(config_map).digest;
                assert_eq!(digest, Some(reading.content.digest()), "{} {encoding}", sample.name);
            }
        }
    }
}

/// Asserts that our compressed values are not larger. Go's compressor and ours differ slightly;
/// near the limit, ours uses its best level.
fn assert_no_larger(samples: Vec<Sample>) {
    let (mut ours, mut theirs) = (0, 0);
    for (sample, reading) in readings(samples) {
        let [_, (_, answer)] = answers(&sample);
        let Ok(config_map) = encoded(&reading.content, Encoding::Gzip) else { continue };
        let size = config_map.values_size();
        assert!(size <= VALUES_SIZE);
        let bound = answer.total_size + answer.total_size / 200;
        assert!(size as u64 <= bound, "{}: {size} > {}", sample.name, answer.total_size);
        ours += size as u64;
        theirs += answer.total_size;
    }
    assert!(ours <= theirs, "{ours} > {theirs} bytes for the whole sample");
}
