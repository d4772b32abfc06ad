use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::object::pod::BUNDLE;

const ONE: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const TWO: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

fn reference(text: &str) -> String {
    text.replace("ONE", ONE).replace("TWO", TWO)
}

/// A version of a pod that was created with a strategy.
#[derive(Clone, Copy)]
struct Shown {
    strategy: Strategy,
    bundle: &'static str,
    tool: &'static str,
    /// The node's reports of the bundle image and of the tool image. `None` before the node reports
    /// them.
    reports: Option<(&'static str, &'static str)>,
    generation: i64,
}

const INJECTED: Shown = Shown {
    strategy: Strategy::Inject,
    bundle: "registry.example/one@ONE",
    tool: "registry.example/tool:1",
    reports: None,
    generation: 1,
};
const MOUNTED: Shown = Shown { strategy: Strategy::ImageVolume, ..INJECTED };

fn pod(shown: Shown) -> Pod {
    let status = |name: &str, report: &str, mounts: Value| {
        json!({
            "name": name, "image": "", "imageID": reference(report), "ready": true,
            "restartCount": 0, "state": {"running": {}}, "volumeMounts": mounts,
        })
    };
    let none = || json!([]);
    let (bundle, tool) = (reference(shown.bundle), reference(shown.tool));
    let (spec, status) = if shown.strategy == Strategy::Inject {
        let spec = json!({
            "initContainers": [{"name": "install", "image": tool}],
            "containers": [{"name": "unpack", "image": bundle}],
        });
        let status = shown.reports.map(|(bundle, tool)| {
            json!({
                "initContainerStatuses": [status("install", tool, none())],
                "containerStatuses": [status("unpack", bundle, none())],
            })
        });
        (spec, status)
    } else {
        let volume = match shown.bundle {
            "" => json!({"name": "bundle", "emptyDir": {}}),
            _ => json!({"name": "bundle", "image": {"reference": bundle}}),
        };
        let mount = json!({"name": "bundle", "mountPath": "/bundle"});
        let spec = json!({
            "containers": [{"name": "unpack", "image": tool, "volumeMounts": [mount]}],
            "volumes": [volume],
        });
        let status = shown.reports.map(|(bundle, tool)| {
            let mut mount = mount;
            if !bundle.is_empty() {
                mount["volumeStatus"] = json!({"image": {"imageRef": reference(bundle)}});
            }
            json!({"containerStatuses": [status("unpack", tool, json!([mount]))]})
        });
        (spec, status)
    };
    let metadata = json!({"name": "etcd-1-x7k2p", "generation": shown.generation});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
}

fn seen(versions: &[Shown]) -> Sighting {
    let mut seen = Sighting::default();
    for &shown in versions {
        seen.note(&pod(shown));
    }
    seen
}

/// Formats a comparison briefly: `same DIGEST SOURCE`, `open`, `open unverified` or `replaced`.
fn short(comparison: &Comparison) -> String {
    match comparison {
        Comparison::Same(Observed { bundle, .. }) => {
            let digest = match bundle.digest.as_deref() {
                Some(ONE) => "ONE",
                Some(TWO) => "TWO",
                _ => "unknown",
            };
            let source = bundle.digest_source.map(|source| format!(" {source:?}"));
            format!("same {digest}{}", source.unwrap_or_default())
        }
        Comparison::Open(_, None) => "open".to_owned(),
        Comparison::Open(_, Some(failure)) => {
            assert_eq!(failure.reason, Reason::ImageUnverified);
            let lasting = if failure.is_transient { "" } else { " for good" };
            format!("open unverified{lasting}")
        }
        Comparison::Replaced(failure) => {
            assert_eq!(failure.reason, Reason::ImageReplaced);
            "replaced".to_owned()
        }
    }
}

fn compared(image: &str, tool: &str, resolves: bool, versions: &[Shown]) -> Comparison {
    let strategy = versions.first().map_or(Strategy::Inject, |shown| shown.strategy);
    let parse = |text: &str| ImageReference::parse(&reference(text)).unwrap();
    let wanted = Wanted {
        bundle: parse(image),
        tool: Some(parse(tool)),
        strategy,
        volume: BUNDLE.into(),
        resolves,
    };
    compare(&wanted, None, &[&seen(versions)])
}

