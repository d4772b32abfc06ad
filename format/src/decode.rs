//! ConfigMaps -> [`Content`].

use crate::{ConfigMap, Content, Encoding, Finding, Limits};

/// A content out of ConfigMaps, and what they say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// What the ConfigMaps hold.
    pub content: Content,
    /// The image that they were filled from (`olm.sourceImage`, or `olm.imageSource`).
    pub source_image: Option<String>,
    /// How the values were encoded: plain or gzip.
    pub encoding: Encoding,
    /// The digest that was found and verified; none if upstream wrote the ConfigMap.
    pub digest: Option<String>,
    /// The id of the attempt that filled it.
    pub attempt: Option<String>,
    /// What was noticed.
    pub findings: Vec<Finding>,
}

/// Why ConfigMaps hold no content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There was none.
    #[error("no ConfigMap")]
    Missing,
}

/// The content that `config_maps` hold, ours or upstream's.
///
/// # Errors
///
/// If a value does not decode, the digest differs, files are missing, or a limit is passed.
pub fn decode(_config_maps: &[ConfigMap], _limits: &Limits) -> Result<Decoded, Error> {
    Err(Error::Missing)
}
