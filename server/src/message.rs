//! The messages of the API, generated from `proto/registry.proto`.
#![allow(missing_docs, reason = "the fields are those of upstream's API")]
#![allow(clippy::pedantic, reason = "generated code")]

include!(concat!(env!("OUT_DIR"), "/api.rs"));

/// The descriptors of the API, for the reflection service.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Returns the message about a deprecation.
pub(crate) fn deprecation(message: Option<&String>) -> Option<Deprecation> {
    message.map(|message| Deprecation { message: message.clone() })
}
