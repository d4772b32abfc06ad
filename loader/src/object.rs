//! [`Object`]: one manifest of a bundle.

use std::borrow::Cow;

use unlade_format::{json::Tree, yaml};

/// One manifest of a bundle: the bytes of a file, and what its first document says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// Its ConfigMap key.
    pub key: String,
    /// The file that it comes from: `manifests/NAME` or `metadata/NAME`.
    pub path: String,
    /// Its kind; empty for an object without content, which upstream keeps (004.16).
    pub kind: String,
    /// Its `apiVersion`; empty if it has none.
    pub api_version: String,
    /// Its `metadata.name`; empty if it has none.
    pub name: String,
    /// The whole file as it came.
    pub bytes: Vec<u8>,
}

impl Object {
    /// The file as text. Bytes that are not UTF-8 are replaced one by one by U+FFFD, as Go's JSON
    /// writer does.
    pub fn text(&self) -> Cow<'_, str> {
        if let Ok(text) = std::str::from_utf8(&self.bytes) {
            return Cow::Borrowed(text);
        }
        let mut text = String::with_capacity(self.bytes.len());
        for chunk in self.bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
        }
        Cow::Owned(text)
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The object itself, read again from the bytes; none if it has no content.
    ///
    /// A bundle's manifests are large and seldom all wanted as values, so they are not kept.
    ///
    /// # Errors
    ///
    /// Only if `limits` are lower than those that the bundle was loaded with.
    pub fn read(&self, limits: &yaml::Limits) -> Result<Option<Tree>, yaml::Error> {
        Ok(yaml::decode_unstructured(&self.bytes, limits)?.object)
    }
}
