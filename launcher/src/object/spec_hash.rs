//! Digests of requested specifications, by which launches compare objects.
//!
//! The objects that the API server stores are never compared, because defaults, webhooks and policy
//! controllers change them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use unlade_config_map::protocol::record::SPEC_HASH;
use unlade_text::hex;

/// Records the digest of a requested specification, such as the template of a pod or the rules of a
/// Role, on its object. The digest has 64 hex digits and covers the JSON, whose fields have a fixed
/// order.
pub(super) fn record(metadata: &mut ObjectMeta, requested: &impl Serialize) {
    // Serialization cannot fail: there are only strings, numbers and maps with string keys.
    let digest = hex(&Sha256::digest(serde_json::to_vec(requested).unwrap_or_default()));
    metadata.annotations.get_or_insert_default().insert(SPEC_HASH.to_owned(), digest);
}

/// Returns the digest in the annotation of an object.
fn recorded(object: &impl ResourceExt) -> Option<&str> {
    object.annotations().get(SPEC_HASH).map(String::as_str)
}

/// Checks whether an existing object was requested with the same specification as ours.
pub(crate) fn is_same<K: ResourceExt>(theirs: &K, ours: &K) -> bool {
    recorded(theirs).is_some() && recorded(theirs) == recorded(ours)
}
