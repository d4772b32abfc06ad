//! Admission policies that change the pods of OLM's unpack Jobs. The Jobs are not changed, because
//! OLM would delete a changed Job.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use unlade_testbed::fault;
use unlade_tests::cluster::Namespace;

use crate::{PATIENCE, Stage};

/// Makes OLM unpack with its own images in these namespaces, because its flags apply to all
/// namespaces.
pub(crate) fn unpack_with_olms_own(stage: &Stage, namespaces: &[&Namespace<'_>]) {
    let [util, opm] = [&stage.olm.util, &stage.olm.opm];
    let expression = format!(
        r#"[JSONPatch{{op: "replace", path: "/spec/initContainers/0/image", value: "{util}"}},
            JSONPatch{{op: "replace", path: "/spec/containers/0/image", value: "{opm}"}}]"#
    );
    change(namespaces, &expression);
}

/// Removes the `-z`, which OLM 0.46 always passes, and OLM before 0.19 never passed.
pub(crate) fn unpack_plain(namespace: &Namespace<'_>) {
    let [path, flag] = ["/spec/containers/0/command/10", "-z"];
    let expression = format!(
        r#"[JSONPatch{{op: "test", path: "{path}", value: "{flag}"}},
            JSONPatch{{op: "remove", path: "{path}"}}]"#
    );
    change(&[namespace], &expression);
}

fn change(namespaces: &[&Namespace<'_>], expression: &str) {
    let [first, ..] = namespaces else { return };
    let names: Vec<_> = namespaces.iter().map(|namespace| namespace.name()).collect();
    let [mut policy, mut binding] = fault::mutating_policy(first.name(), "", "pods", "");
    policy["spec"]["mutations"] =
        json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]);
    let constraints = &mut policy["spec"]["matchConstraints"];
    constraints["resourceRules"][0]["operations"] = json!(["CREATE"]);
    constraints["objectSelector"] = json!({"matchLabels": {"olm.managed": "true"}});
    binding["spec"]["matchResources"]["namespaceSelector"] = json!({
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": names},
        ],
    });
    for object in [policy, binding] {
        first.apply_cluster_wide(&object);
    }
    // The policy takes effect after a moment. Then the API server refuses pods that the patch does
    // not fit.
    let probe = ["run", "probe", "--image=probe", "--labels=olm.managed=true", "--dry-run=server"];
    let end = Instant::now() + PATIENCE;
    while namespaces.iter().any(|namespace| namespace.kubectl(probe).is_ok()) {
        assert!(Instant::now() < end, "it never takes effect");
        thread::sleep(Duration::from_millis(500));
    }
}
