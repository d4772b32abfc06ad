//! Others change, delete or use the objects of a launch.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota};
use kube::ResourceExt;
use unlade_launcher::{Event, Inventory, LaunchUpdate, Launcher, Options, Reason, Step};

use crate::stage::{Stage, given};

/// Returns the default options with a node selector that no node matches.
fn waiting(stage: &Stage<'_>) -> Options {
    let mut options = stage.options();
    options.pod.node_selector.insert("example.com/none".into(), "true".into());
    options
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_deadline_says_what_was_waited_for_and_the_next_launch_needs_no_help() {
    Stage::open("launch-deadline", async |stage| {
        let image = stage.push_example("deadline");
        let request = stage.request(&image.by_tag);
        let mut options = waiting(stage);
        options.deadlines.schedule = Duration::from_secs(30);
        let (failure, steps) = stage.launch(&options, &request).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.reason, Reason::Unschedulable, "{failure:?}");
        assert!(failure.message.starts_with("timed out after 30 s"), "{failure:?}");
        let is_told = |step: &Step| match step {
            Step::Waiting { failure } => failure.reason == Reason::Unschedulable,
            _ => false,
        };
        assert!(steps.iter().any(is_told), "{steps:?}");
        let launched = stage.launch(&stage.options(), &request).await.0.unwrap();
        assert!(launched.job.unwrap().ends_with("-2"));
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_running_job_is_adopted_unless_its_options_prevent_success_and_can_be_cancelled() {
    Stage::open("launch-adopted", async |stage| {
        let image = stage.push_example("adopted");
        let mut request = stage.request(&image.by_tag);
        request.name = given("adopted");
        let patient = waiting(stage);
        let cancelled = async {
            stage.wait_for_pod_of("adopted-1").await;
            let (adopted, steps) = stage.launch(&stage.options(), &request).await;
            assert_eq!(adopted.unwrap().job.as_deref(), Some("adopted-2"));
            assert!(steps.iter().any(|step| matches!(step, Step::Adopted { differs: true, .. })));
            let job: Job = stage.api().get("adopted-1").await.unwrap();
            let deadline = job.spec.unwrap().active_deadline_seconds;
            assert!(deadline > Some(60), "another's Job was ended: {deadline:?}");
            let launcher = Launcher::new(stage.client.clone(), stage.options());
            launcher.cancel(stage.namespace.name(), "adopted").await.unwrap()
        };
        let (first, cancelled) = futures::join!(stage.launch(&patient, &request), cancelled);
        assert_eq!(first.0.unwrap_err().reason, Reason::JobDeleted);
        // The other Job has written the ConfigMap, and may not be complete yet.
        assert_eq!(cancelled[0], "adopted-1");
        let launched = stage.launch(&stage.options(), &request).await.0.unwrap();
        assert_eq!(launched.strategy.map(|_| ()), Some(()));
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_permissions_are_repaired_and_objects_of_others_are_not_changed() {
    Stage::open("launch-rights", async |stage| {
        let image = stage.push_example("rights");
        let mut request = stage.request(&image.by_tag);
        request.name = given("rights");
        let options = stage.options();
        let first = stage.launch(&options, &request).await.0.unwrap();
        let broken = r#"--patch=[{"op":"replace","path":"/rules/0/verbs","value":["get"]}]"#;
        stage.kubectl(&["patch", "role", "rights", "--type=json", broken]);
        stage.kubectl(&["delete", "rolebinding", "rights"]);
        stage.launch(&options, &request).await.0.unwrap();

        // The ConfigMap is created again, and the objects of the old one still exist.
        let name = first.config_map.name_any();
        stage.kubectl(&["delete", "configmap", &name, "--cascade=orphan"]);
        let again = stage.launch(&options, &request).await.0.unwrap();
        assert_ne!(again.config_map.uid(), first.config_map.uid());
        let job = stage.api::<Job>().get(&again.job.unwrap()).await.unwrap();
        assert_eq!(job.owner_references()[0].uid, again.config_map.uid().unwrap());

        let inventory = Inventory::new(stage.client.clone());
        inventory.remove(stage.namespace.name(), "rights", false).await.unwrap();
        inventory.remove(stage.namespace.name(), "rights", false).await.unwrap();
        stage.wait_until_none::<ConfigMap>("rights").await;

        for (kind, name) in [("configmap", "theirs-1"), ("serviceaccount", "theirs-2")] {
            stage.kubectl(&["create", kind, name]);
            let mut request = stage.request(&image.by_tag);
            request.name = given(name);
            let failure = stage.launch(&options, &request).await.0.unwrap_err();
            assert_eq!(failure.reason, Reason::NameTaken, "{failure:?}");
        }
        let failure =
            inventory.remove(stage.namespace.name(), "theirs-1", false).await.unwrap_err();
        assert_eq!(failure.reason, Reason::NameTaken);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_full_quota_is_waited_for() {
    Stage::open("launch-quota", async |stage| {
        let image = stage.push_example("quota");
        let request = stage.request(&image.by_tag);
        let full = unlade_testbed::fault::quota(stage.namespace.name(), &["pods"]);
        stage.namespace.apply(&full);
        let is_counted = |quota: &ResourceQuota| {
            quota.status.as_ref().is_some_and(|status| status.hard.is_some())
        };
        stage.wait("full", is_counted).await;
        let launcher = Launcher::new(stage.client.clone(), stage.options());
        let mut updates = std::pin::pin!(launcher.launch_with_updates(request));
        let mut is_reported = false;
        loop {
            match updates.next().await.unwrap() {
                LaunchUpdate::Event(Event { step: Step::Waiting { failure }, .. })
                    if failure.reason == Reason::Quota && !is_reported =>
                {
                    is_reported = true;
                    stage.kubectl(&["delete", "quota", "full"]);
                }
                LaunchUpdate::Event(_) => {}
                LaunchUpdate::Ended(result) => {
                    result.unwrap();
                    break;
                }
            }
        }
        assert!(is_reported);
    });
}