const BY_DIGEST: &str = "registry.example/one@ONE";
const BY_TAG: &str = "registry.example/one:1";
const OF_ONE: &str = "registry.example/one@ONE";
const OF_TWO: &str = "registry.example/two@TWO";

/// The name, the requested image, the versions of the pod, and the expected comparison.
type Case = (&'static str, &'static str, Vec<Shown>, &'static str);

fn check(cases: Vec<Case>) {
    for (name, image, versions, expected) in cases {
        let found = compared(image, "registry.example/tool:1", true, &versions);
        assert_eq!(short(&found), expected, "{image} by {:?}: {name}", versions[0].strategy);
    }
}

fn bundle(shown: Shown, bundle: &'static str) -> Shown {
    Shown { bundle, ..shown }
}

fn report(shown: Shown, report: &'static str) -> Shown {
    Shown { reports: Some((report, "registry.example/tool@TWO")), ..shown }
}

#[test]
fn an_image_is_compared_with_the_requested_one() {
    check(vec![
        // By digest, injected: the node must report the image.
        ("admitted", BY_DIGEST, vec![INJECTED], "open unverified"),
        ("reported", BY_DIGEST, vec![report(INJECTED, OF_ONE)], "same ONE ContainerStatus"),
        ("another at once", BY_DIGEST, vec![bundle(INJECTED, OF_TWO)], "replaced"),
        (
            "a mirror",
            BY_DIGEST,
            vec![report(bundle(INJECTED, "mirror.example/a@ONE"), "mirror.example/a@ONE")],
            "same ONE ContainerStatus",
        ),
        (
            "another digest of it",
            BY_DIGEST,
            vec![report(INJECTED, OF_TWO)],
            "same ONE PodReference",
        ),
        ("an id of the runtime", BY_DIGEST, vec![report(INJECTED, ONE)], "same ONE PodReference"),
        ("a tag for it", BY_DIGEST, vec![bundle(INJECTED, BY_TAG)], "open unverified for good"),
        (
            "a tag for it, the same",
            BY_DIGEST,
            vec![report(bundle(INJECTED, BY_TAG), OF_ONE)],
            "same ONE ContainerStatus",
        ),
        (
            "a tag for it, another",
            BY_DIGEST,
            vec![report(bundle(INJECTED, BY_TAG), OF_TWO)],
            "replaced",
        ),
        // By digest, mounted: the node mounts what the pod names.
        ("admitted", BY_DIGEST, vec![MOUNTED], "same ONE PodReference"),
        ("reported", BY_DIGEST, vec![report(MOUNTED, OF_ONE)], "same ONE VolumeStatus"),
        ("not reported", BY_DIGEST, vec![report(MOUNTED, "")], "same ONE PodReference"),
        ("another", BY_DIGEST, vec![bundle(MOUNTED, OF_TWO)], "replaced"),
        ("a tag for it", BY_DIGEST, vec![bundle(MOUNTED, BY_TAG)], "open unverified for good"),
        (
            "a tag for it, the same",
            BY_DIGEST,
            vec![report(bundle(MOUNTED, BY_TAG), OF_ONE)],
            "same ONE VolumeStatus",
        ),
        (
            "a tag for it, another",
            BY_DIGEST,
            vec![report(bundle(MOUNTED, BY_TAG), OF_TWO)],
            "replaced",
        ),
        // By tag.
        ("admitted", BY_TAG, vec![bundle(INJECTED, BY_TAG)], "open"),
        (
            "reported",
            BY_TAG,
            vec![report(bundle(INJECTED, BY_TAG), OF_ONE)],
            "same ONE ContainerStatus",
        ),
        ("a digest for it", BY_TAG, vec![INJECTED], "same ONE PodReference"),
        (
            "an id of the runtime",
            BY_TAG,
            vec![report(bundle(INJECTED, BY_TAG), ONE)],
            "same unknown",
        ),
        ("admitted", BY_TAG, vec![bundle(MOUNTED, BY_TAG)], "open"),
        ("not reported", BY_TAG, vec![report(bundle(MOUNTED, BY_TAG), "")], "same unknown"),
        (
            "reported",
            BY_TAG,
            vec![report(bundle(MOUNTED, BY_TAG), OF_TWO)],
            "same TWO VolumeStatus",
        ),
    ]);
}

#[test]
fn a_changed_pod_is_verified_only_if_every_version_was_observed() {
    let changed = |shown| Shown { generation: 2, ..shown };
    check(vec![
        (
            "changed and changed back",
            BY_DIGEST,
            vec![INJECTED, bundle(INJECTED, OF_TWO), INJECTED],
            "replaced",
        ),
        (
            "changed and changed back unseen",
            BY_DIGEST,
            vec![INJECTED, Shown { generation: 3, ..report(INJECTED, OF_TWO) }],
            "open unverified",
        ),
        (
            "changed otherwise",
            BY_DIGEST,
            vec![INJECTED, changed(report(INJECTED, OF_ONE))],
            "same ONE ContainerStatus",
        ),
        // The container may have had another image before.
        ("changed unseen", BY_DIGEST, vec![changed(report(INJECTED, OF_ONE))], "open unverified"),
        // Removing a scheduling gate is a change of the pod too.
        (
            "changed otherwise, another digest of it",
            BY_DIGEST,
            vec![INJECTED, changed(report(INJECTED, OF_TWO))],
            "same ONE PodReference",
        ),
        (
            "changed after the report",
            BY_TAG,
            vec![report(bundle(INJECTED, BY_TAG), OF_ONE), bundle(INJECTED, "a.example/evil:1")],
            "open unverified",
        ),
        (
            "changed unseen",
            BY_TAG,
            vec![changed(report(bundle(INJECTED, BY_TAG), OF_ONE))],
            "open unverified",
        ),
    ]);
}

#[test]
fn the_digest_of_a_tag_is_awaited_only_if_requested() {
    let by_tag = "registry.example/one:1";
    let mounted = [Shown { bundle: by_tag, ..MOUNTED }];
    let found = compared(by_tag, "registry.example/tool:1", false, &mounted);
    assert_eq!(short(&found), "same unknown");
}

#[test]
fn the_tool_image_is_compared_too() {
    let by_digest = "registry.example/tool@TWO";
    let by_tag = "registry.example/tool:1";
    let mounted = |tool, report: Option<&'static str>| Shown {
        tool,
        reports: report.map(|tool| ("", tool)),
        ..MOUNTED
    };
    for (name, wanted, shown, expected) in [
        ("a tag", by_tag, mounted(by_tag, None), "same ONE PodReference"),
        ("a digest", by_digest, mounted(by_digest, None), "same ONE PodReference"),
        ("another", by_digest, mounted("registry.example/tool@ONE", None), "replaced"),
        ("a tag for it", by_digest, mounted(by_tag, None), "open unverified for good"),
        ("the same", by_digest, mounted(by_tag, Some(by_digest)), "same ONE PodReference"),
        ("others", by_digest, mounted(by_tag, Some("a.example/b@ONE")), "replaced"),
    ] {
        let found = compared("registry.example/one@ONE", wanted, false, &[shown]);
        assert_eq!(short(&found), expected, "{name}");
        if let (Comparison::Same(images), Some(_)) = (&found, shown.reports) {
            assert_eq!(images.tool.digest.as_deref(), Some(TWO), "{name}");
            assert_eq!(images.tool.reference.as_deref(), Some(by_tag), "{name}");
        }
    }
}

