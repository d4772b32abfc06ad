//! The static unpacker fills ConfigMaps on a cluster, from Jobs that are written by hand: injected
//! into the bundle's own image, and with the bundle as an image volume. Each under Pod Security
//! `restricted`, with a read-only root.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use unlade_format::encode::Options;
use unlade_format::{ConfigMap, Content, Directory, File, Limits, decode, encode};
use unlade_testbed::archive::{Entry, write};
use unlade_testbed::fault;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::corpus::{self, Sample};
use unlade_tests::left_out;

/// Names the static unpacker; `cargo xtask test --cluster` builds it and sets this.
const UNPACKER: &str = "UNLADE_UNPACKER";

/// How many bundles of the corpus are unpacked, the largest among them.
const N_BUNDLES: usize = 20;

const PATIENCE: Duration = Duration::from_mins(4);

/// A bundle under test.
struct Bundle {
    /// A name that objects can have.
    name: String,
    content: Content,
    image: String,
}

/// What an image needs to exist: where it is built and pushed from.
struct Images<'c> {
    cluster: &'c Cluster,
    folder: tempfile::TempDir,
}

impl Images<'_> {
    /// The image with our program.
    fn unpacker(&self, program: &Path) -> String {
        let config = json!({"Entrypoint": ["/unlade-unpacker"], "User": "1001:1001"});
        let files = [Entry::program("unlade-unpacker", program).unwrap()];
        self.push("tools/unlade-unpacker", &config, &files)
    }

    /// An image with a bundle; most published ones are from scratch and have nothing else.
    fn bundle(&self, name: &str, files: &[File], config: &Value, others: Vec<Entry>) -> String {
        let path = |file: &File| format!("{}/{}", file.directory, file.name);
        let entry = |file: &File| entry(&path(file), &file.bytes);
        let entries: Vec<Entry> = files.iter().map(entry).chain(others).collect();
        self.push(&format!("bundles/{name}"), config, &entries)
    }

    fn push(&self, repository: &str, config: &Value, files: &[Entry]) -> String {
        let archive = self.folder.path().join("image.tar");
        write(&archive, "unlade.test/image:1", config, files).unwrap();
        self.cluster.testbed().push(&archive, &format!("{repository}:1")).unwrap()
    }
}

fn entry(path: &str, bytes: &[u8]) -> Entry {
    Entry { path: path.to_owned(), mode: 0o755, bytes: bytes.to_vec() }
}

/// The bundle of our own.
fn example() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello-operator");
    let mut files = Vec::new();
    for directory in [Directory::Manifests, Directory::Metadata] {
        for file in fs::read_dir(root.join(directory.to_string())).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push(File { directory, name, bytes: fs::read(path).unwrap() });
        }
    }
    files
}

/// Bundle images that try what an image can do to a program that runs in it.
fn awkward() -> Vec<(&'static str, Value, Vec<Entry>)> {
    let hostile = [
        "HTTPS_PROXY=http://127.0.0.1:9",
        "HTTP_PROXY=http://127.0.0.1:9",
        "KUBECONFIG=/hostile",
        "KUBERNETES_SERVICE_HOST=127.0.0.1",
        "LD_PRELOAD=/hostile.so",
        "LD_LIBRARY_PATH=/lib",
        "SSL_CERT_FILE=/hostile.pem",
        "TOKIO_WORKER_THREADS=0",
    ];
    let names = vec![
        entry("etc/nsswitch.conf", b"hosts: hostile files dns\npasswd: hostile\n"),
        entry("etc/hosts", b"127.0.0.1 kubernetes.default kubernetes.default.svc\n"),
        entry("lib/x86_64-linux-gnu/libnss_hostile.so.2", b"not a library"),
        entry("lib/x86_64-linux-gnu/libc.so.6", b"not a library"),
        entry("hostile.so", b"not a library"),
    ];
    let broken = vec![entry("bin/cp", b"broken"), entry("bin/sh", b"broken")];
    vec![
        ("broken-cp", json!({"Entrypoint": ["/bin/cp"], "Cmd": ["a", "b"]}), broken),
        ("workdir", json!({"WorkingDir": "/no/such/place"}), Vec::new()),
        ("environment", json!({"Env": hostile, "Entrypoint": ["/hostile"]}), names),
        ("user-number", json!({"User": "0:0"}), Vec::new()),
        ("user-name", json!({"User": "nobody"}), Vec::new()),
    ]
}

