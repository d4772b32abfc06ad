use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use unlade_bundle::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer, bundle};
use unlade_tests::cluster::Namespace;
use unlade_tests::example;

use crate::{PATIENCE, Stage, catalog, is, serving, unpacking};

const PACKAGE: &str = "hello-operator";
/// A static program that waits until it is killed; the testbed needs it.
const WAITING: &str = "/usr/bin/catatonit";

/// The CustomResourceDefinitions of the example are cluster-scoped, so only one test runs at a
/// time.
static TURN: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_olm_installs_and_upgrades_an_operator_through_our_image() {
    let mut names = ["before", "after"].into_iter();
    install_and_upgrade("olm-install", |stage, namespace, packages| {
        let address = catalog::serve(stage, namespace, names.next().unwrap(), packages);
        catalog::connect(namespace, &address);
    });
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server; slow: OLM polls a registry"]
fn cluster_olm_installs_and_upgrades_an_operator_from_a_catalog_that_our_image_serves() {
    install_and_upgrade("olm-served", serving::serve);
}

/// Installs a version of the example, and upgrades to another one. `serve` connects OLM to a
/// catalog with these packages.
fn install_and_upgrade(test: &str, mut serve: impl FnMut(&Stage, &Namespace<'_>, &[String])) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = Stage::open();
    let namespace = stage.cluster.namespace(test);
    namespace.apply_cluster_wide(&certificates());
    for [kind, name] in
        [["crd", "greetings.hello.example.com"], ["clusterrole", "hello-greeting-viewer"]]
    {
        namespace.takes_along(kind, name);
    }
    let dir = tempfile::tempdir().unwrap();
    write_older(dir.path());
    let newer = example();
    let versions = [("0.1.1", dir.path()), ("0.2.0", newer.as_path())];
    let [older, newer] = versions.map(|(version, path)| {
        // The bundle sets the name.
        stage.cluster.push(&operator(), &format!("{PACKAGE}:{version}"));
        let image = bundle::image(path, Platform::host(), &Limits::default()).unwrap();
        stage.cluster.push(&image, &format!("olm/hello-install:{version}"))
    });

    // The catalog has one version, which is installed.
    let first = catalog::Bundle { version: "0.1.1", replaces: None, image: &older };
    serve(&stage, &namespace, &[catalog::package(PACKAGE, &[first])]);
    let automatic =
        catalog::Subscription { package: PACKAGE, approval: "Automatic", unpack_timeout: None };
    automatic.apply(&namespace);
    assert_is_installed(&stage, &namespace, "0.1.1", &older);

    // The catalog gets another version, which replaces the first one.
    let first = catalog::Bundle { version: "0.1.1", replaces: None, image: &older };
    let second = catalog::Bundle { version: "0.2.0", replaces: Some("0.1.1"), image: &newer };
    serve(&stage, &namespace, &[catalog::package(PACKAGE, &[first, second])]);
    assert_is_installed(&stage, &namespace, "0.2.0", &newer);

    let gone = ["wait", "--for=delete", "--timeout=300s", &csv("0.1.1")];
    namespace.kubectl(gone).unwrap();
    assert_eq!(namespace.list("installplans.operators.coreos.com").len(), 2);
}

/// Waits until the operator runs, and checks how it was installed.
fn assert_is_installed(stage: &Stage, namespace: &Namespace<'_>, version: &str, image: &str) {
    let name = format!("{PACKAGE}.v{version}");
    let has_succeeded = |csv: &Value| csv["status"]["phase"] == "Succeeded";
    namespace.wait(&csv(version), PATIENCE, has_succeeded);
    let deployment = namespace.get(&format!("deployment/{PACKAGE}")).unwrap();
    assert!(is(&deployment, "Available"), "{deployment:#}");
    let operator = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(operator, &format!("hello.example.com/{PACKAGE}:{version}"));
    let subscription = catalog::wait(namespace, |subscription| {
        subscription["status"]["installedCSV"] == *name
            && subscription["status"]["state"] == "AtLatestKnown"
    });
    assert!(!is(&subscription, "BundleUnpackFailed"), "{subscription:#}");

    let config_map = unpacking::config_map(stage, namespace, image);
    assert_eq!(unpacking::loaded_name(&config_map), name);
    let plan = subscription["status"]["installPlanRef"]["name"].as_str().unwrap();
    let plan = format!("installplan.operators.coreos.com/{plan}");
    // The operator may run before OLM looks at the plan again.
    let plan = namespace.wait(&plan, PATIENCE, |plan| plan["status"]["phase"] == "Complete");
    assert_eq!(plan["spec"]["clusterServiceVersionNames"], json!([name]));
    assert!(is(&plan, "Installed"), "{plan:#}");
    let steps = unpacking::steps(&plan);
    for step in [
        ["ClusterServiceVersion", &name],
        ["CustomResourceDefinition", "greetings.hello.example.com"],
        ["ClusterRole", "hello-greeting-viewer"],
        ["ConfigMap", "hello-greetings"],
        ["Service", "hello-operator-metrics"],
        ["ServiceAccount", "hello-operator"],
    ] {
        assert!(steps.contains(&step), "{step:?}: {steps:?}");
    }
    for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
        let is_generated = |[found, step]: &[&str; 2]| *found == kind && step.starts_with(&name);
        assert!(steps.iter().any(is_generated), "{kind}: {steps:?}");
    }
}

fn csv(version: &str) -> String {
    format!("clusterserviceversion.operators.coreos.com/{PACKAGE}.v{version}")
}

/// Writes the example as it could have been one version earlier.
fn write_older(dir: &Path) {
    for directory in ["manifests", "metadata"] {
        fs::create_dir(dir.join(directory)).unwrap();
        for entry in fs::read_dir(example().join(directory)).unwrap() {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            let text = text.replace("  replaces: hello-operator.v0.1.1\n", "");
            let text = text.replace("0.2.0", "0.1.1");
            fs::write(dir.join(directory).join(entry.file_name()), text).unwrap();
        }
    }
}

/// Returns an image that starts like the image of the operator, and then only waits.
fn operator() -> Image {
    let program = Entry::copy("wait", WAITING).with_mode(0o755);
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new([program]));
    image.config.entrypoint = ["/wait", "-P", "--"].map(str::to_owned).into();
    image.config.user = Some("65532:65532".to_owned());
    image
}

/// Returns the CustomResourceDefinition of the API that the example requires.
fn certificates() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "certificates.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "names": {"kind": "Certificate", "plural": "certificates"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}
