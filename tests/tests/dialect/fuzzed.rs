//! The inputs that fuzzing starts from, and those in `fuzz/corpus` that it kept, are read as Go
//! reads them.

use std::panic;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};
use unlade_bundle::version;
use unlade_diagnose::PullSecretEntries;
use unlade_hostile::image::{self, SEPARATOR, parts};
use unlade_hostile::{Entry, inputs, tape::mend};
use unlade_name::ImageReference;
use unlade_yaml::{Limits, is_panic_caught, to_json};

use crate::{BATCH, Case, Tally, ask, document, tape};

/// The byte order mark.
const MARK: char = '\u{feff}';

#[test]
#[ignore = "needs Go"]
fn fuzzed_layers_are_read_as_go_reads_them() {
    let case = |input: Vec<u8>| vec![layer(input)];
    replay(&[Entry::Tar, Entry::Extract], case, tape::ours);
}

#[test]
#[ignore = "needs Go"]
fn fuzzed_images_are_read_as_go_reads_them() {
    let cases = |input: Vec<u8>| {
        if !input.windows(SEPARATOR.len()).any(|window| window == SEPARATOR) {
            return vec![layer(input)];
        }
        // The kinds of documents are different types of Go, so each document is read as each.
        let documents = image::layout(&input).into_values().filter(|file| file.len() < 16 << 10);
        let kinds = documents.flat_map(|bytes| {
            ['c', 'd', 'i', 'l', 'm'].map(|kind| Case { kind, bytes: bytes.clone() })
        });
        let layers = image::docker(&input).into_iter();
        let layers = layers.filter(|(name, _)| name.starts_with("layer"));
        kinds.chain(layers.map(|(_, bytes)| layer(bytes))).collect()
    };
    let entries = [Entry::DockerArchive, Entry::ImageLayout, Entry::OciArchive];
    replay(&entries, cases, |case| match case.kind {
        't' => tape::ours(case),
        _ => document::ours(case),
    });
}

#[test]
#[ignore = "needs Go"]
fn fuzzed_yaml_is_read_as_go_reads_it() {
    let entries = [
        Entry::Annotations,
        Entry::Catalog,
        Entry::Json,
        Entry::Kubeconfig,
        Entry::Manifest,
        Entry::Template,
        Entry::Yaml,
    ];
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !is_panic_caught() {
            print(info);
        }
    }));
    let case = |bytes| vec![Case { kind: 'y', bytes }];
    replay(&entries, case, |case| {
        // While a mark is at the start of Go's buffer, Go skips the first character of each line.
        let text = String::from_utf8_lossy(&case.bytes);
        if text.trim_start_matches(MARK).contains(MARK) {
            return Err("a byte order mark is within the text".to_owned());
        }
        to_json(&case.bytes, &Limits::default()).map(Value::from).map_err(|error| error.to_string())
    });
}

#[test]
#[ignore = "needs Go"]
fn fuzzed_ranges_are_read_as_go_reads_them() {
    let case = |bytes| vec![Case { kind: 'r', bytes }];
    replay(&[Entry::Range], case, |case| {
        let text = String::from_utf8_lossy(&case.bytes);
        let (range, version) = text.split_once('\n').unwrap_or((&text, ""));
        let range: version::Range = range.parse().map_err(|error| format!("{error}"))?;
        Ok(match version::parse(version) {
            Ok(version) => range.matches(&version).into(),
            Err(_) => "not a version".into(),
        })
    });
}

#[test]
#[ignore = "needs Go"]
fn fuzzed_names_of_images_are_read_as_go_reads_them() {
    let cases = |input: Vec<u8>| {
        let lines = input.split(|byte| *byte == b'\n');
        lines.map(|line| Case { kind: 'n', bytes: line.to_vec() }).collect()
    };
    replay(&[Entry::Reference, Entry::Credentials, Entry::PullSecret], cases, |case| {
        let text = str::from_utf8(&case.bytes).map_err(|error| error.to_string())?;
        let image = ImageReference::parse(text).map_err(|error| error.to_string())?;
        Ok(json!([image.registry(), image.repository(), image.normalized()]))
    });
}

#[test]
#[ignore = "needs Go"]
fn fuzzed_pull_secrets_are_valid_for_go_if_they_are_for_us() {
    let case = |input: Vec<u8>| {
        let secret = parts(&input).get(1).map(|secret| secret.to_vec());
        secret.map(|bytes| Case { kind: 'p', bytes }).into_iter().collect()
    };
    replay(&[Entry::PullSecret], case, |case| {
        let value = (".dockerconfigjson".to_owned(), ByteString(case.bytes.clone()));
        let secret = Secret {
            type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
            data: Some([value].into()),
            ..Secret::default()
        };
        PullSecretEntries::read("x", Some(&secret))
            .map(|_| "valid".into())
            .map_err(|failure| failure.message)
    });
}

/// Returns a layer as the entries for layers read it.
fn layer(mut bytes: Vec<u8>) -> Case {
    mend(&mut bytes);
    Case { kind: 't', bytes }
}

/// Compares both readers on the cases in the inputs of `entries`.
fn replay(
    entries: &[Entry],
    cases: impl Fn(Vec<u8>) -> Vec<Case>,
    ours: impl Fn(&Case) -> Result<Value, String>,
) {
    let peer = unlade_tests::peer::dialect();
    for &entry in entries {
        let inputs = inputs(entry).unwrap();
        let n_inputs = inputs.len();
        let cases: Vec<_> = inputs.into_iter().flat_map(&cases).collect();
        let (mut tally, mut differences) = (Tally::default(), Vec::new());
        for batch in cases.chunks(BATCH.try_into().unwrap()) {
            for (case, theirs) in batch.iter().zip(ask(&peer, batch)) {
                let ours = ours(case);
                let Err(difference) = tally.add(case, &ours, &theirs) else { continue };
                // Of several keys of YAML that are equal as text, Go uses a random one.
                let n = if case.kind == 'y' { 64 } else { 0 };
                let again = ask(&peer, &vec![case.clone(); n]);
                if !again.iter().any(|theirs| tally.add(case, &ours, theirs).is_ok()) {
                    differences.push(difference);
                }
            }
        }
        println!("{entry}: {n_inputs} inputs: {tally:?}");
        assert!(differences.is_empty(), "{entry}: {differences:#?}");
        assert!(tally.both_take > 0, "{entry}: {tally:?}");
    }
}
