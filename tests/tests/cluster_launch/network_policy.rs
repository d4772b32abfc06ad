//! manifests/network-policy: the API server accepts it, and it allows everything that a launch
//! needs.
//!
//! A testbed does not enforce such policies. A filter on everything that the pods of one node send
//! imitates them.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use unlade_launcher::{Event, LaunchUpdate, Launcher, Options, Reason, Step};
use unlade_testbed::{fault, node_address};
use unlade_tests::manifest::Overlay;

use crate::BOTH;
use crate::stage::{PATIENCE, Stage, given};

const BASE: &str = "manifests/network-policy";

/// Returns the whole policy, as the API server has stored it.
fn applied(stage: &Stage<'_>, kustomization: &Value) -> Value {
    let overlay = Overlay::new(&kustomization.to_string());
    stage.kubectl(&["apply", "--kustomize", overlay.path()]);
    let policy = "networkpolicy/unlade-unpacker";
    stage.namespace.get(policy).unwrap()
}

fn with_api_server(cidr: &str, port: u16) -> Value {
    json!({
        "resources": [BASE],
        "components": [format!("{BASE}/api-server")],
        "configMapGenerator": [{
            "name": "api-server",
            "literals": [format!("cidr={cidr}"), format!("port={port}")],
            "options": {
                "disableNameSuffixHash": true,
                "annotations": {"config.kubernetes.io/local-config": "true"},
            },
        }],
    })
}

/// Returns an address at which pods cannot reach the API server.
fn other_address() -> String {
    format!("{}/32", node_address(0))
}

/// Returns the default options, with the node whose pods are filtered.
fn on_first_node(stage: &Stage<'_>) -> Options {
    let mut options = stage.options();
    for (label, value) in fault::on_node(0).as_object().unwrap() {
        options.pod.node_selector.insert(label.clone(), value.as_str().unwrap().to_owned());
    }
    options
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_the_network_policy_allows_exactly_what_a_launch_needs() {
    Stage::open_alone("launch-policy", async |stage| {
        let image = stage.push_example("policy").by_tag;
        let mut options = on_first_node(stage);
        // Without a policy, the launch succeeds, and both images are on the node afterwards.
        let mut request = stage.request(&image);
        request.name = given("before");
        stage.launch(&options, &request).await.0.unwrap();

        // On a testbed, the address of the Service is that of the API server.
        let api_server = with_api_server("10.96.0.1/32", 443);
        for (name, kustomization) in
            [("all", json!({"resources": [BASE]})), ("api-server", api_server)]
        {
            let policy = applied(stage, &kustomization);
            assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
            assert!(policy["spec"]["ingress"].is_null(), "{policy}");
            let _imitated = stage.cluster.testbed().imitate_egress(0, &policy).unwrap();
            for strategy in BOTH {
                options.strategy = strategy;
                request.name = given(&format!("{name}-{strategy:?}"));
                let launched = stage.launch(&options, &request).await.0;
                launched.unwrap_or_else(|failure| panic!("{name}, {strategy:?}: {failure:?}"));
            }
            // The policy selects the pods of the launch.
            let labels = policy["spec"]["podSelector"]["matchLabels"].as_object().unwrap();
            let labels: Vec<_> = labels
                .iter()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
                .collect();
            let selector = format!("--selector={}", labels.join(","));
            let all = stage.kubectl(&["get", "pods", "--output=name"]);
            assert_eq!(stage.kubectl(&["get", "pods", "--output=name", &selector]), all);
        }

        // Any other address is not enough.
        let policy = applied(stage, &with_api_server(&other_address(), 443));
        let imitated = stage.cluster.testbed().imitate_egress(0, &policy).unwrap();
        options.deadlines.run = Duration::from_secs(3);
        request.name = given("no-api-server");
        stage.launch(&options, &request).await.0.unwrap_err();
        drop(imitated);

        // A missing address is an error.
        let forgotten = json!({
            "resources": [BASE],
            "components": [format!("{BASE}/api-server")],
        });
        let forgotten = Overlay::new(&forgotten.to_string());
        let error = forgotten.try_build(stage.cluster.kubectl()).unwrap_err().to_string();
        assert!(error.contains("nothing selected by ConfigMap"), "{error}");
    });
}

#[test]
#[ignore = "needs a testbed; slow: the unpacker gives up after 90 s"]
fn cluster_a_policy_that_blocks_the_api_server_is_the_reported_reason() {
    Stage::open_alone("launch-cut-off", async |stage| {
        let image = stage.push_example("cut-off").by_tag;
        let mut options = on_first_node(stage);
        // The unpacker gives up when nine tenths of this time have passed, and a busy node needs
        // the rest to report it.
        options.deadlines.run = Duration::from_secs(100);
        let policy = applied(stage, &with_api_server(&other_address(), 443));
        let _imitated = stage.cluster.testbed().imitate_egress(0, &policy).unwrap();
        let reason = reason(stage, &options, &stage.request(&image)).await;
        assert_eq!(reason, Reason::ApiUnreachableFromPod);
    });
}

/// Returns the reason that a launch ends with, or that it reports before it retries.
async fn reason(
    stage: &Stage<'_>,
    options: &Options,
    request: &unlade_launcher::Request,
) -> Reason {
    let launcher = Launcher::new(stage.client.clone(), options.clone());
    let reasons =
        launcher.launch_with_updates(request.clone()).filter_map(async |update| match update {
            LaunchUpdate::Event(Event { step: Step::Retrying { failure, .. }, .. }) => {
                Some(failure.reason)
            }
            LaunchUpdate::Event(_) => None,
            LaunchUpdate::Ended(result) => Some(result.unwrap_err().reason),
        });
    let mut reasons = std::pin::pin!(reasons);
    tokio::time::timeout(PATIENCE, reasons.next()).await.unwrap().unwrap()
}
