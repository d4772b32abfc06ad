//! A namespace, the manifests with the names put in, and what came out of their Jobs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unlade_format::encode::{Options, encode};
use unlade_format::{ConfigMap, yaml};
use unlade_loader as loader;
use unlade_oci::build::{Image, write, write_index};
use unlade_testbed::fault;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_unpacker::directory;

use crate::awkward::Awkward;
use crate::{example, image};

/// For all Jobs of a test together.
const PATIENCE: Duration = Duration::from_mins(4);

/// The names in the manifests that a person replaces.
const NAME: &str = "my-bundle";
const BUNDLE: &str = "registry.example/bundles/my-bundle:1.0.0";
const UNPACKER: &str = "registry.example/unlade-unpacker:0.1.0";

/// How the unpacker and the bundle come together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// The unpacker is copied into the bundle's pod.
    Inject,
    /// The bundle is mounted into the unpacker's pod.
    ImageVolume,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::Inject, Self::ImageVolume];

    fn name(self) -> &'static str {
        match self {
            Self::Inject => "injected",
            Self::ImageVolume => "mounted",
        }
    }

    fn manifest(self) -> &'static str {
        match self {
            Self::Inject => include_str!("../../../manifests/inject.yaml"),
            Self::ImageVolume => include_str!("../../../manifests/image-volume.yaml"),
        }
    }
}

/// A bundle whose image is in the registry.
pub(crate) struct Bundle {
    /// The name of its ConfigMap, Job and so on.
    pub(crate) name: String,
    way: Way,
    /// The image, with its digest.
    image: String,
    /// A directory with the same bundle.
    directory: PathBuf,
}

/// A namespace under Pod Security `restricted`.
pub(crate) struct Stage<'c> {
    pub(crate) namespace: Namespace<'c>,
    cluster: &'c Cluster,
    unpacker: String,
}

