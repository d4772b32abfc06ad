//! [`fill()`]: writes an encoded ConfigMap over an existing one.

use unlade_bundle::annotation::{self, OLM, UPSTREAM, is_reserved};
use unlade_text::excerpt;

use crate::{ConfigMap, mark, protocol::record};

#[cfg(test)]
mod tests;

/// An error that prevents a ConfigMap from being filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ConfigMap is immutable, so the API server rejects any change of its values.
    #[error("the ConfigMap {name} is immutable")]
    Immutable {
        /// The name of the ConfigMap.
        name: String,
    },
    /// The ConfigMap already has annotations of the bundle, with other values from another writer.
    #[error(
        "the ConfigMap {name} already has annotations of the bundle with other values: {}",
        excerpt::list(.keys, ", ")
    )]
    Conflict {
        /// The name of the ConfigMap.
        name: String,
        /// The keys of the annotations.
        keys: Vec<String>,
    },
    /// All annotations together, including those of other writers, are too large.
    #[error("failed to annotate the ConfigMap {name}")]
    Annotations {
        /// The name of the ConfigMap.
        name: String,
        /// The reason.
        #[source]
        source: annotation::Error,
    },
}

/// Fills `existing` with the content of `encoded`. This replaces data and binaryData, removes what
/// an earlier fill wrote, and keeps annotations, labels and owner references of other writers.
///
/// - The name, the namespace, `resourceVersion` and all fields that are not named here stay.
/// - These annotations are removed: those that an earlier fill recorded ([`mark::ANNOTATIONS`]),
///   the marks, upstream's six, those that OLM and opm write, and those that the launcher wrote
///   about the earlier content ([`record::CONTENT_ANNOTATIONS`]). Any user who can change the
///   ConfigMap may have written the record. So [reserved](annotation::is_reserved) keys in it are
///   ignored, and a record that does not parse is empty.
/// - If another writer set an annotation of the bundle to a different value, this is a conflict. A
///   bundle must not overwrite annotations that it did not write, and it is not complete without
///   its own.
///
/// # Errors
///
/// Returns an error if `existing` is immutable, if an annotation of another writer conflicts, or if
/// all annotations together are too large.
pub fn fill(existing: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, Error> {
    let cleared = clear_annotations(existing)?;
    let annotations = &cleared.metadata.annotations;
    let keys: Vec<_> = encoded
        .metadata
        .annotations
        .iter()
        .filter(|&(key, value)| annotations.get(key).is_some_and(|theirs| theirs != value))
        .map(|(key, _)| key.clone())
        .collect();
    if !keys.is_empty() {
        return Err(Error::Conflict { name: cleared.metadata.name, keys });
    }
    add_content(cleared, encoded)
}

/// Fills `existing` as [`fill`] does, but overwrites conflicting annotations of other writers.
/// Upstream replaces all annotations (operator-registry `pkg/configmap/configmap_writer.go`).
///
/// # Errors
///
/// Returns an error if `existing` is immutable, or if all annotations together are too large.
pub fn fill_over(existing: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, Error> {
    add_content(clear_annotations(existing)?, encoded)
}

/// Removes what a fill wrote from `existing`: data, binaryData and the annotations that [`fill`]
/// removes. What other writers wrote stays.
///
/// # Errors
///
/// Returns an error if `existing` is immutable.
pub fn clear_content(existing: ConfigMap) -> Result<ConfigMap, Error> {
    let mut config_map = clear_annotations(existing)?;
    config_map.data.clear();
    config_map.binary_data.clear();
    Ok(config_map)
}

/// Removes the annotations of an earlier fill.
fn clear_annotations(mut existing: ConfigMap) -> Result<ConfigMap, Error> {
    if existing.rest.get("immutable") == Some(&serde_json::Value::Bool(true)) {
        return Err(Error::Immutable { name: existing.metadata.name });
    }
    let annotations = &mut existing.metadata.annotations;
    let recorded = annotations
        .get(mark::ANNOTATIONS)
        .and_then(|text| mark::parse_annotation_keys(text))
        .unwrap_or_default();
    for key in recorded.iter().filter(|key| !is_reserved(key)) {
        annotations.remove(key);
    }
    for key in OLM.iter().chain(&UPSTREAM).chain(&mark::ALL).chain(&record::CONTENT_ANNOTATIONS) {
        annotations.remove(*key);
    }
    Ok(existing)
}

fn add_content(mut cleared: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, Error> {
    let metadata = &mut cleared.metadata;
    metadata.annotations.extend(encoded.metadata.annotations.clone());
    if annotation::check_size(&metadata.annotations).is_err() {
        // The content takes precedence over the findings.
        metadata.annotations.remove(mark::FINDINGS);
    }
    annotation::check_size(&metadata.annotations)
        .map_err(|source| Error::Annotations { name: metadata.name.clone(), source })?;
    metadata.labels.extend(encoded.metadata.labels.clone());
    cleared.data.clone_from(&encoded.data);
    cleared.binary_data.clone_from(&encoded.binary_data);
    Ok(cleared)
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Immutable { .. } => {
                Some("delete the ConfigMap and create it again, or use another one")
            }
            Self::Conflict { .. } => {
                Some("remove these annotations from the ConfigMap, or use another one")
            }
            Self::Annotations { .. } => None,
        }
    }
}
