use std::fs;

use super::*;

fn bundle(config_map: &str) -> (tempfile::TempDir, Bundle) {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("manifests")).unwrap();
    fs::create_dir(root.path().join("metadata")).unwrap();
    fs::write(root.path().join("metadata/annotations.yaml"), "annotations: {}\n").unwrap();
    let config_map = config_map.to_owned();
    let bundle = Bundle { root: root.path().to_owned(), config_map, source_image: None };
    (root, bundle)
}

fn outcomes_of(options: &Options, stdout: &mut dyn Write) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    serve(options, |_| None, stdout, |index, outcome| outcomes.insert(index, outcome));
    outcomes
}

/// Panics once, then fails with `kind`.
struct Fragile {
    panics: bool,
    kind: io::ErrorKind,
}

impl Write for Fragile {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        assert!(!std::mem::take(&mut self.panics), "a bug");
        Err(self.kind.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_affects_only_one_bundle() {
    let ((_a, first), (_b, second), (_c, third)) = (bundle("a"), bundle("b"), bundle("c"));
    let options = Options { bundles: vec![first, second], dry_run: true, ..Options::default() };
    let mut stdout = Fragile { panics: true, kind: io::ErrorKind::StorageFull };
    let outcomes = outcomes_of(&options, &mut stdout);
    let verdicts: Vec<_> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    assert_eq!(verdicts, [Verdict::Internal, Verdict::System]);

    let options = Options { bundles: vec![third], dry_run: true, ..Options::default() };
    let mut stdout = Fragile { panics: false, kind: io::ErrorKind::BrokenPipe };
    let outcomes = outcomes_of(&options, &mut stdout);
    assert!(matches!(outcomes[..], [Outcome { verdict: Verdict::Printed, .. }]), "{outcomes:?}");
}

#[test]
fn exceeded_limits_have_the_verdict_for_large_bundles() {
    let (root, bundle) = bundle("a");
    fs::write(root.path().join("manifests/a.yaml"), "12345").unwrap();
    let mut options = Options { bundles: vec![bundle], dry_run: true, ..Options::default() };
    options.limits.file_size = 4;
    let outcomes = outcomes_of(&options, &mut io::sink());
    assert!(matches!(outcomes[..], [Outcome { verdict: Verdict::TooLarge, .. }]), "{outcomes:?}");
}

#[test]
fn only_a_conflict_is_reported_as_one() {
    let is_conflict = |error| {
        let outcome = Failure::from(error).outcome("a");
        assert_eq!(outcome.verdict, Verdict::Temporary);
        outcome.is_conflict
    };
    assert!(is_conflict(api::Error::Conflict { name: "a".into() }));
    let message = "etcdserver: request timed out".to_owned();
    assert!(!is_conflict(api::Error::Unavailable { status: 500, message, retry_after: None }));
}
