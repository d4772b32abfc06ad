//! A Job that does nothing, for comparison: the time from its creation until it is complete.

use std::time::Instant;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde_json::json;
use unlade_tests::olm::Unpack;

use crate::{
    Run,
    olm::{create, until_complete},
    stage::Stage,
};

/// Runs a Job with one container of our image, which prints its version.
pub(crate) async fn run(stage: &Stage<'_>, unpacker: &str, name: &str) -> Run {
    // The ConfigMap owns the Job, so the Job is deleted with it, as those of the other methods are.
    let unpack = Unpack { name, namespace: stage.namespace(), bundle: unpacker };
    let owner: ConfigMap = create(stage, unpack.config_map()).await;
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": stage.namespace(), "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner.uid().unwrap(),
        }]},
        "spec": {"backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "containers": [{"name": "nothing", "image": unpacker, "args": ["--version"]}],
        }}},
    });
    let start = Instant::now();
    let job: Job = create(stage, job).await;
    let created = start.elapsed();
    until_complete(stage, &job).await;
    let total = start.elapsed();
    Run { phases: vec![("Job created", created)], total, csv_name: String::new() }
}
