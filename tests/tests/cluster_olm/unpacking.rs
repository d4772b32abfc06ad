//! The results of OLM's unpack Job.

use serde_json::{Value, json};
use unlade_tests::cluster::Namespace;

use crate::{PATIENCE, Stage, catalog, is};

/// The label by which OLM finds its unpack Jobs. Our Jobs have it too.
pub(crate) const REF: &str = "operatorframework.io/bundle-unpack-ref";

/// Returns the install plan of the Subscription, once it exists.
pub(crate) fn wait_for_plan(namespace: &Namespace<'_>) -> Value {
    let subscription = catalog::wait(namespace, |subscription| {
        subscription["status"]["installPlanRef"]["name"].is_string()
    });
    assert!(!is(&subscription, "BundleUnpackFailed"), "{subscription:#}");
    let plan = subscription["status"]["installPlanRef"]["name"].as_str().unwrap();
    namespace.wait(&format!("installplan.operators.coreos.com/{plan}"), PATIENCE, |plan| {
        plan["status"]["plan"].is_array()
    })
}

/// Returns the kind and the name of every object that a plan installs.
pub(crate) fn steps(plan: &Value) -> Vec<[&str; 2]> {
    let steps = plan["status"]["plan"].as_array().unwrap();
    steps
        .iter()
        .map(|step| ["kind", "name"].map(|key| step["resource"][key].as_str().unwrap()))
        .collect()
}

/// Returns the `ConfigMap` that OLM's Job for this bundle has filled with our image. Checks that
/// the pod had only what OLM gives it.
pub(crate) fn config_map(stage: &Stage, namespace: &Namespace<'_>, bundle: &str) -> Value {
    let jobs = namespace.list("job");
    let of_bundle =
        |job: &&Value| job["spec"]["template"]["spec"]["initContainers"][1]["image"] == bundle;
    let job = jobs.iter().find(of_bundle).unwrap_or_else(|| panic!("{jobs:#?}"));
    assert!(is(job, "Complete"), "{job:#}");
    let name = job["metadata"]["labels"][REF].as_str().unwrap();
    let pods = namespace.list("pod");
    let of_job = |pod: &&Value| pod["metadata"]["labels"]["job-name"] == job["metadata"]["name"];
    let pods: Vec<_> = pods.iter().filter(of_job).collect();
    let [pod] = pods.as_slice() else { panic!("it was tried more than once: {pods:#?}") };
    let images =
        [&pod["spec"]["initContainers"][0]["image"], &pod["spec"]["containers"][0]["image"]];
    assert_eq!(images, [stage.ours, stage.ours]);
    assert_is_confined(pod);
    namespace.get(&format!("configmap/{name}")).unwrap()
}

/// Checks that the pod runs as the uid that OLM sets, with a read-only root file system, without
/// capabilities, and with no writable directories except those of the Job.
fn assert_is_confined(pod: &Value) {
    let context = json!({
        "runAsNonRoot": true,
        "runAsUser": 1001,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    assert_eq!(pod["spec"]["securityContext"], context);
    let of_all = |object: &Value, keys: [&str; 2]| -> Vec<Value> {
        keys.iter().flat_map(|key| object[key].as_array().unwrap().clone()).collect()
    };
    let containers = of_all(&pod["spec"], ["initContainers", "containers"]);
    assert_eq!(containers.len(), 3, "{pod:#}");
    for container in containers {
        let context = json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        });
        assert_eq!(container["securityContext"], context, "{pod:#}");
        for mount in container["volumeMounts"].as_array().unwrap() {
            let path = mount["mountPath"].as_str().unwrap();
            let account = "/var/run/secrets/kubernetes.io/serviceaccount";
            assert!(["/bundle", "/util", account].contains(&path), "{path}: {pod:#}");
        }
    }
    for status in of_all(&pod["status"], ["initContainerStatuses", "containerStatuses"]) {
        assert_eq!(status["state"]["terminated"]["exitCode"], 0, "{pod:#}");
        assert_eq!(status["user"]["linux"]["uid"], 1001, "{pod:#}");
    }
}

/// Returns the name of the bundle, as our loader reads it from the `ConfigMap`.
pub(crate) fn loaded_name(config_map: &Value) -> String {
    let config_map = unlade_config_map::ConfigMap::parse_json(config_map.to_string().as_bytes());
    let options = unlade_loader::Options::default();
    unlade_loader::load_config_maps(&[config_map.unwrap()], &options).unwrap().bundle.csv_name
}
