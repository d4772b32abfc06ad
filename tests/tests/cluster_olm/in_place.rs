use std::sync::PoisonError;

use serde_json::Value;
use unlade_format::Limits;
use unlade_oci::Platform;
use unlade_oci::build::bundle;
use unlade_tests::cluster::Cluster;
use unlade_tests::example;
use unlade_tests::olm::Olm;

use crate::{PATIENCE, TESTS, TURN, UNPACK_REF, beside, catalog, is_complete, list};

#[test]
fn cluster_the_catalog_operator_unpacks_with_our_image_and_plans_the_installation() {
    let Some(cluster) = Cluster::open_testbed(TESTS) else { return };
    let Some(ours) = cluster.push_unpacker(TESTS) else { return };
    let Some(mut olm) = Olm::open(&cluster, TESTS) else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let namespace = cluster.namespace("olm-in-place");
    let image = bundle::image(&example(), Platform::host(), &Limits::default()).unwrap();
    let image = cluster.push(&image, "olm/hello-in-place:1");
    olm.util.clone_from(&ours);
    olm.opm.clone_from(&ours);
    beside::start(&cluster, &namespace, &olm);
    catalog::serve(&cluster, &namespace, &olm, &image);
    catalog::subscribe(&namespace);
    let subscription =
        namespace.wait("subscription.operators.coreos.com/hello", PATIENCE, |subscription| {
            subscription["status"]["installPlanRef"]["name"].is_string()
        });

    let jobs = list(&namespace, "job");
    let [job] = jobs.as_slice() else { panic!("{jobs:#?}") };
    assert!(is_complete(job), "{job:#}");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["initContainers"][0]["image"], ours.as_str());
    assert_eq!(pod["containers"][0]["image"], ours.as_str());

    let name = job["metadata"]["labels"][UNPACK_REF].as_str().unwrap();
    let config_map = namespace.get(&format!("configmap/{name}")).unwrap();
    let config_map = unlade_format::ConfigMap::parse_json(config_map.to_string().as_bytes());
    let loaded =
        unlade_loader::load_config_maps(&[config_map.unwrap()], &unlade_loader::Options::default());
    assert_eq!(loaded.unwrap().bundle.csv_name, "hello-operator.v0.2.0");

    let plan = subscription["status"]["installPlanRef"]["name"].as_str().unwrap();
    let plan =
        namespace.wait(&format!("installplan.operators.coreos.com/{plan}"), PATIENCE, |plan| {
            plan["status"]["plan"].is_array()
        });
    let steps: Vec<[&str; 2]> = plan["status"]["plan"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| ["kind", "name"].map(|key| step["resource"][key].as_str().unwrap()))
        .collect();
    for step in [
        ["ClusterServiceVersion", "hello-operator.v0.2.0"],
        ["CustomResourceDefinition", "greetings.hello.example.com"],
        ["ClusterRole", "hello-greeting-viewer"],
        ["ConfigMap", "hello-greetings"],
        ["Service", "hello-operator-metrics"],
        ["ServiceAccount", "hello-operator"],
    ] {
        assert!(steps.contains(&step), "{step:?}: {steps:?}");
    }
    let conditions = subscription["status"]["conditions"].as_array();
    let has_failed = |condition: &Value| condition["type"] == "BundleUnpackFailed";
    assert!(!conditions.into_iter().flatten().any(has_failed), "{subscription:#}");
    beside::stop(&namespace);
}
