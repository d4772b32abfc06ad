//! The results of the Jobs in a namespace.

use serde_json::Value;
use unlade_bundle::Limits;
use unlade_config_map::{
    ConfigMap,
    encode::{Options, encode},
    protocol::outcome::Verdict,
};
use unlade_loader as loader;

use crate::stage::Bundle;

/// The pods and ConfigMaps after every Job has ended.
pub(crate) struct Ended {
    pub(crate) pods: Vec<Value>,
    pub(crate) config_maps: Vec<Value>,
}

impl Ended {
    /// Returns how the unpacker's container ended in the last pod of a Job. On a busy machine, the
    /// API server may not respond for so long that a pod gives up for a temporary reason, and the
    /// Job starts another pod.
    pub(crate) fn terminated(&self, job: &str) -> &Value {
        let of_job = |pod: &&Value| pod["metadata"]["labels"]["job-name"] == job;
        let mut pods: Vec<_> = self.pods.iter().filter(of_job).collect();
        pods.sort_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str());
        let Some((last, earlier)) = pods.split_last() else { panic!("{job} has no pod") };
        for pod in earlier {
            let ended = ended_in(pod);
            assert_eq!(ended["exitCode"], Verdict::Temporary.exit_code(), "{job}: {ended}");
        }
        ended_in(last)
    }

    /// Returns the termination message of a Job that succeeded.
    pub(crate) fn outcomes(&self, job: &str) -> Value {
        let ended = self.terminated(job);
        assert_eq!(ended["exitCode"], 0, "{job}: {ended}");
        message(ended)
    }

    pub(crate) fn config_map(&self, name: &str) -> &Value {
        let found = self.config_maps.iter().find(|map| map["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no ConfigMap {name}"))
    }

    /// Checks that the ConfigMap has the same bytes as the one that is encoded from the directory,
    /// except for the metadata that the API server and others add, and that the same bundle is
    /// loaded from it. Returns the fields that contain files.
    pub(crate) fn check(&self, bundle: &Bundle) -> Vec<&'static str> {
        let name = &bundle.name;
        let found = ConfigMap::from_json(self.config_map(name).clone()).unwrap();
        let reading = unlade_directory::read(&bundle.directory, &Limits::default()).unwrap();
        let options = Options::default()
            .with_name(name.clone())
            .with_namespace(found.metadata.namespace.clone())
            .with_source_image(Some(bundle.image.clone()));
        let wanted = encode(&reading.content, &options).unwrap();
        let [wanted] = <[ConfigMap; 1]>::try_from(wanted).unwrap();
        // Without `assert_eq`, which would print a megabyte for each of them.
        assert!(found.data == wanted.data, "{name}: data");
        assert!(found.binary_data == wanted.binary_data, "{name}: binaryData");
        assert_eq!(found.metadata.name, wanted.metadata.name);
        let mut annotations = found.metadata.annotations.clone();
        annotations.retain(|key, _| !key.starts_with("example.com/"));
        assert_eq!(annotations, wanted.metadata.annotations, "{name}");
        for label in &wanted.metadata.labels {
            assert_eq!(found.metadata.labels.get_key_value(label.0), Some(label), "{name}");
        }

        let loaded = loader::load_config_maps(&[found], &loader::Options::default()).unwrap();
        let source_image = Some(bundle.image.clone());
        let options = loader::Options::default().with_source_image(source_image);
        assert!(loaded == loader::load(&reading, &options).unwrap(), "{name}: loaded");
        assert!(!loaded.bundle.objects.is_empty(), "{name}");
        let fields =
            [("data", wanted.data.is_empty()), ("binaryData", wanted.binary_data.is_empty())];
        fields.into_iter().filter(|(_, is_empty)| !is_empty).map(|(field, _)| field).collect()
    }
}

/// Returns the termination message of a container that has ended.
pub(crate) fn message(terminated: &Value) -> Value {
    serde_json::from_str(terminated["message"].as_str().unwrap()).unwrap()
}

/// Returns how the unpacker's container in a pod ended.
fn ended_in(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["terminated"]
}
