use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};
use unlade_config_map::{Encoding, mark, protocol::record};

use super::pod::OS;
use super::*;
use crate::{PodOptions, PullPolicy};

const IMAGE: &str = "registry.example/bundles/etcd:0.9.4";
const NAME: &str = "etcd-0-9-4-e1d7adc1aa359aeac13f";
const BOTH: [Strategy; 2] = [Strategy::Inject, Strategy::ImageVolume];

fn request() -> Request {
    Request::new(IMAGE, "olm")
}

fn options() -> Options {
    Options::new("registry.example/unlade-unpacker:0.1.0")
}

fn facts() -> Facts {
    Facts { config_map_uid: Some("4b7c6a3e".into()), assigns_uids: false }
}

fn job(request: &Request, options: &Options, strategy: Strategy) -> Job {
    Plan::new(request, options).unwrap().job(1, strategy, &facts())
}

fn pod(request: &Request, options: &Options, strategy: Strategy) -> PodSpec {
    job(request, options, strategy).spec.unwrap().template.spec.unwrap()
}

fn containers(pod: &PodSpec) -> impl Iterator<Item = &Container> {
    pod.init_containers.iter().flatten().chain(&pod.containers)
}

fn refusal(request: &Request, options: &Options) -> Failure {
    Plan::new(request, options).map(|plan| plan.name().to_owned()).unwrap_err().into()
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

#[test]
fn the_objects_of_a_launch_are_these() {
    let (request, options) = (request(), options());
    let plan = Plan::new(&request, &options).unwrap();
    let access = plan.access(&facts()).unwrap();
    let objects = [
        serde_json::to_value(plan.config_map()).unwrap(),
        serde_json::to_value(access.service_account).unwrap(),
        serde_json::to_value(access.role).unwrap(),
        serde_json::to_value(access.role_binding).unwrap(),
    ];
    assert_data_eq!(pretty(&objects), file!["tests/without-job.json"].raw());
    let inject = plan.job(1, Strategy::Inject, &facts());
    assert_data_eq!(pretty(&inject), file!["tests/inject.json"].raw());
    let image_volume = plan.job(1, Strategy::ImageVolume, &facts());
    assert_data_eq!(pretty(&image_volume), file!["tests/image-volume.json"].raw());
}

#[test]
fn the_returned_objects_are_the_created_ones_in_order() {
    let (request, mut options) = (request(), options());
    let kinds = |options: &Options| -> Vec<String> {
        let objects = plan_objects(&request, options).unwrap();
        objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Job"];
    assert_eq!(kinds(&options), all);
    options.pod.service_account = Some("unpacker".into());
    assert_eq!(kinds(&options), ["ConfigMap", "Job"]);
    let shown = plan_objects(&request, &options).unwrap();
    assert!(shown.iter().all(|object| object["metadata"].get("ownerReferences").is_none()));
    assert!(shown.iter().all(|object| object["metadata"]["namespace"] == "olm"));
    // The strategy that works on every cluster.
    assert!(shown[1]["spec"]["template"]["spec"]["initContainers"].is_array());
    options.strategy = Strategy::ImageVolume;
    let shown = plan_objects(&request, &options).unwrap();
    assert!(shown[1]["spec"]["template"]["spec"].get("initContainers").is_none());
}

#[test]
fn only_the_container_that_writes_has_the_token() {
    for strategy in BOTH {
        let pod = pod(&request(), &options(), strategy);
        assert_eq!(pod.automount_service_account_token, Some(false));
        let volumes = pod.volumes.as_ref().unwrap();
        let with_token: Vec<_> =
            volumes.iter().filter(|volume| volume.projected.is_some()).collect();
        assert_eq!(with_token.len(), 1);
        assert!(volumes.iter().all(|volume| volume.secret.is_none() && volume.host_path.is_none()));
        for container in containers(&pod) {
            let mounts = container.volume_mounts.iter().flatten();
            let mut mounts = mounts.filter(|mount| mount.name == with_token[0].name);
            match container.name.as_str() {
                unlade_diagnose::UNPACK_CONTAINER => {
                    assert_eq!(mounts.next().unwrap().read_only, Some(true));
                }
                other => {
                    assert_eq!((other, mounts.next()), (unlade_diagnose::INSTALL_CONTAINER, None));
                }
            }
        }
    }
}

#[test]
fn the_settings_of_a_bundle_image_are_overridden() {
    let pod = pod(&request(), &options(), Strategy::Inject);
    let unpack = &pod.containers[0];
    assert_eq!(unpack.image.as_deref(), Some(IMAGE));
    assert_eq!(unpack.command.as_ref().unwrap()[0], "/injected/unlade-unpacker");
    assert_eq!(unpack.args, None);
    assert_eq!(unpack.working_dir.as_deref(), Some("/"));
    let injected = unpack.volume_mounts.as_ref().unwrap().iter().find(|m| m.name == "injected");
    assert_eq!(injected.unwrap().read_only, Some(true));
    assert_eq!(pod.security_context.unwrap().run_as_user, Some(65532));
    // Apart from the one variable that is set, the unpacker reads the image's variables only with
    // an argument that is not passed.
    let arguments = unpack.command.as_ref().unwrap();
    assert!(!arguments.iter().any(|argument| argument.contains("from-env")), "{arguments:?}");
    assert!(arguments.contains(&format!("--source-image={IMAGE}")), "{arguments:?}");
}

#[test]
fn with_an_image_volume_nothing_of_the_bundle_runs() {
    let pod = pod(&request(), &options(), Strategy::ImageVolume);
    assert_eq!(containers(&pod).count(), 1);
    assert_eq!(pod.containers[0].image.as_deref(), Some("registry.example/unlade-unpacker:0.1.0"));
    let volume = pod.volumes.as_ref().unwrap().iter().find(|volume| volume.image.is_some());
    assert_eq!(volume.unwrap().image.as_ref().unwrap().reference.as_deref(), Some(IMAGE));
}

/// The entry point of `unlade-opm` is `opm`.
#[test]
fn the_entry_point_of_the_tool_image_has_no_effect() {
    for strategy in BOTH {
        let pod = pod(&request(), &options(), strategy);
        let tool = "registry.example/unlade-unpacker:0.1.0";
        let container = containers(&pod).find(|container| container.image.as_deref() == Some(tool));
        let container = container.unwrap();
        assert_eq!(container.command.as_ref().unwrap()[0], "/unlade-unpacker");
        assert_eq!(container.args, None);
    }
}

#[test]
fn the_attempt_is_the_uid_of_the_job() {
    for strategy in BOTH {
        let pod = pod(&request(), &options(), strategy);
        let unpack = serde_json::to_value(&pod.containers[0]).unwrap();
        let words = unpack["command"].to_string();
        assert!(words.contains("--attempt=$(UNLADE_ATTEMPT)"), "{words}");
        let label = "metadata.labels['batch.kubernetes.io/controller-uid']";
        let expected = json!([{"name": "UNLADE_ATTEMPT",
            "valueFrom": {"fieldRef": {"fieldPath": label}}}]);
        assert_eq!(unpack["env"][0], expected[0]);
    }
}

/// `unpacker/tests/integration/environment.rs` shows why this is necessary.
#[test]
fn variables_of_the_bundle_image_that_its_c_library_reads_are_replaced() {
    let expected = [("GLIBC_TUNABLES", ""), ("MALLOC_TOP_PAD_", "131072")];
    let pod = pod(&request(), &options(), Strategy::Inject);
    let unpack = pod.containers.iter().find(|container| container.name == "unpack").unwrap();
    let variables: Vec<_> = unpack.env.iter().flatten().collect();
    let manifest = include_str!("../../../manifests/serve/inject/job.yaml");
    for (name, value) in expected {
        let own = variables.iter().find(|variable| variable.name == name).unwrap();
        assert_eq!(own.value.as_deref(), Some(value));
        let quoted = format!("- name: {name}\n              value: \"{value}\"\n");
        assert!(manifest.contains(&quoted), "{quoted}");
    }
}

#[test]
fn every_container_is_confined_and_has_a_memory_limit() {
    for strategy in BOTH {
        let pod = pod(&request(), &options(), strategy);
        let security = pod.security_context.as_ref().unwrap();
        assert_eq!(security.run_as_non_root, Some(true));
        assert_eq!(security.seccomp_profile.as_ref().unwrap().type_, "RuntimeDefault");
        for container in containers(&pod) {
            let security = container.security_context.as_ref().unwrap();
            assert_eq!(security.read_only_root_filesystem, Some(true));
            assert_eq!(security.allow_privilege_escalation, Some(false));
            let dropped = &security.capabilities.as_ref().unwrap().drop;
            assert_eq!(dropped.as_deref(), Some(["ALL".to_owned()].as_slice()));
            let resources = container.resources.as_ref().unwrap();
            assert!(resources.limits.as_ref().unwrap().contains_key("memory"));
            assert!(resources.requests.as_ref().unwrap().contains_key("cpu"));
        }
    }
}

#[test]
fn the_uid_is_fixed_only_where_a_bundle_image_runs_and_nobody_assigns_one() {
    use Strategy::{ImageVolume, Inject};
    let uid = |user, strategy, assigns_uids| {
        let mut options = options();
        options.pod.user = user;
        let request = request();
        let facts = Facts { assigns_uids, ..facts() };
        let job = Plan::new(&request, &options).unwrap().job(1, strategy, &facts);
        let security = job.spec.unwrap().template.spec.unwrap().security_context.unwrap();
        assert_eq!(security.run_as_user, security.run_as_group);
        assert_eq!(security.run_as_non_root, Some(true));
        security.run_as_user
    };
    for (user, strategy, assigns_uids, expected) in [
        (User::Auto, Inject, false, Some(65532)),
        (User::Auto, Inject, true, None),
        (User::Auto, ImageVolume, false, None),
        (User::Auto, ImageVolume, true, None),
        (User::Fixed(1001), Inject, true, Some(1001)),
        (User::Fixed(1001), ImageVolume, false, Some(1001)),
        (User::Unset, Inject, false, None),
        (User::Unset, ImageVolume, false, None),
    ] {
        assert_eq!(uid(user, strategy, assigns_uids), expected, "{user:?} {strategy:?}");
    }
    let namespace = |annotations: Value| -> Namespace {
        serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap()
    };
    assert!(assigns_uids(&namespace(json!({"openshift.io/sa.scc.uid-range": "1000/10"}))));
    assert!(!assigns_uids(&namespace(json!({"openshift.io/sa.scc.mcs": "s0:c1,c0"}))));
    assert!(!assigns_uids(&Namespace::default()));
}

#[test]
fn root_and_invalid_uids_are_errors() {
    for uid in [0, -1, i64::from(i32::MAX) + 1] {
        let mut options = options();
        options.pod.user = User::Fixed(uid);
        let failure = refusal(&request(), &options);
        assert_eq!(failure.reason, Reason::InvalidOption);
        assert!(failure.message.contains(&format!("uid {uid} is not allowed")), "{failure}");
    }
}

#[test]
fn tags_are_always_pulled_and_digests_only_if_missing() {
    let digest = format!("registry.example/any@sha256:{}", "0a".repeat(32));
    let policies = |tool: &str, image: &str, options: &Options| -> Value {
        let options = Options { tool_image: tool.into(), ..options.clone() };
        let request = Request::new(image, "olm");
        let pods = BOTH.map(|strategy| pod(&request, &options, strategy));
        let volume = pods[1].volumes.as_ref().unwrap().iter().find(|v| v.name == pod::BUNDLE);
        let volume = volume.unwrap().image.as_ref().unwrap().pull_policy.clone();
        let inject: Vec<_> = containers(&pods[0]).map(|c| c.image_pull_policy.clone()).collect();
        json!([inject, pods[1].containers[0].image_pull_policy, volume])
    };
    let (always, missing) = ("Always", "IfNotPresent");
    let plain = options();
    for (tool, image, expected) in [
        ("tool:1", "bundle:1", json!([[always, always], always, always])),
        ("tool:1", &digest, json!([[always, missing], always, missing])),
        (&digest, "bundle:1", json!([[missing, always], missing, always])),
        (&digest, "bundle", json!([[missing, always], missing, always])),
    ] {
        assert_eq!(policies(tool, image, &plain), expected, "{tool} {image}");
    }
    let mut given = options();
    given.pod.tool_pull_policy = Some(PullPolicy::Never);
    given.pod.bundle_pull_policy = Some(PullPolicy::IfNotPresent);
    let expected = json!([["Never", missing], "Never", missing]);
    assert_eq!(policies("tool:1", "bundle:1", &given), expected);
}

#[test]
fn all_objects_have_our_labels_and_those_of_the_user() {
    let mut options = options();
    options.pod.labels.insert("example.com/team".into(), "blue".into());
    options.pod.annotations.insert("example.com/why".into(), "a test".into());
    let objects = plan_objects(&request(), &options).unwrap();
    let template = objects[4]["spec"]["template"].clone();
    for object in objects.iter().chain([&template]) {
        let metadata = &object["metadata"];
        assert_eq!(metadata["annotations"]["example.com/why"], "a test", "{object}");
        assert_eq!(metadata["labels"]["example.com/team"], "blue", "{object}");
        for (key, value) in label::ours(NAME) {
            assert_eq!(metadata["labels"][key], value, "{object}");
        }
    }
    assert_eq!(objects[0]["metadata"]["annotations"][record::IMAGE], IMAGE);
    for proxy in ["labels", "annotations"] {
        assert_eq!(template["metadata"][proxy]["sidecar.istio.io/inject"], "false");
    }
    assert_eq!(template["metadata"]["annotations"]["linkerd.io/inject"], "disabled");
}

#[test]
fn the_config_map_owns_all_objects_and_has_the_given_owner() {
    let mut request = request();
    let owner = OwnerReference {
        api_version: "example.com/v1".into(),
        kind: "Catalog".into(),
        name: "community".into(),
        uid: "1234".into(),
        ..OwnerReference::default()
    };
    request.owner = Some(owner.clone());
    let options = options();
    let plan = Plan::new(&request, &options).unwrap();
    assert_eq!(plan.config_map().metadata.owner_references, Some(vec![owner]));
    let access = plan.access(&facts()).unwrap();
    let job = plan.job(3, Strategy::Inject, &facts());
    assert_eq!(job.metadata.name.as_deref(), Some("etcd-0-9-4-e1d7adc1aa359aeac13f-3"));
    for metadata in [
        access.service_account.metadata,
        access.role.metadata,
        access.role_binding.metadata,
        job.metadata,
    ] {
        let owners = serde_json::to_value(metadata.owner_references).unwrap();
        let expected = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": NAME,
            "uid": "4b7c6a3e", "controller": false, "blockOwnerDeletion": false}]);
        assert_eq!(owners, expected);
    }
}

