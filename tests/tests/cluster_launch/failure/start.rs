//! Pods that no node accepts, and containers that do not start.

use std::collections::BTreeMap;
use std::fs;

use k8s_openapi::api::core::v1::{Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;
use unlade_launcher::{Options, Reason, Strategy, User};
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer};
use unlade_testbed::fault;
use unlade_tests::cluster::Namespace;
use unlade_tests::shipped;

use super::observer::Knows;
use super::{Case, run};
use crate::stage::Stage;

/// The position of the architecture in an ELF header, and the numbers of x86-64 and aarch64.
const MACHINE: usize = 18;
const MACHINES: [u16; 2] = [62, 183];

const UNSCHEDULED: Knows = Knows::Pod(|pod| {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.type_ == "PodScheduled" && it.status == "False")
});

/// Sets both the request and the limit of memory to this amount.
pub(super) fn memory(options: &mut Options, size: &str) {
    let amount = BTreeMap::from([("memory".to_owned(), Quantity(size.to_owned()))]);
    options.pod.resources = Some(ResourceRequirements {
        requests: Some(amount.clone()),
        limits: Some(amount),
        ..ResourceRequirements::default()
    });
}

/// Pushes our image with a program for another architecture.
fn foreign_tool(stage: &Stage<'_>) -> String {
    let mut program = fs::read(shipped::unpacker()).unwrap();
    let machine = program.get_mut(MACHINE..MACHINE + 2).unwrap();
    let other = MACHINES.map(u16::to_le_bytes).into_iter().find(|other| machine != other);
    machine.copy_from_slice(&other.unwrap());
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new([Entry::file("unlade-unpacker", program).with_mode(0o755)]));
    image.config.entrypoint = vec!["/unlade-unpacker".to_owned()];
    image.config.user = Some("65532:65532".to_owned());
    stage.push_image("foreign-tool", &image).by_digest
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_container_that_cannot_start_is_reported_before_any_deadline() {
    Stage::open("failure-start", async |stage| {
        let image = stage.push_example("start").by_tag;
        let foreign = foreign_tool(stage);
        let foreign = |strategy| {
            let tool = foreign.clone();
            move |options: &mut Options| {
                options.tool_image = tool;
                options.strategy = strategy;
            }
        };
        run([
            Case::new(stage, "exec-inject", &image, Reason::ExecFormat)
                .saying("container install")
                .known_by(Knows::Ended)
                .with(foreign(Strategy::Inject)),
            Case::new(stage, "exec-volume", &image, Reason::ExecFormat)
                .saying("container unpack")
                .known_by(Knows::Ended)
                .with(foreign(Strategy::ImageVolume)),
            Case::new(stage, "root", &image, Reason::RunAsNonRoot).with(|options| {
                options.strategy = Strategy::Inject;
                options.pod.user = User::Unset;
            }),
        ])
        .await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_pod_that_no_node_accepts_is_reported_before_any_deadline() {
    Stage::open("failure-schedule", async |stage| {
        let image = stage.push_example("schedule").by_tag;
        // A node without a kubelet. The scheduler does not know this.
        let name = format!("tainted-{}", std::process::id());
        stage.namespace.apply_cluster_wide(&json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
            }},
            "spec": {"taints": [{"key": "example.com/none", "effect": "NoSchedule"}]},
        }));
        let case = |name| {
            Case::new(stage, name, &image, Reason::Unschedulable).passing().known_by(UNSCHEDULED)
        };
        run([
            case("selector").saying("didn't match Pod's node affinity/selector").with(|options| {
                options.pod.node_selector.insert("example.com/none".into(), "true".into());
            }),
            case("taint").saying("untolerated taint").with(|options| {
                options.pod.node_selector.insert("kubernetes.io/hostname".into(), name.clone());
            }),
            case("memory").saying("Insufficient memory").with(|options| memory(options, "1Ti")),
        ])
        .await;
    });
}

/// Creates a namespace in which admission changes pods in this way, and waits until it does.
pub(crate) async fn changed<'s>(
    stage: &'s Stage<'_>,
    name: &str,
    spec: &str,
    is_changed: fn(&PodSpec) -> bool,
) -> Namespace<'s> {
    let namespace = stage.cluster.namespace(&format!("failure-{name}"));
    let patch = format!("Object{{spec: Object.spec{{{spec}}}}}");
    for object in fault::mutating_policy(namespace.name(), "", "pods", &patch) {
        namespace.apply_cluster_wide(&object);
    }
    let probe = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe"},
        "spec": {
            "containers": [{
                "name": "unpack",
                "image": "unlade.test/none:1",
                "volumeMounts": [{"name": "bundle", "mountPath": "/bundle"}],
            }],
            "volumes": [{"name": "bundle", "image": {"reference": "unlade.test/none:1"}}],
        },
    });
    let probe: Pod = serde_json::from_value(probe).unwrap();
    let is_changed =
        |response: kube::Result<Pod>| response.unwrap().spec.as_ref().is_some_and(is_changed);
    stage.wait_until_answered(namespace.name(), &probe, is_changed).await;
    namespace
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_node_that_cannot_set_up_the_pod_is_reported_before_any_deadline() {
    Stage::open("failure-node", async |stage| {
        let image = stage.push_example("node-setup").by_tag;
        let class = format!("none-{}", std::process::id());
        stage.namespace.apply_cluster_wide(&json!({
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": class},
            "handler": "none",
        }));
        let class = format!("runtimeClassName: {class:?}");
        let sandbox =
            changed(stage, "sandbox", &class, |spec| spec.runtime_class_name.is_some()).await;
        let sub_path = "containers: [Object.spec.containers{name: \"unpack\", volumeMounts: \
                        [Object.spec.containers.volumeMounts{mountPath: \"/bundle\", subPath: \
                        \"none\"}]}]";
        let is_changed = |spec: &PodSpec| {
            let mounts = spec.containers.iter().flat_map(|it| it.volume_mounts.iter().flatten());
            mounts.into_iter().any(|mount| mount.sub_path.is_some())
        };
        let volume = changed(stage, "volume", sub_path, is_changed).await;
        run([
            Case::new(stage, "sandbox", &image, Reason::Sandbox)
                .within(sandbox.name())
                .passing()
                .known_by(Knows::Event("FailedCreatePodSandBox")),
            Case::new(stage, "volume", &image, Reason::VolumeUnsupported)
                .within(volume.name())
                .with(|options| options.strategy = Strategy::ImageVolume),
        ])
        .await;
    });
}