#[test]
fn every_pod_of_a_job_counts() {
    let image = ImageReference::parse(&reference("registry.example/one@ONE")).unwrap();
    let wanted = Wanted {
        bundle: image,
        tool: None,
        strategy: Strategy::Inject,
        volume: BUNDLE.into(),
        resolves: true,
    };
    let verified = seen(&[Shown { reports: Some(("a.example/b@ONE", "")), ..INJECTED }]);
    let other = seen(&[Shown { bundle: "registry.example/two@TWO", ..INJECTED }]);
    let silent = seen(&[INJECTED]);
    let compared = |pods: &[&Sighting]| short(&compare(&wanted, None, pods));
    assert_eq!(compared(&[]), "open unverified");
    assert_eq!(compared(&[&silent, &verified]), "same ONE ContainerStatus");
    assert_eq!(compared(&[&verified, &other]), "replaced");
    // Each of these may have written the content of another image before it was deleted.
    let tag = Shown { bundle: "registry.example/one:1", ..INJECTED };
    let changed = Shown { generation: 2, ..INJECTED };
    assert_eq!(compared(&[&seen(&[tag]), &silent]), "open unverified for good");
    for (name, earlier) in [("a tag for it", seen(&[tag])), ("changed", seen(&[changed]))] {
        assert_eq!(compared(&[&verified, &earlier]), "open unverified", "{name}");
        assert_eq!(compared(&[&earlier, &verified]), "open unverified", "{name}, the newest");
    }
    let reported = Some(("registry.example/two@TWO", ""));
    let other_report = Shown { generation: 2, reports: reported, ..INJECTED };
    let mirrors = ["a.example/1@ONE", "b.example/2@ONE", "registry.example/evil:1"];
    let third = mirrors.map(|bundle| Shown { bundle, reports: reported, ..INJECTED });
    assert_eq!(compared(&[&verified, &seen(&[other_report])]), "open unverified");
    assert_eq!(compared(&[&verified, &seen(&third)]), "replaced", "the third reference");
    let of_one = Some(("a.example/1@ONE", ""));
    let then_tag = [INJECTED, Shown { bundle: "registry.example/one:1", ..INJECTED }];
    let then_tag = then_tag.map(|shown| Shown { reports: of_one, ..shown });
    assert_eq!(compared(&[&seen(&then_tag)]), "open unverified for good", "changed after a report");
    let many = [
        "a.example/1@ONE",
        "b.example/1@ONE",
        "c.example/1@ONE",
        "d.example/1@ONE",
        "e.example/1@ONE",
        "f.example/1@ONE",
        "g.example/1@ONE",
        "h.example/1@ONE",
        "i.example/1@ONE",
    ];
    let many = many.map(|bundle| Shown { bundle, reports: of_one, ..INJECTED });
    assert_eq!(compared(&[&verified, &seen(&many)]), "open unverified", "too many references");
    assert_eq!(short(&compare(&wanted, Some(&other), &[&verified])), "replaced", "the Job's");
}

