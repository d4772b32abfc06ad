use unlade_tests::corpus;

use crate::{Cross, deliberate};

#[test]
#[ignore = "needs the static unpacker, upstream's programs, the published bundles"]
fn every_bundle_is_written_and_loaded_as_upstream_does_it_plain() {
    every_bundle("plain", false);
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, the published bundles"]
fn every_bundle_is_written_and_loaded_as_upstream_does_it_compressed() {
    every_bundle("gzip", true);
}

fn every_bundle(encoding: &str, is_compressed: bool) {
    let samples = corpus::all();
    let mut cross = Cross::open();
    let (mut unexplained, mut gone) = (Vec::new(), Vec::new());
    let mut n_meant = 0;
    for sample in &samples {
        let found = cross.differences(&sample.path, is_compressed);
        let meant = deliberate::differences(&sample.name, encoding);
        let name = &sample.name;
        unexplained.extend(found.difference(&meant).map(|what| format!("{name}: {what}")));
        gone.extend(meant.difference(&found).map(|what| format!("{name}: {what}")));
        n_meant += found.intersection(&meant).count();
    }
    let n = samples.len();
    println!("{n} bundles, {encoding}: {n_meant} differences that are meant");
    assert!(unexplained.is_empty(), "differences that nobody meant: {unexplained:#?}");
    assert!(gone.is_empty(), "they differ no more: {gone:#?}");
}
