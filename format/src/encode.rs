//! [`Content`] -> ConfigMaps.

use crate::{ConfigMap, Content};

/// How the values of a ConfigMap are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// Plain if the whole object fits with room to spare, else gzip.
    #[default]
    Auto,
    /// Text in `data`, other bytes in `binaryData`.
    Plain,
    /// Upstream's `gzip+base64` in `binaryData`.
    Gzip,
}

/// What [`encode`] is told beside the content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`; empty for none.
    pub namespace: String,
    /// How the values are written.
    pub encoding: Encoding,
    /// `olm.sourceImage`: the image that the content came from.
    pub source_image: Option<String>,
    /// An id of this attempt, so that a caller can tell its own result from an older one.
    pub attempt: Option<String>,
}

/// Why a content does not become a ConfigMap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {}

/// The ConfigMaps that hold `content`: one, today. The same content gives the same bytes.
///
/// # Errors
///
/// If the content is too large for a ConfigMap in the encoding that was asked for.
pub fn encode(_content: &Content, _options: &Options) -> Result<Vec<ConfigMap>, Error> {
    Ok(Vec::new())
}

/// `existing` with what `encoded` says: all of data and binaryData replaced, what an earlier
/// filling wrote removed, and annotations, labels and owner references of others kept.
pub fn fill(existing: ConfigMap, _encoded: &ConfigMap) -> ConfigMap {
    existing
}