/// The bundles of the corpus that are unpacked: spread over it, and the largest.
fn samples() -> Vec<(String, Vec<File>)> {
    let size = |files: &[File]| files.iter().map(|file| file.bytes.len()).sum::<usize>();
    let real = corpus::samples().into_iter().filter(|sample| !sample.is_crafted());
    let mut all: Vec<(String, Vec<File>)> =
        real.map(|sample: Sample| (sample.name.clone(), sample.files())).collect();
    let largest = all.iter().enumerate().max_by_key(|(_, (_, files))| size(files));
    let Some((largest, _)) = largest else { return Vec::new() };
    let mut chosen = vec![all.swap_remove(largest)];
    let step = (all.len() / (N_BUNDLES - 1)).max(1);
    chosen.extend(all.into_iter().step_by(step).take(N_BUNDLES - 1));
    chosen
}

fn security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
        "runAsNonRoot": true,
        "runAsUser": 1001,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

fn job(name: &str, pod: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    })
}

/// Our program is copied beside the bundle and runs in its image.
fn inject(bundle: &Bundle, unpacker: &str) -> Value {
    let name = format!("{}-inject", bundle.name);
    let mounts = json!([{"name": "tool", "mountPath": "/tool"}]);
    job(
        &name,
        &json!({
            "restartPolicy": "Never",
            "initContainers": [{
                "name": "install",
                "image": unpacker,
                "args": ["install", "/tool"],
                "volumeMounts": mounts,
                "securityContext": security(),
            }],
            "containers": [{
                "name": "serve",
                "image": bundle.image,
                "command": ["/tool/unlade-unpacker", "serve", "--bundle", name],
                "volumeMounts": mounts,
                "securityContext": security(),
            }],
            "volumes": [{"name": "tool", "emptyDir": {}}],
        }),
    )
}

/// Our program runs in its own image, with the bundle mounted.
fn mount(bundle: &Bundle, unpacker: &str) -> Value {
    let name = format!("{}-mount", bundle.name);
    job(
        &name,
        &json!({
            "restartPolicy": "Never",
            "containers": [{
                "name": "serve",
                "image": unpacker,
                "args": ["serve", "--bundle", format!("/bundle={name}")],
                "volumeMounts": [{"name": "bundle", "mountPath": "/bundle"}],
                "securityContext": security(),
            }],
            "volumes": [{"name": "bundle", "image": {"reference": bundle.image}}],
        }),
    )
}

fn object(kind: &str, version: &str, name: &str, mut rest: Value) -> Value {
    rest["apiVersion"] = json!(version);
    rest["kind"] = json!(kind);
    rest["metadata"] = json!({"name": name});
    rest
}

/// Lets the pods of a namespace fill these ConfigMaps and no others.
fn rights(namespace: &str, config_maps: &[String]) -> Vec<Value> {
    let version = "rbac.authorization.k8s.io/v1";
    let rule = json!({
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": config_maps,
        "verbs": ["get", "update"],
    });
    let reference =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "unpack"});
    let pods = json!({"kind": "ServiceAccount", "name": "default", "namespace": namespace});
    let binding = json!({"roleRef": reference, "subjects": [pods]});
    vec![
        object("Role", version, "unpack", json!({"rules": [rule]})),
        object("RoleBinding", version, "unpack", binding),
    ]
}

/// The static unpacker, or a word that it is missing.
fn unpacker() -> Option<PathBuf> {
    let path = std::env::var_os(UNPACKER).map(PathBuf::from).filter(|path| path.is_file());
    if path.is_none() {
        left_out::say("the unpacker on a cluster", &format!("{UNPACKER} names no file"));
    }
    path
}

