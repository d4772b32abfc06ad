//! Ours beside upstream's own code, both ways: what our `opm alpha bundle extract` writes and
//! upstream's loads, what upstream's writes and our loader loads, and what `cpb` copies.
//!
//! Upstream's writer and loader are asked directly (`tests/peers`), ours is the static program as
//! it is shipped, against an API server of one ConfigMap.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

/// As much of an API server as the program asks for.
mod api_server;
/// What differs between two ConfigMaps, and between what is loaded out of them.
mod compare;
/// `cpb` beside upstream's, in images.
mod copier;
/// Differences that are meant.
mod deliberate;
/// OLM's own Job with either images.
mod job;
/// Every bundle of the corpus.
mod matrix;
/// Bundles that nobody has published.
mod mutation;
/// Our program, run.
mod ours;
/// What `extract` takes with a warning, and `serve` refuses.
mod strict;
/// Files that a test makes.
mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use compare::Pair;
use ours::Ours;
use serde_json::{Value, json};
use unlade_tests::peer::{Fill, Peer};

/// The image that the bundles are said to be out of.
const IMAGE: &str = "registry.example/bundles/one@sha256:0";
/// What `extract` takes by default, and a ConfigMap.
const LIMIT: u64 = 1 << 20;

/// Both sides.
struct Cross {
    peer: Peer,
    ours: Ours,
}

impl Cross {
    fn open() -> Self {
        Self { ours: Ours::open(), peer: Peer::open() }
    }

    /// What differs for the bundle in a directory.
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

/// The ConfigMap as OLM makes it.
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