#[test]
fn the_digest_of_a_tag_is_unknown_if_the_pods_of_a_job_differ() {
    let by_tag = "registry.example/one:1";
    let wanted = |strategy, resolves| Wanted {
        bundle: ImageReference::parse(by_tag).unwrap(),
        tool: None,
        strategy,
        volume: BUNDLE.into(),
        resolves,
    };
    let pod = |report| seen(&[Shown { bundle: by_tag, reports: report, ..INJECTED }]);
    let one = pod(Some(("a.example/b@ONE", "")));
    let (two, silent) = (pod(Some(("a.example/b@TWO", ""))), pod(None));
    let injected = wanted(Strategy::Inject, true);
    for (pods, expected) in [
        ([&one, &one], "same ONE ContainerStatus"),
        ([&two, &one], "open"),
        ([&one, &silent], "open"),
        ([&silent, &one], "open"),
    ] {
        assert_eq!(short(&compare(&injected, None, &pods)), expected, "{pods:?}");
    }
    let unresolved = wanted(Strategy::Inject, false);
    assert_eq!(short(&compare(&unresolved, None, &[&two, &one])), "same unknown");
}

#[test]
fn a_pod_without_the_bundle_is_another_image_where_the_job_has_it() {
    let image = ImageReference::parse("registry.example/one:1").unwrap();
    let wanted = Wanted {
        bundle: image,
        tool: None,
        strategy: Strategy::ImageVolume,
        volume: BUNDLE.into(),
        resolves: false,
    };
    let (with, without) = (seen(&[MOUNTED]), seen(&[Shown { bundle: "", ..MOUNTED }]));
    assert_eq!(short(&compare(&wanted, Some(&with), &[&without])), "replaced");
    // An API server without image volumes drops them from the Job and from the pod.
    assert_eq!(short(&compare(&wanted, Some(&without), &[&without])), "same unknown");
}
