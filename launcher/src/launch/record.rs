//! The evidence of a failed attempt on the ConfigMap: the annotation `unlade.dev/failure`.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use unlade_format::record::FAILURE;

use crate::{Failure, Reason};

/// Most bytes of the annotation that are read. What we write is far shorter.
const LONGEST: usize = 64 << 10;

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Record {
    /// The uid of the Job; none if none could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// The Job's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Why it failed.
    pub failure: Failure,
}

impl Record {
    /// What is recorded on a ConfigMap of any attempt.
    pub fn of(config_map: &ConfigMap) -> Option<Self> {
        let text = config_map.annotations().get(FAILURE).filter(|text| text.len() <= LONGEST)?;
        serde_json::from_str(text).ok()
    }

    /// What is recorded of this attempt. Anyone who may update the ConfigMap may record anything, so
    /// what only a launcher can know of itself, such as that the cluster is out of reach, is ignored.
    pub(super) fn read(config_map: Option<&ConfigMap>, attempt: &str) -> Option<Self> {
        Self::of(config_map?).filter(|record| {
            record.attempt.as_deref() == Some(attempt)
                && (record.failure.reason == Reason::Deadline
                    || !record.failure.reason.is_of_launcher())
        })
    }
}