#[test]
fn a_given_service_account_needs_no_objects() {
    let mut options = options();
    options.pod.service_account = Some("unpacker".into());
    let request = request();
    let plan = Plan::new(&request, &options).unwrap();
    assert_eq!(plan.access(&facts()), None);
    for strategy in BOTH {
        let pod = pod(&request, &options, strategy);
        assert_eq!(pod.service_account_name.as_deref(), Some("unpacker"));
        let tried = plan.pod_to_try(strategy, &Facts::default()).spec.unwrap();
        assert_eq!(tried.service_account_name.as_deref(), Some("unpacker"));
    }
}

#[test]
fn defaults_adapt_to_given_amounts_and_memory_is_always_limited() {
    for (given, requests, limits) in [
        (
            json!({"requests": {"memory": "1Gi"}, "limits": {"cpu": "2"}}),
            json!({"cpu": "10m", "memory": "1Gi"}),
            json!({"cpu": "2", "memory": "1Gi"}),
        ),
        (
            json!({"requests": {"memory": "64Mi"}}),
            json!({"cpu": "10m", "memory": "64Mi"}),
            json!({"memory": "256Mi"}),
        ),
        (
            json!({"limits": {"memory": "24Mi", "cpu": "5m"}}),
            json!({"cpu": "5m", "memory": "24Mi"}),
            json!({"cpu": "5m", "memory": "24Mi"}),
        ),
    ] {
        let mut options = options();
        options.pod.resources = Some(serde_json::from_value(given).unwrap());
        let pod = serde_json::to_value(pod(&request(), &options, Strategy::Inject)).unwrap();
        for containers in ["initContainers", "containers"] {
            let resources = &pod[containers][0]["resources"];
            assert_eq!((&resources["requests"], &resources["limits"]), (&requests, &limits));
        }
    }
}

