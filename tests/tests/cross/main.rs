//! Compares our programs with upstream's code, in both directions: upstream's loader reads what our
//! `opm alpha bundle extract` writes, our loader reads what upstream's writer writes, and both
//! `cpb` copy the same files.
//!
//! Upstream's writer and loader run in a program of `tests/peers`. Ours is the released static
//! program, with an API server that has one ConfigMap.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

/// The part of an API server that the program uses.
mod api_server;
/// The differences between two ConfigMaps, and between the bundles that are loaded from them.
mod compare;
/// Our `cpb` and upstream's, in images.
mod copier;
/// Deliberate differences.
mod deliberate;
/// ConfigMaps of fuzzing.
mod fuzzed;
/// OLM's own Job with our images and with upstream's.
mod job;
/// Every bundle of the corpus.
mod matrix;
/// Bundles that are derived from the corpus.
mod mutation;
/// Runs our program.
mod ours;
/// Bundles that `extract` accepts with a warning, and `serve` refuses.
mod strict;
/// Files that a test creates.
mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use compare::Pair;
use ours::Ours;
use serde_json::{Value, json};
use unlade_tests::peer::{Fill, Peer};

/// The image that is recorded as the source of the bundles.
const IMAGE: &str = "registry.example/bundles/one@sha256:0";
/// The default limit of `extract`, which is also that of a ConfigMap.
const LIMIT: u64 = 1 << 20;

/// Our program and upstream's.
struct Cross {
    peer: Peer,
    ours: Ours,
}

impl Cross {
    fn open() -> Self {
        Self { ours: Ours::open(), peer: Peer::open() }
    }

    /// Returns the differences for the bundle in a directory.
    fn differences(&mut self, directory: &Path, is_compressed: bool) -> BTreeSet<String> {
        let existing = existing();
        let theirs = self.peer.fill(&Fill {
            directory,
            is_compressed,
            limit: LIMIT,
            image: IMAGE,
            existing: &existing,
        });
        let ours = self.ours.extract(directory, is_compressed, &existing);
        if let Ok(ours) = &ours {
            // If our program reports success, the ConfigMap must be valid.
            self.peer.check(&ours.config_map).unwrap();
        }
        match (theirs, ours) {
            (Err(_), Err(_)) => BTreeSet::new(),
            (Ok(_), Err(error)) => {
                println!("{}: ours refuses: {error}", directory.display());
                ["refused".to_owned()].into()
            }
            (Err(error), Ok(_)) => {
                println!("{}: upstream refuses: {error}", directory.display());
                ["taken".to_owned()].into()
            }
            (Ok(theirs), Ok(ours)) => {
                let pair = Pair { theirs: &theirs, ours: &ours.config_map, directory };
                pair.differences(&mut self.peer)
            }
        }
    }
}

/// Returns an empty ConfigMap as OLM creates it.
fn existing() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "bundle",
            "namespace": "olm",
            "uid": "1",
            "resourceVersion": "1",
            "labels": {"olm.managed": "true"},
            "ownerReferences": [{
                "apiVersion": "operators.coreos.com/v1alpha1",
                "kind": "CatalogSource",
                "name": "catalog",
                "uid": "2",
                "controller": false,
                "blockOwnerDeletion": false,
            }],
        },
    })
}
