//! Each bundle that cannot be installed is unpacked twice, by our image and by OLM's own. With our
//! image, an administrator must see at least the same conditions.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unlade_oci::build::Entry;
use unlade_tests::cluster::Namespace;

use crate::bundle::CSV;
use crate::{PATIENCE, Stage, bundle, catalog, conditions, is, policy};

const INTERVAL: Duration = Duration::from_secs(2);

/// A bundle that cannot be installed.
struct Bad {
    package: &'static str,
    image: String,
    end: End,
}

/// How the installation ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// The Job fails.
    Job,
    /// The unpacked content is refused.
    Content,
    /// The content is refused, and only the log of the catalog-operator shows it.
    Log,
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_bad_bundles_give_the_conditions_that_olms_own_images_give() {
    let stage = Stage::open();
    let mut unversioned = bundle::csv("unversioned");
    unversioned.as_object_mut().unwrap().remove("apiVersion");
    let broken = "kind: [ClusterServiceVersion".to_owned();
    let missing = "unlade.test/olm/bad-missing:1".to_owned();
    let all = [
        Bad { package: "missing", image: missing, end: End::Job },
        bad_annotations(&stage),
        Bad::push(&stage, "unversioned", End::Content, [file(CSV, unversioned.to_string())]),
        Bad::push(&stage, "broken", End::Log, [file(CSV, broken), map()]),
    ];
    compare(&stage, &all, Some("30s"));
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server; slow: Kubernetes gives a Job up after four attempts"]
fn cluster_bad_bundles_without_a_deadline_give_the_conditions_that_olms_own_images_give() {
    let stage = Stage::open();
    let all = [
        bad_annotations(&stage),
        Bad::push(&stage, "oversized", End::Job, [csv("oversized"), file("noise.yaml", noise())]),
        Bad::push(
            &stage,
            "folder",
            End::Job,
            [csv("folder"), file("folder/map.yaml", "{}".into())],
        ),
        Bad::push(&stage, "csvless", End::Log, [map()]),
    ];
    compare(&stage, &all, None);
}

impl Bad {
    /// Pushes a bundle with these manifests.
    fn push(
        stage: &Stage,
        package: &'static str,
        end: End,
        manifests: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let image = bundle::image(package, manifests);
        let image = stage.cluster.push(&image, &format!("olm/bad-{package}:1"));
        Self { package, image, end }
    }
}

fn file(name: &str, text: String) -> (String, String) {
    (format!("manifests/{name}"), text)
}

fn csv(package: &str) -> (String, String) {
    file(CSV, bundle::csv(package).to_string())
}

fn map() -> (String, String) {
    file("map.yaml", bundle::config_map("map", ""))
}

/// Pushes a bundle whose annotations are not YAML.
fn bad_annotations(stage: &Stage) -> Bad {
    let package = "annotations";
    let (path, text) = csv(package);
    let image = bundle::with_entries([
        Entry::file("metadata/annotations.yaml", "annotations: [:"),
        Entry::file(path, text),
    ]);
    let image = stage.cluster.push(&image, &format!("olm/bad-{package}:1"));
    Bad { package, image, end: End::Job }
}

/// Unpacks all bundles with both images, each in its own namespace.
fn compare(stage: &Stage, all: &[Bad], unpack_timeout: Option<&str>) {
    let namespaces = |whose: &str| -> Vec<_> {
        let name = |bad: &Bad| format!("olm-bad-{}-{whose}", bad.package);
        thread::scope(|scope| {
            let made: Vec<_> =
                all.iter().map(|bad| scope.spawn(|| stage.cluster.namespace(&name(bad)))).collect();
            made.into_iter().map(|made| made.join().unwrap()).collect()
        })
    };
    let [ours, theirs] = ["ours", "theirs"].map(namespaces);
    policy::unpack_with_olms_own(stage, &theirs.iter().collect::<Vec<_>>());
    let packages: Vec<_> = all
        .iter()
        .map(|bad| {
            let bundle =
                catalog::Bundle { version: bundle::VERSION, replaces: None, image: &bad.image };
            catalog::package(bad.package, &[bundle])
        })
        .collect();
    let address = catalog::serve(stage, &ours[0], "catalog", &packages);

    let each = || all.iter().zip(&ours).chain(all.iter().zip(&theirs));
    let sources = each().map(|(_, namespace)| catalog::source(namespace, &address));
    apply(stage, &sources.collect::<Vec<_>>());
    for (_, namespace) in each() {
        catalog::wait_until_connected(namespace, catalog::NAME, &address);
    }
    let subscriptions = each().flat_map(|(bad, namespace)| {
        let subscription = catalog::Subscription {
            package: bad.package,
            approval: "Automatic",
            unpack_timeout: unpack_timeout.filter(|_| bad.end == End::Job),
        };
        subscription.objects(namespace)
    });
    apply(stage, &subscriptions.collect::<Vec<_>>());

    for ((bad, ours), theirs) in all.iter().zip(&ours).zip(&theirs) {
        let [ours, theirs] = [(ours, stage.ours), (theirs, &stage.olm.util)]
            .map(|(namespace, image)| Outcome::wait(stage, namespace, bad.end, image));
        let both = format!("{}\nours: {ours:#?}\ntheirs: {theirs:#?}", bad.package);
        assert!(ours.conditions.is_superset(&theirs.conditions), "{both}");
        assert!(ours.job.is_superset(&theirs.job), "{both}");
        assert_eq!(ours.words, theirs.words, "{both}");
        assert_eq!(ours.has_container_failed, theirs.has_container_failed, "{both}");
    }
}

/// Creates many objects at once.
fn apply(stage: &Stage, objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    stage.cluster.kubectl().apply(&list).unwrap();
}

/// What an administrator finally sees.
#[derive(Debug)]
struct Outcome {
    /// The conditions of the Subscription: type, status, reason and message.
    conditions: BTreeSet<[String; 4]>,
    /// The conditions of the Job.
    job: BTreeSet<[String; 4]>,
    /// The message in the log of the catalog-operator, if only the log shows the failure.
    words: Option<String>,
    /// Whether a container of the Job has failed.
    has_container_failed: bool,
}

impl Outcome {
    /// Waits for the outcome. `image` is the image that unpacked the bundle.
    fn wait(stage: &Stage, namespace: &Namespace<'_>, end: End, image: &str) -> Self {
        let words = (end == End::Log).then(|| refusal(stage, namespace));
        let subscription = catalog::wait(namespace, |subscription| {
            words.is_some() || is(subscription, "BundleUnpackFailed")
        });
        let plans = namespace.list("installplans.operators.coreos.com");
        assert!(plans.is_empty(), "{plans:#?}");
        let jobs = namespace.list("job");
        let [job] = jobs.as_slice() else { panic!("{jobs:#?}") };
        assert_eq!(is(job, "Failed"), end == End::Job, "{job:#}");
        let has_failed = |status: &Value| {
            status["state"]["terminated"]["exitCode"].as_i64().is_some_and(|code| code != 0)
        };
        let pods = namespace.list("pod");
        let of_job = |pod: &&Value| pod["metadata"]["labels"]["job-name"].is_string();
        let pods: Vec<_> = pods.iter().filter(of_job).collect();
        for pod in &pods {
            assert_eq!(pod["spec"]["initContainers"][0]["image"], image);
        }
        let statuses = pods.iter().flat_map(|pod| {
            let keys = ["initContainerStatuses", "containerStatuses"];
            keys.into_iter().flat_map(|key| pod["status"][key].as_array().into_iter().flatten())
        });
        let has_container_failed = statuses.into_iter().any(has_failed);
        Self {
            conditions: read_conditions(&subscription),
            job: read_conditions(job),
            words,
            has_container_failed,
        }
    }
}

fn read_conditions(object: &Value) -> BTreeSet<[String; 4]> {
    let text =
        |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    conditions(object)
        .map(|condition| ["type", "status", "reason", "message"].map(|key| text(condition, key)))
        .collect()
}

/// Returns the error of the catalog-operator about the unpacked content in a namespace.
fn refusal(stage: &Stage, namespace: &Namespace<'_>) -> String {
    let words = "failed to turn bundle into steps: ";
    let end = Instant::now() + PATIENCE;
    loop {
        let log = stage.catalog_operator_log();
        let line = log.lines().find(|line| line.contains(namespace.name()) && line.contains(words));
        if let Some((_, why)) = line.and_then(|line| line.split_once(words)) {
            return why.split('"').next().unwrap_or_default().to_owned();
        }
        assert!(Instant::now() < end, "it refuses nothing");
        thread::sleep(INTERVAL);
    }
}

/// Returns a `ConfigMap` that does not fit even if it is compressed.
fn noise() -> String {
    let mut state = 1_u64;
    // A linear congruential generator. Its higher bits are more random.
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from(state >> 60).unwrap()
    };
    let text: String = (0..1 << 21).filter_map(|_| char::from_digit(next(), 16)).collect();
    bundle::config_map("noise", &text)
}
