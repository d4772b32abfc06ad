//! `unlade check --olm` and manifests/olm, with OLM's own catalog-operator.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unlade_oci::build::{Entry, Layer};
use unlade_tests::manifest::{self, OPM, Overlay, UNPACKER};
use unlade_tests::olm::Olm;

use crate::check::Checks;
use crate::stage::{PATIENCE, Stage};

/// The CustomResourceDefinitions are cluster-scoped, so only one test runs at a time.
static TURN: Mutex<()> = Mutex::new(());

const DEPLOYMENT: &str = include_str!("catalog-operator.yaml");
const DOCUMENT: &str = include_str!("../../../docs/olm.md");
const CATALOG_SOURCES: &str = "catalogsources.operators.coreos.com";

/// Runs a test with OLM's CustomResourceDefinitions.
fn open(test: &str, run: impl FnOnce(&Stage<'_>, &Olm)) {
    // Keep the lock until the CustomResourceDefinitions are being deleted.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Stage::open(test, |stage| {
        let olm = Olm::open(stage.cluster);
        run(stage, &olm);
    });
}

fn catalog_source(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": name},
        "spec": spec,
    })
}

fn extracting(image: &str) -> Value {
    let config = json!({"extractContent": {"catalogDir": "/configs"}});
    json!({"sourceType": "grpc", "image": image, "grpcPodConfig": config})
}

/// Returns the outcome and the message of `unlade check --olm` about the catalogs.
fn checked(stage: &Stage<'_>, more: &[&str]) -> [String; 2] {
    let checks = Checks::run(stage, &[&["--olm"], more].concat());
    let check = checks.check("olm", "extract-content");
    ["outcome", "message"].map(|field| check[field].as_str().unwrap().to_owned())
}

#[test]
#[ignore = "needs a testbed, OLM's programs"]
fn cluster_cli_check_finds_catalogs_that_opm_serves() {
    open("cli-olm-check", |stage, olm| {
        let crd = CATALOG_SOURCES;
        stage.cluster.kubectl().run(["delete", "crd", crd, "--ignore-not-found"]).unwrap();
        let expected = "no catalogs exist: the API server does not have OLM's kind CatalogSource";
        assert_eq!(checked(stage, &[]), ["skipped", expected]);

        olm.define_kinds(stage.cluster, &stage.namespace, |name| name == crd);
        let image = "registry.example/catalog:1";
        let plain = json!({"sourceType": "grpc", "image": image});
        stage.namespace.apply(&catalog_source("plain", &plain));
        let [outcome, message] = checked(stage, &[]);
        assert_eq!(outcome, "ok", "{message}");
        assert!(message.starts_with("none of 1 CatalogSources has "), "{message}");

        // In a namespace other than the one that is checked.
        let other = stage.cluster.namespace("cli-olm-other");
        other.apply(&catalog_source("extracting", &extracting(image)));
        let [outcome, message] = checked(stage, &[]);
        assert_eq!(outcome, "warning", "{message}");
        let name = format!("{}/extracting has grpcPodConfig.extractContent", other.name());
        assert!(message.starts_with(&name), "{message}");
        let text = stage.unlade(["check", "--olm"]).success();
        assert!(text.contains(&format!("\n\nolm\n---\n‼ {name}")), "{text}");
        // The command in the documentation finds the same.
        let jsonpath = DOCUMENT.split("jsonpath='").nth(1).unwrap().split('\'').next().unwrap();
        let output = format!("--output=jsonpath={jsonpath}");
        let found = stage.cluster.kubectl().run(["get", "catalogsources", "-A", &output]).unwrap();
        assert_eq!(found, format!("{}/extracting\n", other.name()));

        // One account can list CatalogSources in its namespace only, and the other one in none.
        let namespace = stage.namespace.name();
        for account in ["here", "nowhere"] {
            stage.kubectl(&["create", "serviceaccount", account]);
        }
        let list = ["--verb=list", &format!("--resource={CATALOG_SOURCES}")];
        stage.kubectl(&["create", "role", "here", list[0], list[1]]);
        let account = format!("--serviceaccount={namespace}:here");
        stage.kubectl(&["create", "rolebinding", "here", "--role=here", &account]);
        let user = |name: &str| format!("system:serviceaccount:{namespace}:{name}");
        let end = Instant::now() + PATIENCE;
        loop {
            let text = stage.unlade(["check", "--olm", "-o", "json", "--as", &user("here")]).stdout;
            if text.contains(&format!("none of 1 CatalogSources in the namespace {namespace} has "))
            {
                assert!(text.contains("other namespaces were not checked"), "{text}");
                break;
            }
            assert!(Instant::now() < end, "{text}");
        }
        let text = stage.unlade(["check", "--olm", "--as", &user("nowhere")]).stdout;
        let line = "\n‼ cannot check whether catalogs have grpcPodConfig.extractContent: listing ";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("resources: [catalogsources], verbs: [list]}"), "{text}");
    });
}

