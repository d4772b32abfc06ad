use std::fs;

use serde_json::{Value, json};
use unlade_tests::peer::Fill;

use crate::compare::Pair;
use crate::tree::Tree;
use crate::{Cross, IMAGE, LIMIT, existing};

const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";

/// Returns a bundle of two files.
fn bundle() -> Tree {
    let csv = "kind: ClusterServiceVersion\nmetadata: {name: tea.v1.0.0}\n";
    Tree::new()
        .with("manifests/csv.yaml", csv)
        .with("metadata/annotations.yaml", &annotations("com.example/colour: green"))
}

/// Returns an annotations.yaml with a package and these additional lines.
fn annotations(others: &str) -> String {
    format!("annotations:\n  {PACKAGE}: tea\n  {others}\n")
}

/// The messages about a bundle that `extract` accepts and `serve` refuses.
struct Leniency {
    bundle: Tree,
    /// Parts of the warnings of `extract`, one for each line.
    warnings: &'static [&'static str],
    /// A part of the error of `serve`.
    refusal: &'static str,
    /// Whether the API server accepts the ConfigMap that upstream writes.
    is_upstreams: bool,
}

fn leniencies() -> Vec<Leniency> {
    let many = |n: usize| {
        let line = |at| format!("example.com/a{at}: {}", "x".repeat(1_000));
        (0..n).map(line).collect::<Vec<_>>().join("\n  ")
    };
    vec![
        Leniency {
            // ' ' comes before '-' in upstream's order.
            bundle: bundle().with("manifests/a-b.yaml", "2").with("manifests/a b.yaml", "1"),
            warnings: &["manifests/a b.yaml: the file is dropped: manifests/a-b.yaml has the"],
            refusal: "have the same ConfigMap key a-b.yaml",
            is_upstreams: true,
        },
        Leniency {
            bundle: bundle()
                .with("metadata/a b.yaml", "3")
                .with("manifests/é.yaml", "1")
                .with("metadata/ü.yaml", "2")
                .with("manifests/a-b.yaml", "4"),
            warnings: &[
                "manifests/a-b.yaml: the file is dropped: metadata/a b.yaml has the",
                "manifests/é.yaml: the file is dropped: metadata/ü.yaml has the",
            ],
            refusal: "manifests/a-b.yaml and metadata/a b.yaml have the same ConfigMap key",
            is_upstreams: true,
        },
        Leniency {
            bundle: bundle()
                .with("manifests/..data.yaml", "1")
                .with(&format!("manifests/{}", "n".repeat(254)), "2")
                .with("manifests/kept.yaml", "3"),
            warnings: &["manifests/..data.yaml: the file is dropped", "254 characters"],
            refusal: "manifests/..data.yaml: a ConfigMap key must not",
            is_upstreams: false,
        },
        Leniency {
            bundle: bundle()
                .with("metadata/annotations.yaml", &annotations("a b: c\n  d: [e]\n  f: {g: h}")),
            warnings: &[
                "a b: the annotation is dropped: its name must",
                "d: the annotation is dropped: the value is a list",
                "f: the annotation is dropped: the value is a mapping",
            ],
            refusal: "\"a b\": its name must",
            is_upstreams: true,
        },
        Leniency {
            bundle: bundle().with("metadata/annotations.yaml", &annotations(&many(300))),
            warnings: &[
                "the annotations are larger than Kubernetes allows: 300 annotations of annotations.yaml",
            ],
            refusal: "the annotations are",
            is_upstreams: true,
        },
        Leniency {
            // They fit, but not with our marks.
            bundle: bundle().with("metadata/annotations.yaml", &annotations(&many(256))),
            warnings: &[
                "the annotations are larger than Kubernetes allows: 256 annotations of annotations.yaml",
            ],
            refusal: "the annotations are",
            is_upstreams: true,
        },
        Leniency {
            // Our marks contain the original names, so they alone exceed the limit.
            bundle: (0..1_200)
                .fold(bundle(), |bundle, at| {
                    bundle.with(&format!("manifests/{at:04}{}.yaml", " b".repeat(77)), "1")
                })
                .with("metadata/annotations.yaml", &annotations("")),
            warnings: &["Kubernetes allows: the marks of unlade and the existing annotations of"],
            refusal: "the annotations are",
            is_upstreams: true,
        },
    ]
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs"]
fn invalid_bundles_are_accepted_with_a_warning_as_upstream_and_refused_by_serve() {
    let mut cross = Cross::open();
    for leniency in leniencies() {
        let directory = leniency.bundle.path();
        let refusal = cross.ours.serve(directory).unwrap_err();
        assert!(refusal.contains(leniency.refusal), "{refusal}");
        for is_compressed in [false, true] {
            let existing = existing();
            let ours = cross.ours.extract(directory, is_compressed, &existing).unwrap();
            let warnings: Vec<_> =
                ours.log.lines().filter(|line| line.starts_with("warning: ")).collect();
            assert_eq!(warnings.len(), leniency.warnings.len(), "{}", ours.log);
            for expected in leniency.warnings {
                assert!(warnings.iter().any(|line| line.contains(expected)), "{}", ours.log);
            }
            cross.peer.check(&ours.config_map).unwrap();
            let theirs = cross.peer.fill(&Fill {
                directory,
                is_compressed,
                limit: LIMIT,
                image: IMAGE,
                existing: &existing,
            });
            assert_eq!(theirs.is_ok(), leniency.is_upstreams, "{theirs:?}");
            if let Ok(theirs) = theirs {
                let pair = Pair { theirs: &theirs, ours: &ours.config_map, directory };
                let mut found = pair.differences(&mut cross.peer);
                found.retain(|difference| !difference.ends_with("is left out"));
                assert!(found.is_empty(), "{found:?}\n{}", ours.log);
            }
        }
    }
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs"]
fn bundles_that_upstream_refuses_are_refused_by_both() {
    let mut cross = Cross::open();
    for bundle in [
        bundle().with("manifests/nested/a.yaml", ""),
        bundle().with("metadata/nested/a.yaml", ""),
        bundle().with_link("manifests/link.yaml", "missing"),
        bundle().with("metadata/annotations.yaml", "annotations: []"),
        bundle().with("metadata/annotations.yaml", &format!("annotations: {{{PACKAGE}: []}}")),
        bundle().with("manifests/annotations.yaml", "\t"),
        bundle().with("manifests/large.yaml", &"é".repeat(1 << 20)),
    ] {
        // The last one is small when it is compressed.
        assert!(cross.ours.extract(bundle.path(), false, &existing()).is_err());
        assert_eq!(cross.differences(bundle.path(), false), [].into());
        assert_eq!(cross.differences(bundle.path(), true), [].into());
    }
}

/// A file of metadata/ is an object for upstream's loader if it decodes as one.
#[test]
#[ignore = "needs the static unpacker, upstream's programs"]
fn files_of_metadata_lie_where_upstream_writes_them() {
    let mut cross = Cross::open();
    let bundle = bundle()
        .with("metadata/dependencies.yaml", "dependencies: []")
        .with("metadata/object.yaml", "kind: ConfigMap\nmetadata: {name: a}\n");
    for is_compressed in [false, true] {
        let found = cross.differences(bundle.path(), is_compressed);
        assert!(found.is_empty(), "{found:?}");
    }
    // Otherwise, it is in the field that upstream does not read.
    let served = cross.ours.serve(bundle.path()).unwrap();
    assert!(served.contains("binaryData:\n  object.yaml:"), "{served}");
}

/// Annotations of others are kept, while upstream replaces them. If they do not fit together with
/// those of the bundle, only upstream's six and our marks are written.
#[test]
#[ignore = "needs the static unpacker, upstream's programs"]
fn annotations_of_others_stay_while_they_fit() {
    let cross = Cross::open();
    let bundle = bundle();
    for (size, stays) in [(10, true), (262_000, false)] {
        let mut existing = existing();
        existing["metadata"]["annotations"] = json!({"example.com/theirs": "x".repeat(size)});
        let ours = cross.ours.extract(bundle.path(), true, &existing).unwrap();
        let annotations = &ours.config_map["metadata"]["annotations"];
        assert_eq!(annotations["example.com/theirs"].is_string(), stays, "{}", ours.log);
        assert_eq!(annotations["com.example/colour"].is_string(), stays, "{}", ours.log);
        assert_eq!(annotations[PACKAGE], "tea");
        let warning = "and the existing annotations of the ConfigMap are dropped";
        assert_eq!(ours.log.contains(warning), !stays, "{}", ours.log);
    }
}

/// Without the file, upstream keeps the existing annotations, even an obsolete encoding.
#[test]
#[ignore = "needs the static unpacker, upstream's programs"]
fn a_bundle_without_annotations_leaves_none_of_an_earlier_one() {
    let mut cross = Cross::open();
    let bundle = bundle();
    fs::rename(
        bundle.path().join("metadata/annotations.yaml"),
        bundle.path().join("metadata/annotations.yml"),
    )
    .unwrap();
    let mut existing = existing();
    existing["metadata"]["annotations"] = json!({
        PACKAGE: "old",
        "olm.contentEncoding": "gzip+base64",
    });
    let ours = cross.ours.extract(bundle.path(), false, &existing).unwrap().config_map;
    let annotations = &ours["metadata"]["annotations"];
    assert_eq!(
        (&annotations[PACKAGE], &annotations["olm.contentEncoding"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(cross.peer.load(&ours).unwrap().csv_name, "tea.v1.0.0");
    let fill = Fill {
        directory: bundle.path(),
        is_compressed: false,
        limit: LIMIT,
        image: IMAGE,
        existing: &existing,
    };
    let theirs = cross.peer.fill(&fill).unwrap();
    assert_eq!(cross.peer.load(&theirs).unwrap().csv_name, "", "upstream reads nothing of it");
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs"]
fn all_that_stays_counts_for_the_limit() {
    let mut cross = Cross::open();
    let half = "x".repeat(600_000);
    let bundle = bundle().with("manifests/a b.yaml", &half).with("manifests/a-b.yaml", &half);
    assert_eq!(cross.differences(bundle.path(), false), ["taken".to_owned()].into());
    assert_eq!(cross.differences(bundle.path(), true), [].into());
}
