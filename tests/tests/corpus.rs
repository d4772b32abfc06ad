//! The corpus itself is read whole.

use unlade_tests::corpus::{self, Sample};

#[test]
fn every_answer_for_a_crafted_bundle_belongs_to_one() {
    each_belongs_to_a_bundle(&corpus::crafted());
    each_belongs_to_a_bundle(&corpus::crafted_with_texts());
}

#[test]
#[ignore = "needs the published bundles"]
fn every_answer_for_a_published_bundle_belongs_to_one() {
    each_belongs_to_a_bundle(&corpus::published());
}

fn each_belongs_to_a_bundle(samples: &[Sample]) {
    for sample in samples {
        assert!(sample.path.is_dir(), "{}", sample.path.display());
    }
}
