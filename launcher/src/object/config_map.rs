//! The ConfigMap of a launch.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use unlade_config_map::protocol::record;

use super::Plan;

pub(super) fn config_map(plan: &Plan<'_>) -> ConfigMap {
    let mut annotations = plan.options.pod.annotations.clone();
    annotations.insert(record::IMAGE.to_owned(), plan.image.to_string());
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(plan.name.clone()),
            namespace: Some(plan.request.namespace.clone()),
            labels: Some(plan.labels()),
            annotations: Some(annotations),
            owner_references: plan.request.owner.clone().map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}
