//! Go reads the same content from an image as we do: layers are compared with `archive/tar`, and
//! documents with `encoding/json` and the types of the image spec. A generator creates the cases
//! from the grammar of the formats.
//!
//! We may refuse more than Go does. `UNLADE_DIALECT_CASES` sets the number of cases of each kind,
//! and `UNLADE_DIALECT_SEED` the first one. The inputs that fuzzing starts from and those that it
//! kept are cases, too.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

/// Documents.
mod document;
/// Inputs of fuzzing.
mod fuzzed;
/// Pseudorandom numbers, which are the same each time.
mod random;
/// Layers.
mod tape;
/// Layers that other programs write.
mod writer;
/// Layers that Go's own writer writes.
mod written;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use random::Random;
use serde::Deserialize;
use serde_json::Value;

/// The number of cases that are sent to the peer together.
const BATCH: u64 = 5_000;

/// A layer or a document of an image: its kind, as the peer names it, and its bytes.
#[derive(Clone)]
struct Case {
    kind: char,
    bytes: Vec<u8>,
}

#[derive(Deserialize)]
struct Answer {
    found: Value,
    error: String,
}

/// The number of cases with each result.
#[derive(Debug, Default)]
struct Tally {
    both_take: u64,
    both_refuse: u64,
    only_ours_refuses: u64,
}

impl Tally {
    /// Adds a case. Fails if we accept it, and Go does not or has another result.
    fn add(
        &mut self,
        case: &Case,
        ours: &Result<Value, String>,
        theirs: &Answer,
    ) -> Result<(), String> {
        match (ours, theirs.error.as_str()) {
            (Ok(ours), "") if *ours == theirs.found => self.both_take += 1,
            (Ok(ours), error) => {
                let Case { kind, .. } = case;
                let theirs = &theirs.found;
                return Err(format!(
                    "kind {kind}: ours {ours}, Go {theirs} {error}; {}",
                    kept(case)
                ));
            }
            (Err(_), "") => self.only_ours_refuses += 1,
            (Err(_), _) => self.both_refuse += 1,
        }
        Ok(())
    }
}

/// Compares both readers on the requested number of cases, which `make` creates from random
/// numbers.
fn compare(
    tests: &str,
    make: impl Fn(&mut Random) -> Case,
    ours: impl Fn(&Case) -> Result<Value, String>,
) {
    let peer = unlade_tests::peer::dialect();
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cases = number("UNLADE_DIALECT_CASES").unwrap_or(10_000);
    let first = number("UNLADE_DIALECT_SEED").unwrap_or(0);
    let mut tally = Tally::default();
    for start in (first..first + cases).step_by(BATCH.try_into().unwrap()) {
        let seeds = start..(start + BATCH).min(first + cases);
        let batch: Vec<_> = seeds.clone().map(|seed| make(&mut Random::new(seed))).collect();
        for ((seed, case), theirs) in seeds.zip(&batch).zip(ask(&peer, &batch)) {
            if let Err(difference) = tally.add(case, &ours(case), &theirs) {
                panic!("seed {seed}: {difference}");
            }
        }
    }
    println!("{tests}: {cases} cases from seed {first}: {tally:?}");
    // A generator whose cases are all refused would prove nothing.
    assert!(tally.both_take * 5 > cases, "{tally:?}");
}

fn ask(peer: &Path, batch: &[Case]) -> Vec<Answer> {
    let file = || tempfile::tempfile().unwrap();
    let (mut requests, mut answers) = (BufWriter::new(file()), file());
    for case in batch {
        requests.write_all(&[case.kind as u8]).unwrap();
        requests.write_all(&u32::try_from(case.bytes.len()).unwrap().to_be_bytes()).unwrap();
        requests.write_all(&case.bytes).unwrap();
    }
    let mut requests: File = requests.into_inner().unwrap();
    requests.seek(SeekFrom::Start(0)).unwrap();
    let output = answers.try_clone().unwrap();
    let status = Command::new(peer).stdin(requests).stdout(output).status().unwrap();
    assert!(status.success(), "{status}");
    answers.seek(SeekFrom::Start(0)).unwrap();
    let lines = BufReader::new(answers).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// Stores the bytes of a case for inspection, and returns the path.
fn kept(case: &Case) -> String {
    let (mut file, path) = tempfile::NamedTempFile::new().unwrap().keep().unwrap();
    file.write_all(&case.bytes).unwrap();
    path.display().to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
