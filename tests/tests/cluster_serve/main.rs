//! The unpacker in real pods, as manifests/ has them: injected into the bundle's image and beside
//! it as an image volume, under Pod Security `restricted`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

mod awkward;
mod image;
mod stage;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unlade_tests::corpus::{self, Sample};
use unlade_tests::trap::MARK;

use awkward::Awkward;
use stage::{Bundle, Stage, Way};

/// How many of the sample's largest bundles are taken for sure.
const LARGEST: usize = 3;
/// Of the others, every so many-th.
const STEP: usize = 10;

/// The example bundle, of which the awkward images are made.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello-operator")
}

/// Real bundles of the sample: the largest ones, and every tenth of the others.
fn real_bundles(stage: &Stage<'_>, way: Way) -> Vec<Bundle> {
    let size = |sample: &Sample| -> u64 {
        let folders = ["manifests", "metadata"].map(|folder| sample.path.join(folder));
        let files = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let mut real = corpus::samples();
    real.retain(|sample| !sample.is_crafted());
    real.sort_by_cached_key(|sample| Reverse(size(sample)));
    let others = real.iter().skip(LARGEST).step_by(STEP);
    let chosen: Vec<_> = real.iter().take(LARGEST).chain(others).collect();
    assert!(real.is_empty() || chosen.len() >= 20, "only {}", chosen.len());
    assert!(real.is_empty() || real[0].name.starts_with("sn-operator/"), "{}", real[0].name);
    let bundles = chosen.into_iter().enumerate().map(|(at, sample)| {
        let package = sample.name.split('/').next().unwrap();
        let image = image::bundle(&sample.path);
        stage.push(&format!("{package}-{at}"), way, &image, &sample.path)
    });
    bundles.collect()
}

#[test]
fn cluster_real_bundles_are_unpacked_by_an_injected_unpacker() {
    real_bundles_are_unpacked(Way::Inject);
}

#[test]
fn cluster_real_bundles_are_unpacked_out_of_image_volumes() {
    real_bundles_are_unpacked(Way::ImageVolume);
}

fn real_bundles_are_unpacked(way: Way) {
    Stage::open("real", |stage| {
        let bundles = real_bundles(stage, way);
        if bundles.is_empty() {
            return;
        }
        stage.run(&bundles);
        let encodings: BTreeSet<_> = bundles.iter().map(|bundle| stage.check(bundle)).collect();
        assert_eq!(encodings.len(), 2, "plain and gzip: {encodings:?}");
    });
}

#[test]
fn cluster_what_an_image_says_of_how_to_run_it_changes_nothing() {
    awkward_images_are_unpacked("settings", &awkward::settings());
}

#[test]
fn cluster_how_an_image_is_layered_changes_nothing() {
    awkward_images_are_unpacked("layers", &awkward::layers());
}

#[test]
fn cluster_no_code_of_a_bundle_runs() {
    if let Some(images) = awkward::traps() {
        awkward_images_are_unpacked("traps", &images);
    }
}

/// Each of them both ways.
fn awkward_images_are_unpacked(test: &str, images: &[Awkward]) {
    Stage::open(test, |stage| {
        let ways = |awkward| Way::BOTH.map(|way| stage.push_awkward(awkward, way));
        let bundles: Vec<_> = images.iter().flat_map(ways).collect();
        stage.run(&bundles);
        for bundle in &bundles {
            stage.check(bundle);
            let log = stage.log(&bundle.name);
            assert!(!log.contains(MARK), "{}: {log}", bundle.name);
        }
    });
}

#[test]
fn cluster_a_missing_permission_is_told_by_exit_code_and_termination_message() {
    Stage::open("forbidden", |stage| {
        let bundle = stage.push("forbidden", Way::Inject, &image::bundle(&example()), &example());
        let mut objects = stage.manifest(&bundle);
        objects.retain(|object| object["kind"] != "RoleBinding");
        let job = objects.iter_mut().find(|object| object["kind"] == "Job").unwrap();
        let container = &mut job["spec"]["template"]["spec"]["containers"][0];
        container["command"].as_array_mut().unwrap().push(json!("--permission-wait=100ms"));
        job["spec"]["backoffLimit"] = json!(0);
        stage.apply(objects);
        stage.wait_for_jobs();
        let ended = stage.terminated("forbidden");
        assert_eq!(ended["exitCode"], 21, "{ended}");
        let outcomes: Value = serde_json::from_str(ended["message"].as_str().unwrap()).unwrap();
        assert_eq!(outcomes[0]["verdict"], "noPermission", "{outcomes}");
        let message = outcomes[0]["message"].as_str().unwrap();
        let account = format!("system:serviceaccount:{}:forbidden", stage.namespace.name());
        assert!(message.contains(&account) && message.contains("cannot get resource"), "{message}");
        assert!(stage.config_map("forbidden")["data"].is_null());
    });
}

#[test]
fn cluster_what_others_wrote_stays_and_a_second_run_writes_nothing() {
    Stage::open("others", |stage| {
        let bundle = stage.push("shared", Way::ImageVolume, &image::bundle(&example()), &example());
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
        stage.namespace.apply(&owner);
        let uid = &stage.config_map("owner")["metadata"]["uid"];
        let mut objects = stage.manifest(&bundle);
        let marks = json!({
            "name": "shared",
            "annotations": {"example.com/team": "blue"},
            "finalizers": ["example.com/keep"],
            "labels": {"example.com/catalog": "community"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid},
            ],
        });
        objects[0]["metadata"] = marks.clone();
        stage.apply(objects.clone());
        stage.wait_for_jobs();
        let first = stage.config_map("shared");
        stage.kubectl(&["delete", "job", "shared", "--cascade=foreground"]);
        stage.apply(objects);
        stage.wait_for_jobs();
        assert_eq!(stage.outcomes("shared")[0]["verdict"], "unchanged");
        let second = stage.config_map("shared");
        stage.kubectl(&[
            "patch",
            "configmap",
            "shared",
            "--type=merge",
            r#"--patch={"metadata":{"finalizers":null}}"#,
        ]);
        assert_eq!(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
        let metadata = &second["metadata"];
        for field in ["finalizers", "ownerReferences"] {
            assert_eq!(metadata[field], marks[field], "{field}");
        }
        assert_eq!(metadata["labels"]["example.com/catalog"], "community");
        assert_eq!(metadata["annotations"]["example.com/team"], "blue");
        stage.check(&bundle);
    });
}

#[test]
fn cluster_one_pod_unpacks_several_bundles() {
    Stage::open("several", |stage| {
        let images = awkward::layers();
        let images = images.iter();
        let bundles: Vec<_> =
            images.map(|awkward| stage.push_awkward(awkward, Way::ImageVolume)).collect();
        stage.apply(stage.several("several", &bundles));
        stage.wait_for_jobs();
        let outcomes = stage.outcomes("several");
        assert_eq!(outcomes.as_array().unwrap().len(), bundles.len(), "{outcomes}");
        for bundle in &bundles {
            stage.check(bundle);
        }
    });
}