#[test]
fn the_settings_of_the_pod_are_applied() {
    let mut options = options();
    options.pod.pull_secrets = vec!["first".into(), "second".into()];
    options.pod.node_selector.insert("zone".into(), "a".into());
    options.pod.priority_class = Some("low".into());
    options.pod.architectures = vec!["amd64".into()];
    options.pod.tolerations = Some(Vec::new());
    let resources = json!({"limits": {"memory": "1Gi"}});
    options.pod.resources = Some(serde_json::from_value(resources).unwrap());
    let mut request = request();
    request.encoding = Encoding::Gzip;
    for strategy in BOTH {
        let pod = serde_json::to_value(pod(&request, &options, strategy)).unwrap();
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "first"}, {"name": "second"}]));
        let nodes = json!({"kubernetes.io/os": "linux", "zone": "a"});
        assert_eq!(pod["nodeSelector"], nodes);
        assert_eq!(pod["priorityClassName"], "low");
        assert!(pod["affinity"]["nodeAffinity"].is_object());
        assert_eq!(pod["tolerations"], json!([]));
        let resources = &pod["containers"][0]["resources"];
        assert_eq!(resources["limits"], json!({"memory": "1Gi"}));
        assert_eq!(resources["requests"], json!({"cpu": "10m", "memory": "32Mi"}));
        assert!(pod["containers"][0].to_string().contains("--encoding=gzip"));
    }
}

