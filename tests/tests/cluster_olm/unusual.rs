//! Bundles with unusual images, up to the install plan.

use serde_json::Value;
use unlade_oci::build::{Entry, Image};
use unlade_testbed::fault;
use unlade_tests::cluster::Namespace;

use crate::{Stage, bundle, catalog, policy, unpacking};

/// The annotation with the encoding of a ConfigMap.
const ENCODING: &str = "olm.contentEncoding";

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_olm_plans_a_bundle_that_fits_only_compressed() {
    let stage = Stage::open();
    let namespace = stage.cluster.namespace("olm-large");
    // 64 objects of 32 KiB: twice as much as a ConfigMap can contain.
    let names: Vec<_> = (0..64).map(|number| format!("part-{number}")).collect();
    let text = |name: &str| format!("{name} of the greetings\n").repeat(32 * 1024 / 24);
    let mut files: Vec<_> = names
        .iter()
        .map(|name| (format!("manifests/{name}.yaml"), bundle::config_map(name, &text(name))))
        .collect();
    let n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    assert!(n_bytes > 3 << 19, "{n_bytes}");
    files.push((format!("manifests/{}", bundle::CSV), bundle::csv("large").to_string()));
    let (config_map, plan) = plan(&stage, &namespace, "large", &bundle::image("large", files));

    assert_eq!(config_map["metadata"]["annotations"][ENCODING], "gzip+base64");
    assert_eq!(config_map["data"], Value::Null);
    assert_eq!(config_map["binaryData"].as_object().unwrap().len(), names.len() + 1);
    let steps = unpacking::steps(&plan);
    assert_eq!(steps.len(), names.len() + 1);
    for name in &names {
        assert!(steps.contains(&["ConfigMap", name]), "{name}: {steps:?}");
    }
}

/// Upstream's `cpb` fails for this image, because it looks for the bundle below the working
/// directory.
#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_olm_plans_an_awkward_image_under_pod_security_restricted() {
    let stage = Stage::open();
    let namespace = stage.cluster.namespace("olm-awkward");
    namespace.apply(&fault::restricted(namespace.name()));
    let csv = bundle::csv("awkward").to_string();
    let mut image = bundle::with_entries([
        Entry::file("metadata/annotations.yaml", bundle::annotations("awkward", "deploy/olm/")),
        Entry::file("deploy/olm/csv.yaml", csv),
        Entry::file("deploy/olm/.hidden", bundle::config_map("hidden", "")),
        Entry::link("deploy/olm/linked.yaml", ".hidden"),
        // Upstream's `cpb` would use this file: the last one with this name.
        Entry::file("zzz/annotations.yaml", bundle::annotations("other", "zzz/")),
        Entry::file("zzz/csv.yaml", bundle::csv("other").to_string()),
        Entry::file("manifests/csv.yaml", bundle::csv("third").to_string()),
        Entry::file("evil.so", "not a library"),
    ]);
    image.config.env = [
        "LD_PRELOAD=/evil.so",
        "LD_LIBRARY_PATH=/",
        "HTTPS_PROXY=http://127.0.0.1:9",
        "HTTP_PROXY=http://127.0.0.1:9",
        "KUBECONFIG=/zzz/annotations.yaml",
        "SSL_CERT_FILE=/evil.so",
        "RUST_LOG=trace",
        "PATH=/zzz",
        "HOME=/zzz",
    ]
    .map(str::to_owned)
    .into();
    image.config.working_dir = Some("/zzz".to_owned());
    image.config.entrypoint = vec!["/zzz/no-such-program".to_owned()];
    image.config.command = vec!["--no-such-flag".to_owned()];
    let (config_map, plan) = plan(&stage, &namespace, "awkward", &image);

    let keys: Vec<_> = config_map["binaryData"].as_object().unwrap().keys().collect();
    assert_eq!(keys, [".hidden", "csv.yaml", "linked.yaml"]);
    assert_eq!(unpacking::steps(&plan)[0], ["ClusterServiceVersion", "awkward.v1.0.0"]);
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_olm_plans_a_bundle_from_a_config_map_that_is_not_compressed() {
    let stage = Stage::open();
    let namespace = stage.cluster.namespace("olm-plain");
    policy::unpack_plain(&namespace);
    let csv = bundle::csv("plain").to_string();
    let image = bundle::image("plain", [(format!("manifests/{}", bundle::CSV), csv.clone())]);
    let (config_map, plan) = plan(&stage, &namespace, "plain", &image);

    assert_eq!(config_map["metadata"]["annotations"][ENCODING], Value::Null);
    assert_eq!(config_map["binaryData"], Value::Null);
    assert_eq!(config_map["data"][bundle::CSV], csv);
    assert_eq!(unpacking::steps(&plan), [["ClusterServiceVersion", "plain.v1.0.0"]]);
}

/// Makes OLM plan the installation, which nobody approves. Returns the `ConfigMap` and the plan.
fn plan(stage: &Stage, namespace: &Namespace<'_>, package: &str, image: &Image) -> (Value, Value) {
    let image = stage.cluster.push(image, &format!("olm/{package}:1"));
    let bundle = catalog::Bundle { version: bundle::VERSION, replaces: None, image: &image };
    let packages = [catalog::package(package, &[bundle])];
    let address = catalog::serve(stage, namespace, "catalog", &packages);
    catalog::connect(namespace, &address);
    catalog::Subscription { package, approval: "Manual", unpack_timeout: None }.apply(namespace);
    let plan = unpacking::wait_for_plan(namespace);
    let config_map = unpacking::config_map(stage, namespace, &image);
    assert_eq!(unpacking::loaded_name(&config_map), format!("{package}.v{}", bundle::VERSION));
    (config_map, plan)
}
