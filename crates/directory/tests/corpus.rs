//! The crafted bundles of the corpus whose point is the directory: links, nested directories.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use unlade_bundle::source::{Error, LinkFault};
use unlade_bundle::{Finding, Limits, Reason};
use unlade_tests::corpus::{self, Sample};

#[test]
fn directories_of_the_crafted_bundles_are_read_as_documented() {
    let samples = corpus::crafted();
    let read = |name: &str| {
        let is_wanted = |sample: &&Sample| sample.name.strip_prefix("crafted/") == Some(name);
        let sample = samples.iter().find(is_wanted).unwrap();
        unlade_directory::read(&sample.path, &Limits::default())
    };
    // As upstream.
    let inside = read("symlink-inside").unwrap().content;
    let file = |name: &str| inside.files().iter().find(|file| file.name == name).unwrap();
    assert_eq!(file("again.yaml").bytes, file("crd.yaml").bytes);
    assert_eq!(read("symlink-manifests").unwrap().content.files().len(), 2);
    assert_eq!(read("dir-empty-manifests").unwrap().content.files().len(), 1);
    for (name, path) in [("dir-no-manifests", "manifests"), ("dir-no-metadata", "metadata")] {
        let error = read(name).unwrap_err();
        assert!(matches!(&error, Error::Missing { path: p } if p == path), "{name}: {error:?}");
    }
    for (name, path) in [("nested-dir", "manifests/sub"), ("nested-dir-metadata", "metadata/sub")] {
        let error = read(name).unwrap_err();
        let is_expected = matches!(&error, Error::NestedDirectory { path: p } if p == path);
        assert!(is_expected, "{name}: {error:?}");
    }
    // Errors as upstream's, but for the last one, which upstream follows out of the bundle.
    for (name, path, expected) in [
        ("symlink-dangling", "manifests/link.yaml", LinkFault::Outside),
        ("symlink-directory", "manifests/meta", LinkFault::Outside),
        ("symlink-outside", "manifests/link.yaml", LinkFault::Outside),
    ] {
        let Err(Error::Link { path: found, fault, .. }) = read(name) else { panic!("{name}") };
        assert_eq!((found.as_str(), fault), (path, expected), "{name}");
    }
}

/// With the files that `std::fs` finds, the reader of directories finds the same in every bundle.
#[test]
fn every_crafted_bundle_is_read_as_its_files_are() {
    let mut samples = corpus::crafted();
    // `std::fs` follows links that the reader refuses.
    samples.retain(|sample| !sample.name.starts_with("crafted/symlink-"));
    assert_read_as_files(&samples, 32);
}

#[test]
#[ignore = "needs the published bundles"]
fn every_published_bundle_is_read_as_its_files_are() {
    assert_read_as_files(&corpus::published(), 181);
}

/// Asserts that `wanted` of the samples can be read, and that their files are the same.
fn assert_read_as_files(samples: &[Sample], wanted: usize) {
    let mut n = 0;
    for sample in samples {
        let limits = unlade_bundle::Limits::default();
        let expected = unlade_bundle::Content::assemble(sample.files(), &limits);
        match (unlade_directory::read(&sample.path, &Limits::default()), expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.content, expected.content, "{}", sample.name);
                let is_ours = |finding: &Finding| finding.reason == Reason::PathIgnored;
                let (ours, others): (Vec<_>, Vec<_>) =
                    found.findings.into_iter().partition(is_ours);
                assert_eq!(others, expected.findings, "{}", sample.name);
                assert!(ours.is_empty() || sample.is_crafted(), "{}: {ours:?}", sample.name);
                n += 1;
            }
            // Directories are missing or nested, which the files alone do not show.
            (Err(_), _) => assert!(sample.is_crafted(), "{}", sample.name),
            (Ok(_), Err(error)) => panic!("{}: {error}", sample.name),
        }
    }
    assert_eq!(n, wanted, "bundles that can be read");
}