#[test]
fn deadlines_and_retention_are_the_jobs() {
    let mut options = options();
    options.deadlines.schedule = Duration::from_secs(10);
    options.deadlines.pull = Duration::from_millis(20_500);
    options.deadlines.run = Duration::from_secs(30);
    options.retention.success = Duration::from_secs(7);
    let job = job(&request(), &options, Strategy::ImageVolume);
    let spec = job.spec.unwrap();
    assert_eq!(spec.active_deadline_seconds, Some(10 + 21 + 30 + 30));
    assert_eq!(spec.ttl_seconds_after_finished, Some(7));
    let words = spec.template.spec.unwrap().containers[0].command.clone().unwrap();
    assert!(words.contains(&"--deadline=27s".to_owned()), "{words:?}");
}

#[test]
fn the_same_launch_has_the_same_hash_and_another_one_another() {
    let (request, options) = (request(), options());
    let first = job(&request, &options, Strategy::Inject);
    let later = Plan::new(&request, &options).unwrap().job(7, Strategy::Inject, &facts());
    assert!(spec_hash::is_same(&first, &later));
    let volume = job(&request, &options, Strategy::ImageVolume);
    assert!(!spec_hash::is_same(&first, &volume));
    let mut other = options.clone();
    other.pod.priority_class = Some("low".into());
    assert!(!spec_hash::is_same(&first, &job(&request, &other, Strategy::Inject)));

    // Additions of a webhook or of a default are ignored. A Job without a hash is never the same.
    let mut mutated = first.clone();
    mutated.spec.as_mut().unwrap().template.spec.as_mut().unwrap().host_network = Some(true);
    assert!(spec_hash::is_same(&mutated, &first));
    mutated.metadata.annotations = None;
    assert!(!spec_hash::is_same(&mutated, &mutated));
}

