//! The content of a ConfigMap comes from the requested image, or the ConfigMap stays empty.

use k8s_openapi::api::core::v1::{ConfigMap, PodSpec};
use kube::ResourceExt;
use serde_json::{Value, json};
use unlade_bundle::annotation;
use unlade_config_map::{mark, protocol::record};
use unlade_launcher::{DigestSource, Failure, Launched, Options, Reason, Request, Strategy};
use unlade_testbed::VOLUME_DIGESTS;
use unlade_tests::cluster::Namespace;

use crate::stage::{Stage, given};
use crate::{BOTH, failure::changed};

/// Returns the patch of a policy for the image of a container.
fn container(list: &str, name: &str, image: &str) -> String {
    format!("{list}: [Object.spec.{list}{{name: {name:?}, image: {image:?}}}]")
}

/// Returns the patch of a policy for the bundle image in a pod of this strategy.
fn bundle(strategy: Strategy, image: &str) -> String {
    match strategy {
        Strategy::ImageVolume => format!(
            "volumes: [Object.spec.volumes{{name: \"bundle\", image: \
             Object.spec.volumes.image{{reference: {image:?}}}}}]"
        ),
        _ => container("containers", "unpack", image),
    }
}

/// Launches in a namespace in which a policy changes pods with this patch.
async fn launched(
    stage: &Stage<'_>,
    namespace: &Namespace<'_>,
    options: &Options,
    image: &str,
    name: &str,
) -> Result<Launched, Failure> {
    let mut request = Request::new(image, namespace.name());
    request.name = given(name);
    stage.launch(options, &request).await.0
}

/// Returns the ConfigMap, and whether it contains any part of a bundle.
fn has_content(namespace: &Namespace<'_>, name: &str) -> (Value, bool) {
    let config_map = namespace.get(&format!("configmap/{name}")).unwrap();
    let annotations = config_map.pointer("/metadata/annotations").cloned().unwrap_or_default();
    let mut marks = mark::ALL.into_iter().chain([annotation::SOURCE_IMAGE]);
    let has_marks = marks.any(|key| annotations.get(key).is_some());
    let has_content = ["data", "binaryData"].iter().any(|key| config_map.get(key).is_some());
    (config_map, has_marks || has_content)
}

/// Checks whether the probe has the image that only a policy sets.
fn is_patched(spec: &PodSpec) -> bool {
    let init = spec.init_containers.iter().flatten();
    let containers = init.chain(&spec.containers).filter_map(|it| it.image.as_ref());
    let volumes = spec.volumes.iter().flatten();
    let mounted = volumes.filter_map(|volume| volume.image.as_ref()?.reference.as_ref());
    containers.chain(mounted).any(|image| image.contains("/launch/image-"))
}