/// OLM's catalog-operator, which is patched and restored.
struct Switch<'s, 'c> {
    stage: &'s Stage<'c>,
    /// Its manifest as OLM has it.
    deployment: String,
    unpacker: String,
    opm: String,
}

impl Switch<'_, '_> {
    /// Applies the manifest with these components, and waits until it is in effect.
    fn apply(&self, components: &[&str]) {
        let overlay = self.overlay(&self.deployment, components);
        self.stage.kubectl(&["apply", "--kustomize", overlay.path()]);
        self.wait();
    }

    fn overlay(&self, deployment: &str, components: &[&str]) -> Overlay {
        let kustomization = json!({
            "namespace": self.stage.namespace.name(),
            "resources": ["catalog-operator.yaml"],
            "components": components,
            "images": manifest::images([(UNPACKER, &self.unpacker), (OPM, &self.opm)]),
        });
        let overlay = Overlay::new(&kustomization.to_string());
        overlay.write("catalog-operator.yaml", deployment);
        overlay
    }

    fn wait(&self) {
        let status = ["rollout", "status", "deployment/catalog-operator", "--timeout=300s"];
        self.stage.kubectl(&status);
    }

    /// Waits until the catalog's pod meets the condition, and returns it.
    fn catalog(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let selector = "--selector=olm.catalogSource=extracting";
            let text = self.stage.kubectl(&["get", "pods", selector, "--output=json"]);
            let list: Value = serde_json::from_str(&text).unwrap();
            let pods = list["items"].as_array().unwrap();
            if let Some(pod) = pods.iter().find(|pod| is_wanted(pod)) {
                return pod.clone();
            }
            assert!(Instant::now() < end, "{text}");
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

/// Returns the images of a catalog's pod: that of `copy-content`, and that of `opm serve`.
fn images(pod: &Value) -> [&str; 2] {
    let image = |containers: &str| pod["spec"][containers][0]["image"].as_str().unwrap();
    [image("initContainers"), image("containers")]
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_cli_the_manifests_switch_olm_over_and_back() {
    open("cli-olm-switch", |stage, olm| {
        olm.define_kinds(stage.cluster, &stage.namespace, |_| true);
        let namespace = stage.namespace.name();
        stage.kubectl(&["create", "serviceaccount", "olm-operator-serviceaccount"]);
        stage.namespace.apply_cluster_wide(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": namespace},
            "subjects": [{
                "kind": "ServiceAccount",
                "name": "olm-operator-serviceaccount",
                "namespace": namespace,
            }],
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
        }));
        let program = stage.cluster.push(&olm.image("catalog"), "olm/catalog:1");
        let deployment = [
            ("NAMESPACE", namespace),
            ("OPM", &olm.opm),
            ("UTIL", &olm.util),
            ("CATALOG", &program),
        ];
        let deployment = deployment
            .iter()
            .fold(DEPLOYMENT.to_owned(), |text, (from, to)| text.replace(from, to));
        let unpacker = stage.cluster.push_unpacker();
        let opm = stage.cluster.push_opm();
        let switch = Switch { stage, deployment, unpacker: unpacker.clone(), opm: opm.clone() };

        // A Deployment without a container of that name is refused.
        let other = switch.deployment.replace("- name: catalog-operator", "- name: other");
        let other = switch.overlay(&other, &["manifests/olm"]);
        let error = other.try_build(stage.cluster.kubectl()).unwrap_err().to_string();
        assert!(error.contains("/spec/template/spec/containers/0/"), "{error}");

        // A catalog that OLM serves itself. Its images are those of the flags.
        let package = json!({"schema": "olm.package", "name": "none", "defaultChannel": "a"});
        let bundle = "none.v1.0.0";
        let entries = json!([{"name": bundle}]);
        let channel =
            json!({"schema": "olm.channel", "package": "none", "name": "a", "entries": entries});
        let version = json!({"packageName": "none", "version": "1.0.0"});
        let bundle = json!({
            "schema": "olm.bundle",
            "package": "none",
            "name": bundle,
            "image": "registry.example/none:1.0.0",
            "properties": [{"type": "olm.package", "value": version}],
        });
        let catalog = format!("{package}\n{channel}\n{bundle}\n");
        let mut image = unlade_oci::build::Image::from_scratch(unlade_oci::Platform::host());
        let entry = Entry::file("configs/catalog.json", catalog.into_bytes());
        image.layers.push(Layer::new([entry]));
        let image = stage.cluster.push(&image, "olm/extracting:1");
        switch.apply(&[]);
        stage.namespace.apply(&catalog_source("extracting", &extracting(&image)));
        // The pod cannot start: the image has no `copy-content`, which is not built for testbeds.
        let before = switch.catalog(|_| true);
        assert_eq!(images(&before), [&*olm.util, &olm.opm]);

        // With both of ours, it is served. OLM's probes run `grpc_health_probe` of the image.
        let is_ready = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
        };
        switch.apply(&["manifests/olm"]);
        let serving = switch.catalog(|pod| images(pod) == [&*unpacker, &opm] && is_ready(pod));
        assert_eq!(serving["status"]["containerStatuses"][0]["restartCount"], 0, "{serving}");

        // Switch back, as the documentation says.
        stage.kubectl(&["rollout", "undo", "deployment/catalog-operator"]);
        switch.wait();
        let back = switch.catalog(|pod| images(pod) == [&*olm.util, &olm.opm]);
        assert_ne!(back["metadata"]["name"], before["metadata"]["name"]);

        // Without the manifest, as the documentation says.
        let patch = DOCUMENT.split("--patch='").nth(1).unwrap().split('\'').next().unwrap();
        let patch = patch.replace("=UNPACKER", &format!("={unpacker}"));
        let patch = format!("--patch={}", patch.replace("=OPM", &format!("={opm}")));
        stage.kubectl(&["patch", "deployment", "catalog-operator", "--type=json", &patch]);
        switch.wait();
        switch.catalog(|pod| images(pod) == [&*unpacker, &opm]);

        // Replace only one of the two images.
        switch.apply(&["manifests/olm/util-image"]);
        switch.catalog(|pod| images(pod) == [&*unpacker, &olm.opm]);

        // Switch back with OLM's own manifest, the other way in the documentation.
        switch.apply(&[]);
        switch.catalog(|pod| images(pod) == [&*olm.util, &olm.opm]);
        let deployment = stage.kubectl(&["get", "deployment/catalog-operator", "--output=json"]);
        let deployment: Value = serde_json::from_str(&deployment).unwrap();
        let template = deployment["spec"]["template"].to_string();
        assert!(!template.contains("UNLADE_"), "{template}");
    });
}