impl Stage<'_> {
    /// Runs a test on it, if there is a testbed and a static unpacker.
    pub(crate) fn open(test: &str, run: impl FnOnce(&Stage<'_>)) {
        let Some(cluster) = Cluster::open_testbed("the unpacker in real pods") else { return };
        let Some(unpacker) = image::unpacker() else { return };
        let namespace = cluster.namespace(&format!("serve-{test}"));
        namespace.apply(&fault::restricted(namespace.name()));
        wait_until_restricted(&namespace);
        let unpacker = push(&cluster, "unlade/unlade-unpacker:test", &unpacker, false);
        run(&Stage { namespace, cluster: &cluster, unpacker });
    }

    /// Puts the image of a bundle into the registry; `directory` holds the same bundle.
    pub(crate) fn push(&self, name: &str, way: Way, image: &Image, directory: &Path) -> Bundle {
        let image = push(self.cluster, &format!("serve/{name}:1"), image, false);
        Bundle { name: name.to_owned(), way, image, directory: directory.to_owned() }
    }

    /// The same with an awkward image of the example bundle.
    pub(crate) fn push_awkward(&self, awkward: &Awkward, way: Way) -> Bundle {
        let name = format!("{}-{}", awkward.name, way.name());
        let repository = format!("serve/{name}:1");
        let image = push(self.cluster, &repository, &awkward.image, awkward.is_index);
        Bundle { name, way, image, directory: example() }
    }

    /// The objects of the manifest, for this bundle.
    pub(crate) fn manifest(&self, bundle: &Bundle) -> Vec<Value> {
        let text =
            bundle.way.manifest().replace(BUNDLE, &bundle.image).replace(UNPACKER, &self.unpacker);
        let text = text.replace(NAME, &bundle.name);
        let objects = text.split("\n---\n").map(|document| {
            let json = yaml::to_json(document.as_bytes(), &yaml::Limits::default()).unwrap();
            serde_json::from_str(&json).unwrap()
        });
        objects.collect()
    }

    /// One Job for several bundles, made of that for one.
    pub(crate) fn several(&self, name: &str, bundles: &[Bundle]) -> Vec<Value> {
        let whole = Bundle {
            name: name.to_owned(),
            way: Way::ImageVolume,
            image: String::new(),
            directory: PathBuf::default(),
        };
        let mut objects = self.manifest(&whole);
        let mut arguments = vec![json!("serve")];
        let mut volumes = Vec::new();
        let mut mounts = Vec::new();
        for (at, bundle) in bundles.iter().enumerate() {
            arguments.push(json!(format!("--bundle=/bundle/{at}={}", bundle.name)));
            arguments.push(json!(format!("--source-image={}", bundle.image)));
            let volume = format!("bundle-{at}");
            volumes.push(json!({"name": volume, "image": {"reference": bundle.image}}));
            mounts.push(json!({"name": volume, "mountPath": format!("/bundle/{at}")}));
        }
        for object in &mut objects {
            if object["kind"] == "Role" {
                let names = bundles.iter().map(|bundle| bundle.name.as_str());
                object["rules"][0]["resourceNames"] = names.collect();
            } else if object["kind"] == "Job" {
                let pod = &mut object["spec"]["template"]["spec"];
                pod["volumes"] = Value::Array(volumes.clone());
                pod["containers"][0]["args"] = Value::Array(arguments.clone());
                pod["containers"][0]["volumeMounts"] = Value::Array(mounts.clone());
            }
        }
        objects.extend(bundles.iter().map(|bundle| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": bundle.name}})
        }));
        objects
    }

    /// Creates or changes objects, all in one call.
    pub(crate) fn apply(&self, mut objects: Vec<Value>) {
        for object in &mut objects {
            object["metadata"]["namespace"] = json!(self.namespace.name());
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.cluster.kubectl().apply(&list).unwrap();
    }

    /// Runs the Jobs of these bundles, all at once, until each has written its ConfigMap.
    pub(crate) fn run(&self, bundles: &[Bundle]) {
        self.apply(bundles.iter().flat_map(|bundle| self.manifest(bundle)).collect());
        self.wait_for_jobs();
        for bundle in bundles {
            let outcomes = self.outcomes(&bundle.name);
            // Unchanged, if on a busy machine the answer to the writing came too late.
            let verdict = outcomes[0]["verdict"].as_str();
            let is_filled = matches!(verdict, Some("written" | "unchanged"));
            assert!(is_filled, "{}: {outcomes}", bundle.name);
        }
    }

    /// Waits until every Job of the namespace has ended, well or not.
    #[track_caller]
    pub(crate) fn wait_for_jobs(&self) {
        let has_ended = |job: &Value| {
            let conditions = job["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|condition| {
                let kind = &condition["type"];
                (kind == "Complete" || kind == "Failed") && condition["status"] == "True"
            })
        };
        self.namespace
            .wait("jobs", PATIENCE, |jobs| jobs["items"].as_array().unwrap().iter().all(has_ended));
    }

    /// How the unpacker's container ended in the only pod of a Job.
    pub(crate) fn terminated(&self, job: &str) -> Value {
        let selector = format!("--selector=job-name={job}");
        let pods: Value =
            serde_json::from_str(&self.kubectl(&["get", "pods", &selector, "--output=json"]))
                .unwrap();
        let [pod] = pods["items"].as_array().unwrap().as_slice() else {
            panic!("{job} has not one pod: {pods}");
        };
        pod["status"]["containerStatuses"][0]["state"]["terminated"].clone()
    }

    /// The termination message of a Job that ended well.
    pub(crate) fn outcomes(&self, job: &str) -> Value {
        let ended = self.terminated(job);
        assert_eq!(ended["exitCode"], 0, "{job}: {ended}");
        serde_json::from_str(ended["message"].as_str().unwrap()).unwrap()
    }

    /// What the containers of a Job's pod wrote.
    pub(crate) fn log(&self, job: &str) -> String {
        self.kubectl(&["logs", &format!("job/{job}"), "--all-containers"])
    }

    pub(crate) fn config_map(&self, name: &str) -> Value {
        let found = self.namespace.get(&format!("configmap/{name}"));
        found.unwrap_or_else(|| panic!("no ConfigMap {name}"))
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.namespace.kubectl(arguments.iter().copied()).unwrap()
    }

    /// The ConfigMap is byte for byte the one that the directory gives here, but for what the API
    /// server and others add to its metadata; and the same bundle is loaded. Gives the fields that
    /// hold files.
    pub(crate) fn check(&self, bundle: &Bundle) -> Vec<&'static str> {
        let name = &bundle.name;
        let found = ConfigMap::from_json(self.config_map(name)).unwrap();
        let reading = directory::read(&bundle.directory, &directory::Options::default()).unwrap();
        let options = Options {
            name: name.clone(),
            namespace: self.namespace.name().to_owned(),
            source_image: Some(bundle.image.clone()),
            ..Options::default()
        };
        let [wanted] =
            <[ConfigMap; 1]>::try_from(encode(&reading.content, &options).unwrap()).unwrap();
        assert!(found.data.keys().eq(wanted.data.keys()), "{name}: keys of data");
        assert!(found.binary_data.keys().eq(wanted.binary_data.keys()), "{name}: keys");
        for (key, value) in &wanted.data {
            assert!(found.data[key] == *value, "{name}: {key}");
        }
        for (key, value) in &wanted.binary_data {
            assert!(found.binary_data[key] == *value, "{name}: {key}");
        }
        for (key, value) in &wanted.metadata.annotations {
            assert_eq!(found.metadata.annotations.get(key), Some(value), "{name}: {key}");
        }
        let more = found.metadata.annotations.keys();
        let more: Vec<_> =
            more.filter(|key| !wanted.metadata.annotations.contains_key(*key)).collect();
        assert!(more.iter().all(|key| key.starts_with("example.com/")), "{name}: {more:?}");

        let loaded = loader::load_config_maps(&[found], &loader::Options::default()).unwrap();
        let source_image = Some(bundle.image.clone());
        let options = loader::Options { source_image, ..loader::Options::default() };
        assert!(loaded == loader::load(&reading.content, &options).unwrap(), "{name}: loaded");
        assert!(!loaded.bundle.objects.is_empty(), "{name}");
        let fields =
            [("data", wanted.data.is_empty()), ("binaryData", wanted.binary_data.is_empty())];
        fields.into_iter().filter(|(_, is_empty)| !is_empty).map(|(field, _)| field).collect()
    }
}

/// Admission knows of a label a moment later.
fn wait_until_restricted(namespace: &Namespace<'_>) {
    let end = Instant::now() + PATIENCE;
    let probe = ["run", "probe", "--image=unlade.test/none:1", "--dry-run=server"];
    let is_refused = || match namespace.kubectl(probe) {
        Ok(_) => false,
        Err(error) => error.to_string().contains("violates PodSecurity \"restricted:latest\""),
    };
    while !is_refused() {
        assert!(Instant::now() < end, "any pod is taken");
    }
}

fn push(cluster: &Cluster, name: &str, image: &Image, is_index: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("image.tar");
    let output = format!("oci-archive:{}", archive.display()).parse().unwrap();
    let images = std::slice::from_ref(image);
    let written = if is_index { write_index(images, &output) } else { write(image, &output) };
    written.unwrap();
    cluster.testbed().push(&archive, name).unwrap()
}
