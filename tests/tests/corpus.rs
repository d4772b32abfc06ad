//! The corpus itself is read whole.

use unlade_tests::corpus;

#[test]
fn every_answer_belongs_to_a_bundle() {
    let samples = corpus::samples();
    for sample in &samples {
        assert!(sample.path.is_dir(), "{}", sample.path.display());
    }
    if corpus::directory().is_some() {
        assert!(samples.iter().any(corpus::Sample::is_crafted));
        assert!(samples.iter().any(|sample| !sample.is_crafted()));
    }
}
