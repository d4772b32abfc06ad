//! Filling a ConfigMap that is there already.

use unlade_bundle::annotation::{
    self, CONTENT_ENCODING, SOURCE_IMAGE, SOURCE_IMAGE_OF_DESIGN, UPSTREAM, is_reserved,
};
use unlade_text::excerpt;

use crate::{ConfigMap, mark, record};

#[cfg(test)]
mod tests;

/// Why a ConfigMap is not filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The API server refuses any change of its values.
    #[error("the ConfigMap {name} is immutable")]
    Immutable {
        /// Its name.
        name: String,
    },
    /// The bundle brings annotations that someone else has set to something else.
    #[error(
        "the bundle brings annotations that the ConfigMap {name} already has from someone else: {}",
        excerpt::list(.keys, ", ")
    )]
    Conflict {
        /// The name of the ConfigMap.
        name: String,
        /// The keys of the annotations.
        keys: Vec<String>,
    },
    /// The annotations, those of others among them, are more than an object takes.
    #[error("annotate the ConfigMap {name}")]
    Annotations {
        /// The name of the ConfigMap.
        name: String,
        /// What is wrong.
        #[source]
        source: annotation::Error,
    },
}

/// `existing` with what `encoded` says: all of data and binaryData replaced, what an earlier
/// filling wrote removed, and annotations, labels and owner references of others kept.
///
/// - Name, namespace, `resourceVersion` and all fields that are not named here stay.
/// - Removed are the annotations that an earlier filling recorded ([`mark::ANNOTATIONS`]), the
///   marks, upstream's six, what OLM and opm write, and what the launcher noted of the content
///   before ([`record::OF_CONTENT`]). Anyone who may change the ConfigMap may
///   have written the record, so a [reserved](annotation::is_reserved) key in it counts for
///   nothing, and a record that is none is empty.
/// - An annotation of someone else under a key that the bundle brings is a conflict unless the
///   value is the same: neither may a bundle overwrite what it has not written, nor is it
///   complete without.
///
/// # Errors
///
/// If `existing` is immutable, an annotation of someone else is in the way, or all annotations
/// together are too large.
pub fn fill(existing: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, Error> {
    let cleared = cleared(existing)?;
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
    with_content(cleared, encoded)
}

/// The same, and an annotation of someone else under a key that the bundle brings is overwritten:
/// upstream replaces all of them (operator-registry `pkg/configmap/configmap_writer.go`).
///
/// # Errors
///
/// If `existing` is immutable, or all annotations together are too large.
pub fn fill_over(existing: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, Error> {
    with_content(cleared(existing)?, encoded)
}

/// `existing` without what a filling wrote: data, binaryData and the same annotations that
/// [`fill`] removes. What others wrote stays.
///
/// # Errors
///
/// If `existing` is immutable.
pub fn emptied(existing: ConfigMap) -> Result<ConfigMap, Error> {
    let mut emptied = cleared(existing)?;
    emptied.data.clear();
    emptied.binary_data.clear();
    Ok(emptied)
}

/// Without the annotations of an earlier filling.
fn cleared(mut existing: ConfigMap) -> Result<ConfigMap, Error> {
    if existing.rest.get("immutable") == Some(&serde_json::Value::Bool(true)) {
        return Err(Error::Immutable { name: existing.metadata.name });
    }
    let annotations = &mut existing.metadata.annotations;
    let recorded = annotations
        .get(mark::ANNOTATIONS)
        .and_then(|text| mark::recorded(text))
        .unwrap_or_default();
    for key in recorded.iter().filter(|key| !is_reserved(key)) {
        annotations.remove(key);
    }
    let known = [SOURCE_IMAGE, SOURCE_IMAGE_OF_DESIGN, CONTENT_ENCODING];
    for key in known.iter().chain(&UPSTREAM).chain(&mark::ALL).chain(&record::OF_CONTENT) {
        annotations.remove(*key);
    }
    Ok(existing)
}

fn with_content(mut cleared: ConfigMap, encoded: &ConfigMap) -> Result<ConfigMap, Error> {
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
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Immutable { .. } => Some("delete and create it, or fill another ConfigMap"),
            Self::Conflict { .. } => {
                Some("remove these annotations from it, or fill another ConfigMap")
            }
            Self::Annotations { .. } => None,
        }
    }
}
