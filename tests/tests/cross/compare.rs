use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use unlade_bundle::annotation::{UPSTREAM, is_reserved};
use unlade_config_map::{ConfigMap, mark};
use unlade_loader::{Options, load_config_maps};
use unlade_tests::corpus::sha256;
use unlade_tests::peer::{Loaded, Peer};
use unlade_yaml as yaml;

/// The ConfigMaps of one bundle.
pub(crate) struct Pair<'a> {
    pub(crate) theirs: &'a Value,
    pub(crate) ours: &'a Value,
    /// The directory of the bundle.
    pub(crate) directory: &'a Path,
}

impl Pair<'_> {
    /// Returns all differences between the two, and between the results of both loaders for each of
    /// them.
    pub(crate) fn differences(&self, peer: &mut Peer) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.values(&mut found);
        self.annotations(&mut found);
        for field in ["name", "namespace", "labels", "ownerReferences"] {
            let [theirs, ours] = [self.theirs, self.ours].map(|object| &object["metadata"][field]);
            if theirs != ours {
                found.insert(field.to_owned());
            }
        }
        let loaded = peer.load(self.theirs);
        for (what, other) in [
            ("upstream's loader of ours", peer.load(self.ours)),
            ("our loader of upstream's", load(self.theirs)),
            ("our loader of ours", load(self.ours)),
        ] {
            match (&loaded, other) {
                (Ok(theirs), Ok(other)) if *theirs == other => {}
                (Err(_), Err(_)) => {}
                _ => {
                    found.insert(what.to_owned());
                }
            }
        }
        found
    }

    fn values(&self, found: &mut BTreeSet<String>) {
        let [theirs, ours] = [self.theirs, self.ours].map(values);
        let keys: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        for key in keys.into_iter().filter(|key| theirs.get(*key) != ours.get(*key)) {
            found.insert(format!("key {key}"));
        }
    }

    /// Compares the annotations: ours must contain all of upstream's with the same values. All
    /// others must be marks, or come from `annotations.yaml`.
    fn annotations(&self, found: &mut BTreeSet<String>) {
        let written = written(self.directory);
        let of = |object: &Value| -> BTreeMap<String, String> {
            serde_json::from_value(object["metadata"]["annotations"].clone()).unwrap_or_default()
        };
        let (theirs, mut ours) = (of(self.theirs), of(self.ours));
        ours.retain(|key, _| !mark::ALL.contains(&key.as_str()));
        for (key, value) in &theirs {
            if ours.remove(key).as_ref() != Some(value) {
                found.insert(format!("annotation {key}"));
            }
        }
        for (key, value) in &ours {
            let as_text = written.get(key).and_then(Value::as_str);
            if !written.contains_key(key) || as_text.is_some_and(|text| text != value) {
                found.insert(format!("annotation {key}"));
            }
        }
        let others = written.iter().filter(|(key, value)| {
            value.is_string() && !UPSTREAM.contains(&key.as_str()) && !is_reserved(key)
        });
        for (key, _) in others.filter(|(key, _)| !ours.contains_key(*key)) {
            found.insert(format!("annotation {key} is left out"));
        }
    }
}

/// Returns the field and the decoded bytes of every key.
fn values(config_map: &Value) -> BTreeMap<String, (&'static str, Vec<u8>)> {
    let encoding = &config_map["metadata"]["annotations"]["olm.contentEncoding"];
    let decode = |bytes: Vec<u8>| {
        if encoding != "gzip+base64" {
            return bytes;
        }
        let mut text = Vec::new();
        let gzip = STANDARD.decode(bytes).unwrap();
        MultiGzDecoder::new(gzip.as_slice()).read_to_end(&mut text).unwrap();
        text
    };
    let mut values = BTreeMap::new();
    for field in ["data", "binaryData"] {
        for (key, value) in config_map[field].as_object().into_iter().flatten() {
            let text = value.as_str().unwrap();
            let bytes = if field == "data" {
                // The encoding does not apply to them.
                text.as_bytes().to_vec()
            } else {
                decode(STANDARD.decode(text).unwrap())
            };
            values.insert(key.clone(), (field, bytes));
        }
    }
    values
}

/// Returns the annotations in the annotations.yaml of metadata/, or else of manifests/.
fn written(directory: &Path) -> serde_json::Map<String, Value> {
    let read = |dir: &str| fs::read(directory.join(dir).join("annotations.yaml"));
    let Ok(text) = read("metadata").or_else(|_| read("manifests")) else {
        return serde_json::Map::new();
    };
    let json = yaml::to_json(&text, &yaml::Limits::default()).unwrap_or_default();
    let json: Value = serde_json::from_str(&json).unwrap_or_default();
    json["annotations"].as_object().cloned().unwrap_or_default()
}

/// Returns the result of our loader for a ConfigMap, with the fields that upstream's loader sets.
pub(crate) fn load(config_map: &Value) -> Result<Loaded, String> {
    let config_map = ConfigMap::parse_json(config_map.to_string().as_bytes());
    let config_map = config_map.map_err(|error| error.to_string())?;
    let manifest = load_config_maps(&[config_map], &Options::default());
    let bundle = manifest.map_err(|error| error.to_string())?.bundle;
    let objects = bundle.objects.iter();
    Ok(Loaded {
        csv_name: bundle.csv_name,
        csv_json: bundle.csv_json,
        objects: objects.clone().map(|object| object.text().into_owned()).collect(),
        digests: objects.map(|object| sha256(&object.bytes)).collect(),
    })
}
