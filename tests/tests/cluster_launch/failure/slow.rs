//! Faults that Kubernetes itself takes long to notice. Only `cargo xtask test --all` runs these
//! tests.

use unlade_launcher::{Reason, Strategy};
use unlade_testbed::registry::{Answer, Fault};
use unlade_testbed::{Settings, Testbed};

use super::observer::Knows;
use super::{Case, run};
use crate::stage::Stage;

/// The last node, which is lost.
const LOST: usize = 1;

#[test]
#[ignore = "needs a testbed; slow: a node is missed after 50 s"]
fn cluster_a_lost_node_is_reported_before_any_deadline() {
    Stage::open_alone("failure-lost", async |stage| {
        let image = stage.push_example("lost").by_tag;
        let waiting = stage.push_waiting();
        let lose = async {
            let is_running = |pod: &k8s_openapi::api::core::v1::Pod| {
                pod.status.as_ref().is_some_and(|it| it.phase.as_deref() == Some("Running"))
            };
            let pods = kube::runtime::watcher::Config::default().labels("job-name=lost-1");
            stage.wait_for(pods, "the pod", is_running).await;
            let lose = || Testbed::open(&Settings::from_env()?)?.lose_node(LOST);
            tokio::task::spawn_blocking(lose).await.unwrap().unwrap();
        };
        let case = Case::new(stage, "lost", &image, Reason::NodeLost).passing().with(|options| {
            options.tool_image = waiting;
            options.strategy = Strategy::ImageVolume;
            options.pod.node_selector.insert("kubernetes.io/hostname".into(), "node1".into());
        });
        run([case.meddled(lose).known_by(Knows::Event("NodeNotReady"))]).await;
        stage.cluster.testbed().return_node(LOST).unwrap();
        stage.cluster.testbed().wait_until_ready().unwrap();
    });
}

#[test]
#[ignore = "needs a testbed; slow: the container runtime waits 30 s"]
fn cluster_a_registry_that_hangs_is_reported_before_any_deadline() {
    Stage::open("failure-hanging", async |stage| {
        let image = stage.push_example("always-hanging").by_tag;
        let fault = Fault::always(Answer::Hang);
        let testbed = stage.cluster.testbed();
        let _fault = testbed.fault_registry("launch/always-hanging", fault).unwrap();
        let hanging = Case::new(stage, "hanging", &image, Reason::RegistryFailing).passing();
        run([hanging]).await;
    });
}
