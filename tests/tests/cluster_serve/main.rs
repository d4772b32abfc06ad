//! The unpacker in real pods, as manifests/ defines them: injected into a container of the bundle
//! image, and beside the bundle image as a volume, under Pod Security `restricted`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

mod awkward;
mod ended;
mod image;
mod stage;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;

use serde_json::json;
use unlade_tests::corpus::{self, Sample};
use unlade_tests::example;
use unlade_tests::manifest::Overlay;
use unlade_tests::trap::MARK;

use awkward::Awkward;
use ended::message;
use stage::{Bundle, Stage, Way};

/// The number of the largest bundles of the sample that are always included.
const LARGEST: usize = 3;
/// The step between the other bundles that are included.
const STEP: usize = 10;

/// Returns the real bundles of the sample: the largest ones, and every tenth of the others.
fn real_bundles(stage: &Stage<'_>, way: Way) -> Vec<Bundle> {
    let size = |sample: &Sample| -> u64 {
        let directories = ["manifests", "metadata"].map(|directory| sample.path.join(directory));
        let files =
            directories.iter().flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let mut real = corpus::published();
    real.sort_by_cached_key(|sample| Reverse(size(sample)));
    let others = real.iter().skip(LARGEST).step_by(STEP);
    let chosen: Vec<_> = real.iter().take(LARGEST).chain(others).collect();
    assert!(chosen.len() >= 20, "only {}", chosen.len());
    assert!(real[0].name.starts_with("sn-operator/"), "{}", real[0].name);
    let bundles = chosen.into_iter().enumerate().map(|(at, sample)| {
        let package = sample.name.split('/').next().unwrap();
        let image = image::bundle(&sample.path);
        stage.push(&format!("{package}-{at}"), way, &image, &sample.path)
    });
    bundles.collect()
}

#[test]
#[ignore = "needs a cluster, the published bundles"]
fn cluster_real_bundles_are_unpacked_by_an_injected_unpacker() {
    real_bundles_are_unpacked(Way::Inject);
}

#[test]
#[ignore = "needs a cluster, the published bundles"]
fn cluster_real_bundles_are_unpacked_out_of_image_volumes() {
    real_bundles_are_unpacked(Way::ImageVolume);
}

fn real_bundles_are_unpacked(way: Way) {
    Stage::open("real", |stage| {
        let bundles = real_bundles(stage, way);
        let ended = stage.run(&bundles);
        let encodings: BTreeSet<_> = bundles.iter().map(|bundle| ended.check(bundle)).collect();
        assert_eq!(encodings.len(), 2, "plain and gzip: {encodings:?}");
    });
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_the_configuration_of_an_image_changes_nothing() {
    awkward_images_are_unpacked("settings", &awkward::settings());
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_how_an_image_is_layered_changes_nothing() {
    awkward_images_are_unpacked("layers", &awkward::layers());
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_no_code_of_a_bundle_runs() {
    awkward_images_are_unpacked("traps", &awkward::traps());
}

/// Unpacks each image with both strategies.
fn awkward_images_are_unpacked(test: &str, images: &[Awkward]) {
    Stage::open(test, |stage| {
        let each = images.iter().flat_map(|awkward| stage.push_awkward(awkward, &Way::BOTH));
        let bundles: Vec<_> = each.collect();
        let ended = stage.run(&bundles);
        for bundle in &bundles {
            ended.check(bundle);
        }
        let logs = stage.logs();
        let n_written = logs.matches(r#""configMap""#).count();
        assert_eq!(n_written, bundles.len(), "a log is missing: {logs}");
        assert!(!logs.contains(MARK), "{logs}");
    });
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_each_permission_of_the_unpacker_is_needed_and_its_absence_reported() {
    Stage::open("forbidden", |stage| {
        let image = image::bundle(&example());
        let bundles = ["no-binding", "no-get", "no-update"]
            .map(|name| stage.push(name, Way::Inject, &image, &example()));
        let mut all = Vec::new();
        let mut verbs = BTreeSet::new();
        for (bundle, lacks) in bundles.iter().zip(["", "get", "update"]) {
            let mut objects = stage.manifest(bundle);
            objects.retain(|object| !lacks.is_empty() || object["kind"] != "RoleBinding");
            for object in &mut objects {
                if object["kind"] == "Role" {
                    let held = object["rules"][0]["verbs"].as_array_mut().unwrap();
                    verbs.extend(held.iter().map(|verb| verb.as_str().unwrap().to_owned()));
                    held.retain(|verb| verb != lacks);
                } else if object["kind"] == "Job" {
                    let container = &mut object["spec"]["template"]["spec"]["containers"][0];
                    let command = container["command"].as_array_mut().unwrap();
                    command.push(json!("--permission-wait=100ms"));
                    object["spec"]["backoffLimit"] = json!(0);
                }
            }
            all.append(&mut objects);
        }
        assert_eq!(verbs, BTreeSet::from(["get".to_owned(), "update".to_owned()]));
        stage.apply(&all);
        let ended = stage.ended();
        for (bundle, lacks) in bundles.iter().zip(["get", "get", "update"]) {
            let name = &bundle.name;
            let terminated = ended.terminated(name);
            assert_eq!(terminated["exitCode"], 21, "{name}: {terminated}");
            let outcomes = message(terminated);
            assert_eq!(outcomes[0]["verdict"], "noPermission", "{name}: {outcomes}");
            let words = outcomes[0]["message"].as_str().unwrap();
            let account = name.trim_end_matches("bundle");
            let account = format!(
                "system:serviceaccount:{}:{account}unlade-unpacker",
                stage.namespace.name()
            );
            assert!(words.contains(&account), "{name}: {words}");
            assert!(words.contains(&format!("cannot {lacks} resource")), "{name}: {words}");
            assert!(ended.config_map(name)["data"].is_null());
        }
    });
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_the_kustomizations_of_the_readme_are_accepted() {
    Stage::open("readme", |stage| {
        let readme = include_str!("../../../manifests/README.md");
        let namespace = format!("namespace: {}", stage.namespace.name());
        let blocks = readme.split("```yaml\n").skip(1);
        let blocks = blocks.map(|block| block.split_once("```").unwrap().0);
        let mut kinds = BTreeSet::new();
        for block in blocks {
            let overlay = Overlay::new(&block.replace("namespace: bundles", &namespace));
            for object in overlay.build(stage.cluster.kubectl()) {
                kinds.insert(object["kind"].as_str().unwrap().to_owned());
            }
            stage.kubectl(&["apply", "--dry-run=server", "--kustomize", overlay.path()]);
        }
        let expected =
            ["ConfigMap", "Job", "NetworkPolicy", "Role", "RoleBinding", "ServiceAccount"];
        assert_eq!(kinds, expected.map(str::to_owned).into());
    });
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_metadata_of_others_is_kept_and_a_second_run_writes_nothing() {
    Stage::open("others", |stage| {
        let bundle = stage.push("shared", Way::ImageVolume, &image::bundle(&example()), &example());
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
        stage.namespace.apply(&owner);
        let uid = &stage.namespace.get("configmap/owner").unwrap()["metadata"]["uid"];
        let mut objects = stage.manifest(&bundle);
        let name = &*bundle.name;
        let marks = json!({
            "name": name,
            "namespace": stage.namespace.name(),
            "annotations": {"example.com/team": "blue"},
            "finalizers": ["example.com/keep"],
            "labels": {"example.com/catalog": "community"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid},
            ],
        });
        let config_map = objects.iter_mut().find(|object| object["kind"] == "ConfigMap").unwrap();
        config_map["metadata"] = marks.clone();
        stage.apply(&objects);
        let first = stage.ended();
        first.check(&bundle);
        stage.kubectl(&["delete", "job", name, "--cascade=foreground"]);
        stage.apply(&objects);
        let second = stage.ended();
        let patch = r#"--patch={"metadata":{"finalizers":null}}"#;
        stage.kubectl(&["patch", "configmap", name, "--type=merge", patch]);

        assert_eq!(second.outcomes(name)[0]["verdict"], "unchanged");
        let metadata = &second.config_map(name)["metadata"];
        let version = &first.config_map(name)["metadata"]["resourceVersion"];
        assert_eq!(&metadata["resourceVersion"], version);
        for field in ["finalizers", "ownerReferences"] {
            assert_eq!(metadata[field], marks[field], "{field}");
        }
        assert_eq!(metadata["labels"]["example.com/catalog"], "community");
        assert_eq!(metadata["annotations"]["example.com/team"], "blue");
    });
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_one_pod_unpacks_several_bundles() {
    Stage::open("several", |stage| {
        let images = awkward::layers();
        let ways = [Way::ImageVolume];
        let bundles = images.iter().flat_map(|awkward| stage.push_awkward(awkward, &ways));
        let bundles: Vec<_> = bundles.collect();
        stage.apply(&stage.job_for_bundles("several", &bundles));
        let ended = stage.ended();
        let outcomes = ended.outcomes("several-bundle");
        assert_eq!(outcomes.as_array().unwrap().len(), bundles.len(), "{outcomes}");
        for bundle in &bundles {
            ended.check(bundle);
        }
    });
}
