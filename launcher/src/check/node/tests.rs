use serde_json::{Value, json};

use super::*;

fn node(architecture: &str, taints: &Value) -> Node {
    let labels = json!({
        "kubernetes.io/os": "linux", "kubernetes.io/arch": architecture, "zone": "a", "cores": "8",
    });
    let info = json!({
        "architecture": architecture, "bootID": "", "kernelVersion": "", "kubeProxyVersion": "",
        "containerRuntimeVersion": "containerd://2.1.3", "kubeletVersion": "", "machineID": "",
        "operatingSystem": "linux", "osImage": "", "systemUUID": "",
    });
    let node = json!({
        "metadata": {"name": "node0", "labels": labels},
        "spec": {"taints": taints},
        "status": {"nodeInfo": info},
    });
    serde_json::from_value(node).unwrap()
}

fn fits(pod: Value, taints: &Value) -> bool {
    let mut pod = pod;
    pod["containers"] = json!([]);
    let pod = serde_json::from_value(pod).unwrap();
    fit::split(&[node("amd64", taints)], &pod, &[]).1.is_empty()
}

#[test]
fn nodes_have_the_labels_that_the_pod_requires() {
    let none = &json!([]);
    assert!(fits(json!({}), none));
    assert!(fits(json!({"nodeSelector": {"kubernetes.io/os": "linux", "zone": "a"}}), none));
    assert!(!fits(json!({"nodeSelector": {"zone": "b"}}), none));
    assert!(!fits(json!({"nodeSelector": {"region": "a"}}), none));
}

#[test]
fn nodes_have_an_architecture_of_the_options() {
    let (nodes, pod) = ([node("amd64", &json!([]))], PodSpec::default());
    for (architectures, expected) in
        [(&[][..], true), (&["arm64", "amd64"], true), (&["arm64"], false)]
    {
        let architectures: Vec<_> = architectures.iter().map(|&it| it.to_owned()).collect();
        let (fitting, _) = fit::split(&nodes, &pod, &architectures);
        assert_eq!(!fitting.is_empty(), expected, "{architectures:?}");
    }
}

#[test]
fn taints_are_tolerated_as_by_the_scheduler() {
    let taint = |effect: &str| json!([{"key": "gpu", "value": "yes", "effect": effect}]);
    for (tolerations, effect, expected) in [
        (json!([]), "NoSchedule", false),
        (json!([]), "NoExecute", false),
        (json!([]), "PreferNoSchedule", true),
        (json!([{"operator": "Exists"}]), "NoSchedule", true),
        (json!([{"key": "gpu", "operator": "Exists"}]), "NoSchedule", true),
        (json!([{"key": "gpu", "operator": "Equal", "value": "yes"}]), "NoSchedule", true),
        (json!([{"key": "gpu", "value": "yes"}]), "NoSchedule", true),
        (json!([{"key": "gpu", "value": "no"}]), "NoSchedule", false),
        (json!([{"key": "tpu", "operator": "Exists"}]), "NoSchedule", false),
        (json!([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]), "NoSchedule", false),
        (json!([{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]), "NoSchedule", true),
    ] {
        let pod = json!({"tolerations": tolerations});
        assert_eq!(fits(pod, &taint(effect)), expected, "{tolerations} {effect}");
    }
}

#[test]
fn reasons_why_no_node_matches_are_counted() {
    let pod =
        serde_json::from_value(json!({"containers": [], "nodeSelector": {"zone": "b"}})).unwrap();
    let nodes = [node("amd64", &json!([])), node("arm64", &json!([]))];
    let [check] = &*judge(&nodes, &pod, &PodOptions::default(), None) else { panic!() };
    assert_eq!(check.outcome, Outcome::Failed);
    assert_eq!(
        check.message,
        "none of 2 nodes matches the requirements of the pod: 2 without the label zone=b"
    );
    let [check] = &*judge(&[], &pod, &PodOptions::default(), None) else { panic!() };
    assert_eq!(check.message, "none of 0 nodes matches the requirements of the pod");
}

#[test]
fn several_architectures_are_a_warning_unless_they_are_given() {
    let nodes = [node("amd64", &json!([])), node("arm64", &json!([]))];
    let outcome = |nodes: &[Node], wanted: &[&str]| {
        let nodes: Vec<_> = nodes.iter().collect();
        let wanted: Vec<_> = wanted.iter().map(|&it| it.to_owned()).collect();
        architecture(&nodes, &wanted).outcome
    };
    assert_eq!(outcome(&nodes, &[]), Outcome::Warning);
    assert_eq!(outcome(&nodes, &["amd64", "arm64"]), Outcome::Ok);
    assert_eq!(outcome(&nodes[..1], &[]), Outcome::Ok);
    assert_eq!(outcome(&[Node::default()], &[]), Outcome::Warning);
}

#[test]
fn old_runtimes_have_no_image_volumes() {
    for (runtime, expected) in [
        ("containerd://2.1.3", Some(true)),
        ("containerd://v2.1.0-rc.1", Some(true)),
        ("containerd://2.0.5", Some(false)),
        ("containerd://1.7.27", Some(false)),
        ("cri-o://1.31.0", Some(true)),
        ("cri-o://1.30.6", Some(false)),
        ("docker://27.0", None),
        ("containerd://", None),
        ("", None),
    ] {
        assert_eq!(has_volumes(runtime), expected, "{runtime}");
    }
    let mut node = node("amd64", &json!([]));
    assert_eq!(runtime(&[&node], Strategy::ImageVolume).outcome, Outcome::Ok);
    let info = node.status.as_mut().unwrap().node_info.as_mut().unwrap();
    info.container_runtime_version = "containerd://1.7.27".to_owned();
    assert_eq!(runtime(&[&node], Strategy::ImageVolume).outcome, Outcome::Failed);
    assert_eq!(runtime(&[&node], Strategy::Auto).outcome, Outcome::Warning);
    let newer = self::node("amd64", &json!([]));
    assert_eq!(runtime(&[&node, &newer], Strategy::ImageVolume).outcome, Outcome::Warning);
}
