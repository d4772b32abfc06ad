//! Table tests: messages of container runtimes, registries and the API server, and objects that
//! were recorded on a cluster.

mod admission;
mod api;
mod container;
mod job;
mod page;
mod pod;
mod pull;
mod recorded;
mod worst;

use super::Failure;
use super::rule::Rule;

/// Fails if the hint names a flag: the library does not know which program shows the hint.
fn assert_names_no_flag(failure: &Failure) {
    let hint = failure.hint.as_deref().unwrap_or_default();
    assert!(!hint.contains("--"), "{failure:?}");
}

/// Fails unless each phrase of each rule alone decides one of the lowercase `samples`.
fn assert_every_phrase_decides(rules: &[Rule], samples: &[String]) {
    for (index, rule) in rules.iter().enumerate() {
        for phrase in rule.phrases {
            let decides = samples.iter().any(|sample| {
                let deciding =
                    rules.iter().position(|rule| rule.phrases.iter().any(|it| sample.contains(it)));
                let others = rule.phrases.iter().any(|it| it != phrase && sample.contains(it));
                deciding == Some(index) && sample.contains(phrase) && !others
            });
            assert!(decides, "no sample is decided by {phrase:?} of {:?} alone", rule.reason);
        }
    }
}
