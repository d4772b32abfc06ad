//! Digests of requested specifications, by which launches compare objects.
//!
//! The objects that the API server stores are never compared, because defaults, webhooks and policy
//! controllers change them.

use kube::ResourceExt;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use unlade_config_map::protocol::record;
use unlade_text::hex;

/// Returns the digest of a requested specification, such as the template of a pod or the rules of a
/// Role. It has 64 hex digits and covers the JSON, whose fields have a fixed order.
pub(crate) fn digest(requested: &impl Serialize) -> String {
    // Serialization cannot fail: there are only strings, numbers and maps with string keys.
    hex(&Sha256::digest(serde_json::to_vec(requested).unwrap_or_default()))
}

/// Returns the digest in the annotation of an object.
pub(crate) fn recorded(object: &impl ResourceExt) -> Option<&str> {
    object.annotations().get(record::SPEC_HASH).map(String::as_str)
}

/// Checks whether an existing object was requested with the same specification as ours.
pub(crate) fn is_same<K: ResourceExt>(theirs: &K, ours: &K) -> bool {
    recorded(theirs).is_some() && recorded(theirs) == recorded(ours)
}
