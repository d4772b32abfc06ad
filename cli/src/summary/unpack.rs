//! The summary of `unlade unpack`.

use unlade_bundle::{Content, Finding, annotation};
use unlade_config_map::{ConfigMap, object::VALUES_SIZE};
use unlade_loader::Bundle;

use super::{
    Summary,
    load::{identity, kinds},
    size,
};
use crate::{
    screen::Screen,
    table::{Align, Table},
};

/// What is shown of a bundle that was unpacked.
#[derive(Debug)]
pub(crate) struct Unpacked<'a> {
    pub(crate) content: &'a Content,
    pub(crate) config_maps: &'a [ConfigMap],
    /// What the loader makes of it.
    pub(crate) bundle: &'a Bundle,
    /// Of the manifest of the image that it was read out of.
    pub(crate) image_digest: Option<&'a str>,
    pub(crate) findings: &'a [Finding],
}

/// What people are shown: the ConfigMap, its keys, and what it loads as.
pub(crate) fn unpacked(unpacked: &Unpacked<'_>, screen: &Screen) -> String {
    let mut summary = Summary::new(screen);
    for config_map in unpacked.config_maps {
        summary.field("ConfigMap", &config_map.metadata.name);
        summary.field("Namespace", &config_map.metadata.namespace);
        summary.field("Encoding", encoding(config_map));
        summary.field("Size", &share(config_map));
        summary.table(&files(unpacked.content, config_map));
        summary.blank();
    }
    identity(&mut summary, unpacked.bundle);
    summary.field("Image digest", unpacked.image_digest.unwrap_or_default());
    summary.field("Objects", &kinds(unpacked.bundle));
    summary.findings(unpacked.findings);
    summary.note(
        "Nothing was written anywhere: --output yaml gives the ConfigMap, for `kubectl create -f -`.",
    );
    summary.text
}

fn encoding(config_map: &ConfigMap) -> &str {
    config_map
        .metadata
        .annotations
        .get(annotation::CONTENT_ENCODING)
        .map_or("plain", String::as_str)
}

/// How much of a ConfigMap's room the values take.
fn share(config_map: &ConfigMap) -> String {
    let used = config_map.values_size();
    // Rounded up: what is full must not look as if there were room.
    let percent = used.saturating_mul(100).div_ceil(VALUES_SIZE);
    format!("{} of {} ({percent} %)", size(used), size(VALUES_SIZE))
}

fn files(content: &Content, config_map: &ConfigMap) -> Table<4> {
    let mut table = Table::new([
        ("KEY", Align::Left),
        ("FROM", Align::Left),
        ("SIZE", Align::Right),
        ("ENCODED", Align::Right),
    ]);
    for (key, file) in content.entries() {
        let Some(encoded) = encoded_size(config_map, key.as_str()) else { continue };
        // A name that became a key unchanged is not said twice.
        let name = if file.name == key.as_str() { "" } else { &file.name };
        let from = format!("{}/{name}", file.directory.as_str());
        table.push([key.as_str(), &from, &size(file.bytes.len()), &size(encoded)]);
    }
    table
}

fn encoded_size(config_map: &ConfigMap, key: &str) -> Option<usize> {
    let text = config_map.data.get(key).map(String::len);
    text.or_else(|| config_map.binary_data.get(key).map(|value| value.0.len()))
}
