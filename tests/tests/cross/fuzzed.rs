use serde_json::json;
use unlade_bundle::annotation::CONTENT_ENCODING;
use unlade_config_map::gzip::ENCODING;
use unlade_config_map::object::Bytes;
use unlade_config_map::{ConfigMap, mark};
use unlade_hostile::{Entry, inputs};
use unlade_tests::peer::{Loaded, Peer};
use unlade_yaml::FLOW_DEPTH;

use crate::compare::load;

#[test]
#[ignore = "needs upstream's programs"]
fn fuzzed_config_maps_are_loaded_as_upstream_does_it() {
    let mut peer = Peer::open();
    for entry in [Entry::ConfigMap, Entry::Gzip, Entry::Load] {
        let (mut n_loaded, mut differences) = (0, Vec::new());
        for input in inputs(entry).unwrap() {
            let Some(config_map) = config_map(entry, &input) else { continue };
            let Ok(ours) = load(&config_map) else { continue };
            if peer.check(&config_map).is_err() {
                continue;
            }
            n_loaded += 1;
            let (ours, theirs) = (flat(ours), peer.load(&config_map).map(flat));
            if theirs.as_ref() != Ok(&ours) {
                differences.push(format!("{config_map}\nours: {ours:?}\ntheirs: {theirs:?}"));
            }
        }
        println!("{entry}: {n_loaded} are loaded");
        assert!(differences.is_empty(), "{entry}: {}", differences.join("\n\n"));
        assert!(n_loaded > 0, "{entry}");
    }
}

/// Removes the objects that may have flow collections or aliases above our limits.
fn flat(mut loaded: Loaded) -> Loaded {
    let is_flat = |text: &String| {
        text.matches(['[', '{']).count() <= FLOW_DEPTH
            && !(text.contains('&') && text.contains('*'))
    };
    let objects = loaded.objects.into_iter().zip(loaded.digests);
    (loaded.objects, loaded.digests) = objects.filter(|(text, _)| is_flat(text)).unzip();
    loaded
}

/// Returns the ConfigMap of an input, as upstream could have written it: without our marks and the
/// fields that both loaders ignore.
fn config_map(entry: Entry, input: &[u8]) -> Option<serde_json::Value> {
    let mut config_map = ConfigMap::new("x", "x");
    if entry == Entry::Gzip {
        let encoding = (CONTENT_ENCODING.to_owned(), ENCODING.to_owned());
        config_map.metadata.annotations.extend([encoding]);
        let text = unlade_yaml::base64::encode(input).into_bytes();
        config_map.binary_data.insert("csv.yaml".to_owned(), Bytes(text));
    } else {
        let read = ConfigMap::parse_json(input).ok()?;
        config_map.metadata.annotations = read.metadata.annotations;
        config_map.metadata.annotations.retain(|key, _| !mark::ALL.contains(&key.as_str()));
        (config_map.data, config_map.binary_data) = (read.data, read.binary_data);
    }
    if config_map.metadata.annotations.get(CONTENT_ENCODING).is_none_or(|it| it != ENCODING) {
        // Only our loader reads the bytes of a plain ConfigMap.
        config_map.binary_data.clear();
    }
    Some(json!(config_map))
}
