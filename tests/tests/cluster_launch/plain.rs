//! `launch_bundle_image`, the function of the original design.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use unlade_config_map::mark;
use unlade_launcher::launch_bundle_image;
use unlade_testbed::fault;

use crate::stage::Stage;

#[test]
#[ignore = "needs a testbed"]
fn cluster_launch_bundle_image_returns_at_once_and_the_bundle_is_unpacked() {
    Stage::open("launch-plain", async |stage| {
        let image = stage.push_example("plain");
        let launch = || {
            let client = stage.client.clone();
            let tool = stage.options().tool_image;
            let namespace = stage.namespace.name().to_owned();
            let image = image.by_tag.clone();
            async move { launch_bundle_image(client, &image, &tool, &namespace).await.unwrap() }
        };
        let (config_map, job) = launch().await;
        let (other, other_job) = launch().await;
        assert!(config_map.name_any().starts_with("bundle-image-"));
        assert!(job.name_any().starts_with("deploy-bundle-image-"));
        assert_ne!(config_map.name_any(), other.name_any());
        assert_ne!(job.name_any(), other_job.name_any());
        assert!(config_map.data.is_none());
        let is_filled =
            |config_map: &ConfigMap| config_map.annotations().contains_key(mark::ATTEMPT);
        let filled: ConfigMap = stage.wait(&config_map.name_any(), is_filled).await;
        assert_eq!(filled.annotations()[mark::ATTEMPT], job.uid().unwrap());
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_plain_call_that_fails_leaves_nothing() {
    Stage::open("launch-half", async |stage| {
        let image = stage.push_example("half");
        let name = stage.namespace.name();
        for object in fault::denying_policy(name, "batch", "jobs", "no Jobs here") {
            stage.namespace.apply_cluster_wide(&object);
        }
        stage.wait_until_denied(name, &crate::stage::job()).await;
        let tool = stage.options().tool_image;
        let launched = launch_bundle_image(stage.client.clone(), &image.by_tag, &tool, name).await;
        let failure = launched.unwrap_err();
        assert!(failure.to_string().contains("no Jobs here"), "{failure:?}");
        stage.wait_until_none::<ConfigMap>("bundle-image-").await;
        stage.wait_until_none::<ServiceAccount>("bundle-image-").await;
        stage.wait_until_none::<Role>("bundle-image-").await;
        stage.wait_until_none::<RoleBinding>("bundle-image-").await;
        assert!(stage.list::<Job>().await.is_empty());
    });
}
