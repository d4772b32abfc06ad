//! The digest of what was asked of the API server, by which launches are compared.
//!
//! Live objects are never compared: defaults and webhooks change them.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use unlade_format::record;

use crate::sha256;

/// The digest of this template: 64 hex digits over its JSON, whose fields have a fixed order.
pub(crate) fn of(template: &PodTemplateSpec) -> String {
    // Strings, numbers and maps of strings always serialize.
    sha256::hex_of(&serde_json::to_vec(template).unwrap_or_default())
}

/// The digest that a Job bears, its own or one that was read.
pub(crate) fn recorded(job: &Job) -> Option<&str> {
    job.metadata.annotations.as_ref()?.get(record::SPEC_HASH).map(String::as_str)
}

/// Whether a Job that was read was asked for with the same pod as ours would be.
pub(crate) fn is_same(theirs: &Job, ours: &Job) -> bool {
    recorded(theirs).is_some() && recorded(theirs) == recorded(ours)
}