#[test]
fn dry_runs_have_no_name_and_no_account_of_the_launch() {
    let (request, options) = (request(), options());
    let plan = Plan::new(&request, &options).unwrap();
    for strategy in BOTH {
        let tried = plan.pod_to_try(strategy, &Facts::default());
        let template = plan.job(1, strategy, &facts()).spec.unwrap().template;
        assert_eq!(tried.metadata.name, None);
        assert_eq!(tried.metadata.labels, template.metadata.unwrap().labels);
        let mut spec = template.spec.unwrap();
        assert_eq!(spec.service_account_name.take().as_deref(), Some(NAME));
        assert_eq!(tried.spec.unwrap(), spec);
        let job = plan.job_to_try(strategy, &Facts::default());
        assert_eq!((job.metadata.name, job.metadata.owner_references), (None, None));
    }
}

#[test]
fn names_are_derived_given_or_generated() {
    let (mut request, options) = (request(), options());
    assert_eq!(Plan::new(&request, &options).unwrap().name(), NAME);
    request.encoding = Encoding::Plain;
    assert_ne!(Plan::new(&request, &options).unwrap().name(), NAME);
    request.name = Name::Given("etcd".into());
    assert_eq!(Plan::new(&request, &options).unwrap().name(), "etcd");
    request.name = Name::Generated;
    let generated = || Plan::new(&request, &options).unwrap().name().to_owned();
    assert_ne!(generated(), generated());
    request.name = Name::Given("a".repeat(53));
    assert_eq!(refusal(&request, &options).reason, Reason::InvalidOption);
}

#[test]
fn invalid_requests_and_options_are_errors() {
    let failure = refusal(&Request::new("Etcd", "olm"), &options());
    assert_eq!(failure.reason, Reason::InvalidReference);
    assert!(failure.message.starts_with("\"Etcd\" is not a valid image reference"), "{failure}");

    let failure = refusal(&request(), &Options::new(""));
    assert_eq!(failure.reason, Reason::InvalidReference);
    assert!(failure.message.starts_with("the tool image \"\" is not a valid image"), "{failure}");

    let with = |change: &dyn Fn(&mut PodOptions)| {
        let mut options = options();
        change(&mut options.pod);
        options
    };
    let text = |text: &str| text.to_owned();
    for (words, options) in [
        ("the label", with(&|pod| pod.labels = [(text("a b"), text(""))].into())),
        ("the label", with(&|pod| pod.labels = [(text(label::UNPACK_REF), text("x"))].into())),
        (
            "the annotation",
            with(&|pod| pod.annotations = [(text(mark::ATTEMPT), text("x"))].into()),
        ),
        ("the node selector", with(&|pod| pod.node_selector = [(text("a"), text("b c"))].into())),
        ("excludes Linux", with(&|pod| pod.node_selector = [(text(OS), text("x"))].into())),
    ] {
        let failure = refusal(&request(), &options);
        assert_eq!(failure.reason, Reason::InvalidOption);
        assert!(failure.message.contains(words) && !failure.is_transient, "{failure}");
    }
}
