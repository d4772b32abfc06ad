//! Catalogs that OLM lets our image serve (`grpcPodConfig.extractContent`).

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use serde_json::{Value, json};
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer};
use unlade_testbed::fault;
use unlade_tests::cluster::Namespace;
use unlade_tests::shipped;

use crate::{PATIENCE, Stage, catalog, is};

const INTERVAL: Duration = Duration::from_millis(500);

/// Lets OLM serve packages with our image, and waits until the catalog-operator is connected to
/// them. The second time, the tag of the catalog's image moves, and OLM replaces the pod because it
/// polls the registry.
pub(crate) fn serve(stage: &Stage, namespace: &Namespace<'_>, packages: &[String]) {
    // No other test may move this tag.
    let tag = format!("olm/{}:1", namespace.name());
    let image = stage.cluster.push(&image(&packages.join("\n"), &[]), &tag);
    let (repository, _) = image.split_once('@').unwrap();
    let image = format!("{repository}:1");
    let mut source = source(catalog::NAME, &json!({"catalogDir": "/configs"}), &image);
    source["spec"]["updateStrategy"] = json!({"registryPoll": {"interval": "10s"}});
    let before = pods(namespace, catalog::NAME).first().map(ip);
    namespace.apply(&source);
    let is_new = |pod: &Value| is(pod, "Ready") && Some(ip(pod)) != before;
    let pod = wait(namespace, catalog::NAME, is_new);
    connect(namespace, catalog::NAME, &pod);
}

/// Waits until the catalog-operator is connected to the pod of a catalog.
fn connect(namespace: &Namespace<'_>, name: &str, pod: &Value) {
    let service = format!("{name}.{}.svc", namespace.name());
    Stage::resolve(&service, &ip(pod));
    catalog::wait_until_connected(namespace, name, &format!("{service}:50051"));
}

fn source(name: &str, extract: &Value, image: &str) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": name},
        "spec": {
            "sourceType": "grpc",
            "image": image,
            "grpcPodConfig": {"extractContent": extract, "securityContextConfig": "restricted"},
        },
    })
}

/// Returns an image of a catalog, with a cache.
fn image(catalog: &str, cache: &[Entry]) -> Image {
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new([Entry::file("configs/catalog.json", catalog)]));
    image.layers.push(Layer::new(cache.to_vec()));
    image
}

fn pods(namespace: &Namespace<'_>, name: &str) -> Vec<Value> {
    let mut pods = namespace.list("pods");
    pods.retain(|pod| pod["metadata"]["labels"]["olm.catalogSource"] == *name);
    pods
}

fn ip(pod: &Value) -> String {
    pod["status"]["podIP"].as_str().unwrap_or_default().to_owned()
}

/// Waits until a pod of the catalog meets the condition.
fn wait(namespace: &Namespace<'_>, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let pods = pods(namespace, name);
        if let Some(pod) = pods.iter().find(|pod| is_wanted(pod)) {
            return pod.clone();
        }
        assert!(Instant::now() < end, "{pods:#?}\n{}", namespace.dump());
        thread::sleep(INTERVAL);
    }
}

/// Builds the cache of a catalog with a program that has the arguments of `opm serve`.
fn build_cache(program: &mut Command, catalog: &str) -> Vec<Entry> {
    let directory = tempfile::tempdir().unwrap();
    let (configs, cache) = (directory.path().join("configs"), directory.path().join("cache"));
    fs::create_dir(&configs).unwrap();
    fs::write(configs.join("catalog.json"), catalog).unwrap();
    program.arg(&configs).arg("--cache-dir").arg(&cache).arg("--cache-only");
    let output = program.args(["--termination-log=/dev/null", "--pprof-addr="]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut entries = Vec::new();
    collect(&cache, "tmp/cache", &mut entries).unwrap();
    entries
}

fn collect(directory: &Path, name: &str, entries: &mut Vec<Entry>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, entries)?;
        } else {
            entries.push(Entry::file(name, fs::read(entry.path())?));
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_olm_serves_every_cache_with_our_image_under_pod_security_restricted() {
    let stage = Stage::open();
    let namespace = stage.cluster.namespace("olm-serving");
    namespace.apply(&fault::restricted(namespace.name()));
    let bundle =
        catalog::Bundle { version: "1.0.0", replaces: None, image: "registry.example/tea:1" };
    let package = catalog::package("tea", &[bundle]);
    let ours = build_cache(&mut Command::new(shipped::server()), &package);
    let opms = build_cache(Command::new(stage.olm.program("opm")).arg("serve"), &package);
    let other = build_cache(&mut Command::new(shipped::server()), &package.replace("tea", "cup"));
    let cached = json!({"catalogDir": "/configs", "cacheDir": "/tmp/cache"});
    let plain = json!({"catalogDir": "/configs"});
    let cases: [(&str, &Value, &[Entry], &str); 4] = [
        ("none", &plain, &[], "cache=disabled"),
        ("ours", &cached, &ours, "cache=used"),
        ("opms", &cached, &opms, "cache=written"),
        ("other", &cached, &other, "it belongs to another catalog"),
    ];
    for (name, extract, cache, expected) in cases {
        let image = stage.cluster.push(&image(&package, cache), &format!("olm/serving-{name}:1"));
        let mut source = source(name, extract, &image);
        source["spec"]["grpcPodConfig"]["memoryTarget"] = json!("32Mi");
        namespace.apply(&source);
        let pod = wait(&namespace, name, |pod| is(pod, "Ready"));
        assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0, "{name}: {pod:#}");
        let pod_name = pod["metadata"]["name"].as_str().unwrap();
        let log = namespace.kubectl(["logs", pod_name, "--container=registry-server"]).unwrap();
        assert!(log.contains(expected), "{name}: {log}");
        connect(&namespace, name, &pod);
    }
}

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server; slow: OLM polls a registry"]
fn cluster_olm_keeps_the_pod_of_a_catalog_that_did_not_change() {
    let stage = Stage::open();
    let namespace = stage.cluster.namespace("olm-polling");
    let bundle =
        catalog::Bundle { version: "1.0.0", replaces: None, image: "registry.example/tea:1" };
    serve(&stage, &namespace, &[catalog::package("tea", &[bundle])]);
    let name = |pod: &Value| pod["metadata"]["name"].clone();
    let before = name(&wait(&namespace, catalog::NAME, |pod| is(pod, "Ready")));
    // OLM starts a pod to compare the images, and deletes it.
    let update = || {
        let pods = namespace.list("pods");
        let label = "catalogsource.operators.coreos.com/update";
        pods.into_iter().find(|pod| pod["metadata"]["labels"][label] == catalog::NAME)
    };
    let until = |what: &str, is_reached: &dyn Fn() -> bool| {
        let end = Instant::now() + PATIENCE;
        while !is_reached() {
            assert!(Instant::now() < end, "{what}: {}", namespace.dump());
            thread::sleep(INTERVAL);
        }
    };
    until("no update pod", &|| update().is_some());
    until("the update pod stays", &|| update().is_none());
    assert_eq!(pods(&namespace, catalog::NAME).iter().map(name).collect::<Vec<_>>(), [before]);
}
