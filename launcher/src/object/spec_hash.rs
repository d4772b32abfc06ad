//! The digest of what was asked of the API server, by which launches are compared.
//!
//! Live objects are never compared: defaults, webhooks and policy controllers change them.

use kube::ResourceExt;
use serde::Serialize;
use unlade_config_map::record;

use crate::sha256;

/// The digest of what was requested, such as the template of a pod or the rules of a Role: 64 hex
/// digits over its JSON, whose fields have a fixed order.
pub(crate) fn of(asked: &impl Serialize) -> String {
    // Strings, numbers and maps of strings always serialize.
    sha256::hex_of(&serde_json::to_vec(asked).unwrap_or_default())
}

/// The digest that an object carries, our own or one that was read.
pub(crate) fn recorded(object: &impl ResourceExt) -> Option<&str> {
    object.annotations().get(record::SPEC_HASH).map(String::as_str)
}

/// Whether an object that was read was requested with the same content as ours.
pub(crate) fn is_same<K: ResourceExt>(theirs: &K, ours: &K) -> bool {
    recorded(theirs).is_some() && recorded(theirs) == recorded(ours)
}
