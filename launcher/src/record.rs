//! [`FailureRecord`]: the failure of an attempt in the annotation `unlade.dev/failure` of its
//! ConfigMap.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use unlade_config_map::protocol::record::FAILURE;

use crate::{Failure, Reason};

/// The maximum size of the annotation that is read, in bytes. Records of unlade are much smaller.
const MAX_SIZE: usize = 64 << 10;

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureRecord {
    /// The uid of the Job, or `None` if none could be created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// The name of the Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Why the attempt failed.
    pub failure: Failure,
}

impl FailureRecord {
    /// Returns the record on a ConfigMap, of whichever attempt.
    pub fn from_config_map(config_map: &ConfigMap) -> Option<Self> {
        let text = config_map.annotations().get(FAILURE).filter(|text| text.len() <= MAX_SIZE)?;
        serde_json::from_str(text).ok()
    }

    /// Returns the record of this attempt. Anyone who may update the ConfigMap can write a record,
    /// so reasons that only a launcher itself can know, such as an unreachable cluster, are
    /// ignored. The deadline of a Job is not one of them: every launch that follows the Job sees
    /// it.
    pub(crate) fn read(config_map: Option<&ConfigMap>, attempt: &str) -> Option<Self> {
        Self::from_config_map(config_map?).filter(|record| {
            record.attempt.as_deref() == Some(attempt)
                && (record.failure.reason == Reason::Deadline
                    || !record.failure.reason.is_of_launcher())
        })
    }
}