/// The ConfigMap is what the local way makes of the bundle, and loads as the same content.
fn assert_filled(namespace: &Namespace<'_>, name: &str, content: &Content) {
    let filled = namespace.get(&format!("configmap/{name}")).unwrap();
    let filled = ConfigMap::from_json(filled).unwrap();
    let local = namespace.name().to_owned();
    let options = Options { name: name.to_owned(), namespace: local, ..Options::default() };
    let [local] = encode(content, &options).unwrap().try_into().unwrap();
    assert_eq!(filled.data, local.data, "{name}");
    assert_eq!(filled.binary_data, local.binary_data, "{name}");
    for (key, value) in &local.metadata.annotations {
        assert_eq!(filled.metadata.annotations.get(key), Some(value), "{name}: {key}");
    }
    let decoded = decode(&[filled], &Limits::default()).unwrap();
    assert_eq!(&decoded.content, content, "{name}");
}

#[test]
fn cluster_bundles_of_the_corpus_are_unpacked_both_ways() {
    let Some(cluster) = Cluster::open_testbed("the unpacker on a cluster") else { return };
    let Some(program) = unpacker() else { return };
    let samples = samples();
    if samples.is_empty() {
        return;
    }
    let namespace = cluster.namespace("unpack");
    namespace.apply(&fault::restricted(namespace.name()));
    let images = Images { cluster: &cluster, folder: tempfile::tempdir().unwrap() };
    let unpacker = images.unpacker(&program);
    let bundles: Vec<Bundle> = samples
        .into_iter()
        .enumerate()
        .map(|(number, (sample, files))| {
            let name = format!("bundle-{number}");
            let image = images.bundle(&name, &files, &json!({}), Vec::new());
            eprintln!("{name} is {sample}");
            let content = Content::assemble(files, &Limits::default()).unwrap().content;
            Bundle { name, content, image }
        })
        .collect();

    assert_unpacked(&namespace, &bundles, &unpacker);
}

#[test]
fn cluster_a_bundle_in_an_awkward_image_is_unpacked_both_ways() {
    let Some(cluster) = Cluster::open_testbed("the unpacker on a cluster") else { return };
    let Some(program) = unpacker() else { return };
    let namespace = cluster.namespace("awkward");
    namespace.apply(&fault::restricted(namespace.name()));
    let images = Images { cluster: &cluster, folder: tempfile::tempdir().unwrap() };
    let unpacker = images.unpacker(&program);
    let files = example();
    let content = Content::assemble(files.clone(), &Limits::default()).unwrap().content;
    let bundle = |(name, config, others): (&str, Value, Vec<Entry>)| Bundle {
        name: name.to_owned(),
        content: content.clone(),
        image: images.bundle(name, &files, &config, others),
    };
    let bundles: Vec<Bundle> = awkward().into_iter().map(bundle).collect();
    assert_unpacked(&namespace, &bundles, &unpacker);
}

/// Unpacks every bundle both ways at once.
fn assert_unpacked(namespace: &Namespace<'_>, bundles: &[Bundle], unpacker: &str) {
    let names = |bundle: &Bundle| ["inject", "mount"].map(|way| format!("{}-{way}", bundle.name));
    let config_maps: Vec<String> = bundles.iter().flat_map(names).collect();
    let mut objects = rights(namespace.name(), &config_maps);
    let empty = |name: &String| object("ConfigMap", "v1", name, json!({}));
    objects.extend(config_maps.iter().map(empty));
    objects.extend(bundles.iter().map(|bundle| inject(bundle, unpacker)));
    objects.extend(bundles.iter().map(|bundle| mount(bundle, unpacker)));
    for object in &mut objects {
        object["metadata"]["namespace"] = json!(namespace.name());
    }
    namespace.apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}));

    let is_over = |job: &Value| job["status"]["succeeded"] == 1 || job["status"]["failed"] == 1;
    let jobs = namespace.wait("jobs", PATIENCE, |jobs| {
        let items = jobs["items"].as_array().unwrap();
        items.len() == config_maps.len() && items.iter().all(is_over)
    });
    for job in jobs["items"].as_array().unwrap() {
        assert_eq!(job["status"]["succeeded"], 1, "{} failed", job["metadata"]["name"]);
    }
    for bundle in bundles {
        for name in names(bundle) {
            assert_filled(namespace, &name, &bundle.content);
        }
    }
}
