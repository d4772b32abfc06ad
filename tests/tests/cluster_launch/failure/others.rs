//! Interference by others: they delete the objects of a launch, change them, or remove its pod.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use unlade_launcher::{Launcher, Options, Reason, Strategy};

use super::observer::Knows;
use super::{Case, run};
use crate::stage::Stage;

/// Selects no node, so that the launch waits.
fn waiting(options: &mut Options) {
    options.pod.node_selector.insert("example.com/none".into(), "true".into());
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_changes_of_others_to_the_objects_are_reported_before_any_deadline() {
    Stage::open("failure-meddled", async |stage| {
        let image = stage.push_example("meddled").by_tag;
        let case = |name, reason| Case::new(stage, name, &image, reason).with(waiting);
        let launcher = Launcher::new(stage.client.clone(), stage.options());
        let ended = stage.cluster.namespace("failure-ended");
        let made = |name: &'static str| async move {
            stage.wait_for_pod_of(&format!("{name}-1")).await;
        };
        let background = DeleteParams::background;
        let cases = [
            case("no-job", Reason::JobDeleted).meddled(async {
                made("no-job").await;
                stage.api::<Job>().delete("no-job-1", &background()).await.unwrap();
            }),
            case("cancelled", Reason::JobDeleted).meddled(async {
                made("cancelled").await;
                launcher.cancel(stage.namespace.name(), "cancelled").await.unwrap();
            }),
            case("no-map", Reason::ConfigMapDeleted).meddled(async {
                made("no-map").await;
                stage.api::<ConfigMap>().delete("no-map", &background()).await.unwrap();
            }),
            case("new-map", Reason::ConfigMapDeleted).meddled(async {
                made("new-map").await;
                let api = stage.api::<ConfigMap>();
                let mut recreated = api.get("new-map").await.unwrap();
                recreated.metadata.resource_version = None;
                recreated.metadata.uid = None;
                api.delete("new-map", &background()).await.unwrap();
                api.create(&kube::api::PostParams::default(), &recreated).await.unwrap();
            }),
            case("immutable", Reason::ConfigMapImmutable).meddled(async {
                made("immutable").await;
                let patch = Patch::Merge(json!({"immutable": true}));
                let params = PatchParams::default();
                stage.api::<ConfigMap>().patch("immutable", &params, &patch).await.unwrap();
            }),
            case("ended", Reason::Namespace).within(ended.name()).meddled(async {
                let jobs: Api<Job> = Api::namespaced(stage.client.clone(), ended.name());
                let exists = |job: Option<&Job>| job.is_some();
                kube::runtime::wait::await_condition(jobs, "ended-1", exists).await.unwrap();
                let api: Api<Namespace> = Api::all(stage.client.clone());
                api.delete(ended.name(), &background()).await.unwrap();
            }),
        ];
        run(cases).await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_an_evicted_pod_is_reported_before_any_deadline() {
    Stage::open("failure-evicted", async |stage| {
        let image = stage.push_example("evicted").by_tag;
        let waiting = stage.push_waiting();
        let evict = async {
            let is_running = |pod: &Pod| {
                pod.status.as_ref().is_some_and(|it| it.phase.as_deref() == Some("Running"))
            };
            let pods = kube::runtime::watcher::Config::default().labels("job-name=evicted-1");
            let pod = stage.wait_for(pods, "the pod", is_running).await.name_any();
            stage.api::<Pod>().evict(&pod, &EvictParams::default()).await.unwrap();
        };
        run([Case::new(stage, "evicted", &image, Reason::Evicted)
            .passing()
            .with(|options| {
                options.tool_image = waiting;
                options.strategy = Strategy::ImageVolume;
            })
            .meddled(evict)
            .known_by(Knows::Pod(|pod| {
                let conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
                conditions.into_iter().any(|it| it.type_ == "DisruptionTarget")
            }))])
        .await;
    });
}
