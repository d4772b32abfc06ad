//! The summary of `unlade unpack`.

use unlade_bundle::{Content, Finding, annotation};
use unlade_config_map::{ConfigMap, object::VALUES_SIZE};
use unlade_loader::Bundle;

use super::{
    Summary,
    load::{add_identity, count_kinds},
    size,
};
use crate::{
    screen::Screen,
    table::{Align, Table},
};

/// An unpacked bundle, as the summary shows it.
#[derive(Debug)]
pub(crate) struct Unpacked<'a> {
    pub(crate) content: &'a Content,
    pub(crate) config_maps: &'a [ConfigMap],
    /// The bundle that the loader loads from the content.
    pub(crate) bundle: &'a Bundle,
    /// The digest of the manifest of the image that contains the bundle.
    pub(crate) image_digest: Option<&'a str>,
    pub(crate) findings: &'a [Finding],
}

/// Formats the ConfigMap, its keys, and the bundle that is loaded from it.
pub(crate) fn format_unpacked(unpacked: &Unpacked<'_>, screen: &Screen) -> String {
    let mut summary = Summary::new(screen);
    for config_map in unpacked.config_maps {
        summary.field("ConfigMap", &config_map.metadata.name);
        summary.field("Namespace", &config_map.metadata.namespace);
        summary.field("Encoding", encoding(config_map));
        summary.field("Size", &share(config_map));
        summary.table(&files(unpacked.content, config_map));
        summary.blank();
    }
    add_identity(&mut summary, unpacked.bundle);
    summary.field("Image digest", unpacked.image_digest.unwrap_or_default());
    summary.field("Objects", &count_kinds(unpacked.bundle));
    summary.findings(unpacked.findings);
    summary.note(
        "No ConfigMap was created: use `--output yaml` to write one for `kubectl create -f -`.",
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

/// Formats how much of the space in a ConfigMap its values use.
fn share(config_map: &ConfigMap) -> String {
    let used = config_map.values_size();
    // Rounded up, so that a full ConfigMap never looks as if it had space left.
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
        // The name is only shown if it differs from the key.
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
