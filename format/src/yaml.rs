//! YAML as Kubernetes reads it: `sigs.k8s.io/yaml` and apimachinery's decoder, to the byte.

use crate::json::Tree;

/// Limits of the YAML reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of input.
    pub input: usize,
    /// Deepest nesting; Go's own is 10,000.
    pub depth: usize,
    /// Most bytes of JSON that the input may grow to through aliases.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { input: 128 << 20, depth: 10_000, output: 256 << 20 }
    }
}

/// Why a text is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A placeholder until the reader is there.
    #[error("not read")]
    Unread,
}

/// What a plain scalar becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalars {
    /// What YAML 1.1 makes of it, as Go does.
    Resolved,
    /// Its text as written; null stays null. For annotations: `4.10` is not 4.1.
    Source,
}

/// What the loader gets out of one file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unstructured {
    /// The object; none if the first document has no content (upstream's "nil object").
    pub object: Option<Tree>,
    /// What follows the first document and is not read, for people; none if nothing does.
    pub unread: Option<String>,
}

/// `YAMLToJSON` of `sigs.k8s.io/yaml`: the first document as Go's JSON.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn to_json(_text: &[u8], _limits: &Limits) -> Result<String, Error> {
    Err(Error::Unread)
}

/// The first document as a tree.
///
/// # Errors
///
/// As [`to_json`].
pub fn read(_text: &[u8], _scalars: Scalars, _limits: &Limits) -> Result<Tree, Error> {
    Err(Error::Unread)
}

/// `DecodeUnstructured` as upstream's loader uses it: JSON sniffed, lines terminated, the first
/// document, and an object with a kind.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn decode_unstructured(_text: &[u8], _limits: &Limits) -> Result<Unstructured, Error> {
    Err(Error::Unread)
}

/// `value` as YAML for people: block style, literal blocks for text of several lines.
pub fn write(_value: &serde_json::Value) -> String {
    String::new()
}