/// Returns the default options with this strategy.
fn options(stage: &Stage<'_>, strategy: Strategy) -> Options {
    let mut options = stage.options();
    options.strategy = strategy;
    options
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_an_image_that_admission_replaces_is_refused_and_leaves_nothing() {
    Stage::open("image-replaced", async |stage| {
        let one = stage.push_example("image-one");
        let two = stage.push_example("image-two");
        let other = stage.push_image("image-other", &Stage::other_image());
        for strategy in BOTH {
            let name = format!("{strategy:?}").to_lowercase();
            let patch = bundle(strategy, &other.by_digest);
            let namespace = changed(stage, &format!("replaced-{name}"), &patch, is_patched).await;
            let options = options(stage, strategy);
            let failure = launched(stage, &namespace, &options, &one.by_digest, "by-digest").await;
            let failure = failure.unwrap_err();
            assert_eq!(failure.reason, Reason::ImageReplaced, "{failure:?}");
            assert!(failure.message.contains(&other.by_digest), "{failure:?}");
            let (config_map, has_content) = has_content(&namespace, "by-digest");
            assert!(!has_content, "{config_map}");
            let recorded = config_map["metadata"]["annotations"][record::FAILURE].as_str().unwrap();
            assert!(recorded.contains("imageReplaced"), "{recorded}");

            // For a tag, the launch accepts the other image, and reports that image's digest.
            let by_tag =
                launched(stage, &namespace, &options, &one.by_tag, "by-tag").await.unwrap();
            assert_eq!(by_tag.image.digest.as_ref(), Some(&other.digest), "{strategy:?}");
            assert_eq!(by_tag.image.reference.as_ref(), Some(&other.by_digest));
            drop(namespace);

            // An image with another name and the same digest is the same image.
            let mirror = two.by_digest.clone();
            assert_eq!(two.digest, one.digest);
            let patch = bundle(strategy, &mirror);
            let namespace = changed(stage, &format!("mirror-{name}"), &patch, is_patched).await;
            let mirrored = launched(stage, &namespace, &options, &one.by_digest, "mirrored").await;
            let mirrored = mirrored.unwrap();
            assert_eq!(mirrored.image.reference, Some(mirror), "{strategy:?}");
            assert_eq!(mirrored.image.digest.as_ref(), Some(&one.digest));
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_tool_image_that_admission_replaces_is_refused() {
    Stage::open("image-tool", async |stage| {
        let image = stage.push_example("image-tool");
        let other = stage.push_image("image-other-tool", &Stage::other_image());
        for strategy in BOTH {
            let name = format!("tool-{strategy:?}").to_lowercase();
            let patch = match strategy {
                Strategy::ImageVolume => container("containers", "unpack", &other.by_digest),
                _ => container("initContainers", "install", &other.by_digest),
            };
            let namespace = changed(stage, &name, &patch, is_patched).await;
            let options = options(stage, strategy);
            let failure = launched(stage, &namespace, &options, &image.by_digest, "tool").await;
            let failure = failure.unwrap_err();
            assert_eq!(failure.reason, Reason::ImageReplaced, "{failure:?}");
            assert!(failure.message.contains("tool image"), "{failure:?}");
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_the_digest_of_an_image_comes_from_the_status_of_its_pod() {
    Stage::open("image-digest", async |stage| {
        let image = stage.push_example("image-digest");
        let by_container = Some(DigestSource::ContainerStatus);
        let by_volume = Some(DigestSource::VolumeStatus);
        // The sources on a node without the gate, and on a node with it. There, a launch can end
        // before the kubelet has reported the volume, and then has the source of the other node.
        for (at, (strategy, by, sources)) in [
            (Strategy::Inject, &image.by_digest, [by_container; 2]),
            (Strategy::Inject, &image.by_tag, [by_container; 2]),
            (
                Strategy::ImageVolume,
                &image.by_digest,
                [Some(DigestSource::PodReference), by_volume],
            ),
            (Strategy::ImageVolume, &image.by_tag, [None, by_volume]),
        ]
        .into_iter()
        .enumerate()
        {
            // One node has the feature gate by which kubelets report image volumes, and one has
            // not.
            for has_gate in [true, false] {
                let selector = if has_gate { "" } else { "!" }.to_owned() + VOLUME_DIGESTS;
                let nodes = stage.kubectl(&["get", "nodes", "-o", "name", "-l", &selector]);
                assert!(!nodes.is_empty(), "the testbed has no node with the label {selector}");
                let mut options = options(stage, strategy);
                options.resolve_digest = true;
                options.pod.affinity = Some(on_node(has_gate));
                let mut request = stage.request(by);
                request.name = given(&format!("digest-{at}-{has_gate}"));
                let (launched, _) = stage.launch(&options, &request).await;
                let launched = launched.unwrap();
                let source = launched.image.digest_source;
                let expected = &sources[..=usize::from(has_gate)];
                assert!(
                    expected.contains(&source),
                    "{strategy:?} {has_gate}: {:?}",
                    launched.image
                );
                let expected = source.map(|_| image.digest.as_str());
                assert_eq!(launched.image.digest.as_deref(), expected);
            }
        }
    });
}

/// Returns the node selector for nodes whose kubelets report image volumes, or for all others.
fn on_node(has_gate: bool) -> k8s_openapi::api::core::v1::Affinity {
    let operator = if has_gate { "Exists" } else { "DoesNotExist" };
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": VOLUME_DIGESTS, "operator": operator}]}],
    }}});
    serde_json::from_value(affinity).unwrap()
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_config_map_that_only_looks_filled_is_not_reused() {
    Stage::open("image-forged", async |stage| {
        let image = stage.push_example("image-forged");
        let request = stage.request(&image.by_digest);
        let first = stage.launch(&stage.options(), &request).await.0.unwrap();
        // A user who may create ConfigMaps creates the same one, with other content and
        // matching marks.
        let other = stage.push_image("image-forged-other", &Stage::other_image());
        let mut forging = stage.request(&other.by_digest);
        forging.name = given("forging");
        let forging = stage.launch(&stage.options(), &forging).await.0.unwrap();
        let mut forged = serde_json::to_value(&forging.config_map).unwrap();
        let name = first.config_map.name_any();
        forged["metadata"] = json!({
            "name": name,
            "labels": forged["metadata"]["labels"],
            "annotations": forged["metadata"]["annotations"],
        });
        for key in [record::IMAGE, annotation::SOURCE_IMAGE] {
            forged["metadata"]["annotations"][key] = json!(image.by_digest);
        }
        forged["apiVersion"] = json!("v1");
        forged["kind"] = json!("ConfigMap");
        stage.kubectl(&["delete", "configmap", &name, "--cascade=orphan"]);
        stage.namespace.apply(&forged);
        let launched = stage.launch(&stage.options(), &request).await.0.unwrap();
        assert!(launched.job.is_some(), "the forged one was taken");
        let digest = |config_map: &ConfigMap| config_map.annotations()[mark::DIGEST].clone();
        assert_eq!(digest(&launched.config_map), digest(&first.config_map));
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_config_map_of_another_image_with_our_name_is_left_alone() {
    Stage::open("image-name", async |stage| {
        let image = stage.push_example("image-name");
        let request = stage.request(&image.by_digest);
        let first = stage.launch(&stage.options(), &request).await.0.unwrap();
        let name = first.config_map.name_any();
        let other = format!("{}=registry.example/other:1", record::IMAGE);
        stage.kubectl(&["annotate", "--overwrite", "configmap", &name, &other]);
        let before: ConfigMap = stage.api().get(&name).await.unwrap();
        let failure = stage.launch(&stage.options(), &request).await.0.unwrap_err();
        assert_eq!(failure.reason, Reason::NameTaken, "{failure:?}");
        let after: ConfigMap = stage.api().get(&name).await.unwrap();
        assert_eq!(after, before);
    });
}
