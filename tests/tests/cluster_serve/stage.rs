//! A namespace, the manifests for its bundles, and the results of their Jobs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unlade_oci::build::Image;
use unlade_testbed::fault;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::example;
use unlade_tests::manifest::{self, BUNDLE, Overlay, UNPACKER};

use crate::awkward::Awkward;
use crate::ended::Ended;

/// The deadline for all Jobs of a test together.
const PATIENCE: Duration = Duration::from_mins(5);

/// The maximum number of containers whose logs are read at once.
const MOST_LOGS: usize = 100;

/// How the unpacker gets access to the bundle.
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
            Self::Inject => "manifests/serve/inject",
            Self::ImageVolume => "manifests/serve/image-volume",
        }
    }
}

/// A bundle whose image is in the registry.
pub(crate) struct Bundle {
    /// The name of its ConfigMap and its Job.
    pub(crate) name: String,
    /// The prefix of the names in the manifests.
    prefix: String,
    way: Way,
    /// The image, with its digest.
    pub(crate) image: String,
    /// A directory with the same bundle.
    pub(crate) directory: PathBuf,
}

impl Bundle {
    fn new(name: &str, way: Way, image: String, directory: &Path) -> Self {
        // The same names that `namePrefix` produces.
        let (name, prefix) = (format!("{name}-bundle"), format!("{name}-"));
        Self { name, prefix, way, image, directory: directory.to_owned() }
    }
}

/// A namespace under Pod Security `restricted`.
pub(crate) struct Stage<'c> {
    pub(crate) namespace: Namespace<'c>,
    pub(crate) cluster: &'c Cluster,
    unpacker: String,
}

impl Stage<'_> {
    /// Runs a test in its own namespace.
    pub(crate) fn open(test: &str, run: impl FnOnce(&Stage<'_>)) {
        let cluster = Cluster::open();
        let unpacker = cluster.push_unpacker();
        let namespace = cluster.namespace(&format!("serve-{test}"));
        namespace.apply(&fault::restricted(namespace.name()));
        wait_until_restricted(&namespace);
        run(&Stage { namespace, cluster: &cluster, unpacker });
    }

    /// Pushes the image of a bundle to the registry. `directory` contains the same bundle.
    pub(crate) fn push(&self, name: &str, way: Way, image: &Image, directory: &Path) -> Bundle {
        let image = self.cluster.push(image, &format!("serve/{name}:1"));
        Bundle::new(name, way, image, directory)
    }

    /// Does the same with an unusual image of the example bundle, for each of these ways.
    pub(crate) fn push_awkward(&self, awkward: &Awkward, ways: &[Way]) -> Vec<Bundle> {
        let repository = format!("serve/{}:1", awkward.name);
        let image = if awkward.is_index {
            self.cluster.push_index(std::slice::from_ref(&awkward.image), &repository)
        } else {
            self.cluster.push(&awkward.image, &repository)
        };
        let bundles = ways.iter().map(|&way| {
            let name = format!("{}-{}", awkward.name, way.name());
            Bundle::new(&name, way, image.clone(), &example())
        });
        bundles.collect()
    }

    /// Returns the objects of the manifests for this bundle.
    pub(crate) fn manifest(&self, bundle: &Bundle) -> Vec<Value> {
        self.overlay(std::slice::from_ref(bundle)).build(self.cluster.kubectl())
    }

    /// Returns the kustomizations that users would write for these bundles.
    fn overlay(&self, bundles: &[Bundle]) -> Overlay {
        let kustomizations = bundles.iter().map(|bundle| {
            let images = [(UNPACKER, &*self.unpacker), (BUNDLE, &bundle.image)];
            json!({
                "namespace": self.namespace.name(),
                "namePrefix": bundle.prefix,
                "resources": [bundle.way.manifest()],
                "images": manifest::images(images),
            })
        });
        Overlay::all(&kustomizations.collect::<Vec<_>>())
    }

    /// Creates a Job for several bundles, from the Job for one bundle.
    pub(crate) fn job_for_bundles(&self, name: &str, bundles: &[Bundle]) -> Vec<Value> {
        let whole = Bundle::new(name, Way::ImageVolume, UNPACKER.to_owned(), Path::new(""));
        let mut objects = self.manifest(&whole);
        let mut command = vec![json!("/unlade-unpacker"), json!("serve")];
        let mut volumes = Vec::new();
        let mut mounts = Vec::new();
        for (at, bundle) in bundles.iter().enumerate() {
            command.push(json!(format!("--bundle=/bundle/{at}={}", bundle.name)));
            command.push(json!(format!("--source-image={}", bundle.image)));
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
                pod["containers"][0]["command"] = Value::Array(command.clone());
                pod["containers"][0]["volumeMounts"] = Value::Array(mounts.clone());
            }
        }
        objects.extend(bundles.iter().map(|bundle| {
            let metadata = json!({"name": bundle.name, "namespace": self.namespace.name()});
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        }));
        objects
    }

    /// Creates or changes objects, all in one call.
    pub(crate) fn apply(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.cluster.kubectl().apply(&list).unwrap();
    }

    /// Runs the Jobs of these bundles at the same time. Each must fill its ConfigMap.
    pub(crate) fn run(&self, bundles: &[Bundle]) -> Ended {
        self.kubectl(&["apply", "--server-side", "--kustomize", self.overlay(bundles).path()]);
        let ended = self.ended();
        for bundle in bundles {
            let outcomes = ended.outcomes(&bundle.name);
            // The verdict is `unchanged` if, on a busy machine, the response to the write came too
            // late.
            let verdict = outcomes[0]["verdict"].as_str();
            let is_filled = matches!(verdict, Some("written" | "unchanged"));
            assert!(is_filled, "{}: {outcomes}", bundle.name);
        }
        ended
    }

    /// Waits until every Job of the namespace has ended, whether it succeeded or not.
    pub(crate) fn ended(&self) -> Ended {
        // A Job has no conditions before it ends. A single kubectl watches all Jobs, because the
        // machine is busy.
        let timeout = format!("--timeout={}s", PATIENCE.as_secs());
        self.kubectl(&["wait", "--for=jsonpath={.status.conditions}", &timeout, "--all", "jobs"]);
        let list = |kind| {
            let text = self.kubectl(&["get", kind, "--output=json"]);
            let mut list: Value = serde_json::from_str(&text).unwrap();
            serde_json::from_value(list["items"].take()).unwrap()
        };
        Ended { pods: list("pods"), config_maps: list("configmaps") }
    }

    /// Returns the logs of all containers.
    pub(crate) fn logs(&self) -> String {
        let pods = self.kubectl(&["get", "pods", "--output=name"]);
        assert!(pods.lines().count() < MOST_LOGS);
        let most = format!("--max-log-requests={MOST_LOGS}");
        let jobs = "--selector=batch.kubernetes.io/job-name";
        self.kubectl(&["logs", jobs, "--all-containers", "--prefix", "--tail=-1", &most])
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.namespace.kubectl(arguments.iter().copied()).unwrap()
    }
}

/// Waits until admission applies the label of the namespace, which takes a moment.
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
