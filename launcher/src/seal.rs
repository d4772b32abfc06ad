//! [`Seal`]: proof for later launches that a launch has verified the image of the content.
//!
//! The seal is an annotation of the Role that the launcher creates for the ConfigMap. A user who
//! may only create and change ConfigMaps can copy every annotation of a filled one, but cannot
//! write a Role.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::Role;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use unlade_config_map::protocol::record::VERIFIED;

use crate::DigestSource;
use crate::object::label;

/// The maximum size of the annotation that is read, in bytes. Seals of unlade are much smaller.
const MAX_SIZE: usize = 8 << 10;

/// What a launch has verified about the content of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seal {
    /// The uid of the ConfigMap.
    pub(crate) config_map: String,
    /// The digest of the content, as in the annotation `unlade.dev/digest`.
    pub(crate) content: String,
    /// The requested image.
    pub(crate) image: String,
    /// The digest of the image that the content came from.
    pub(crate) image_digest: String,
    /// How the digest was known.
    pub(crate) digest_source: DigestSource,
}

impl Seal {
    /// Reads the seal of `config_map` from `role`. The content may have changed since.
    pub(crate) fn from_role(role: &Role, config_map: &ConfigMap) -> Option<Self> {
        let uid = config_map.uid()?;
        let is_owned = role.owner_references().iter().any(|owner| owner.uid == uid);
        let is_ours = label::is_ours(role.metadata.labels.as_ref()) && is_owned;
        let text = role.annotations().get(VERIFIED).filter(|text| text.len() <= MAX_SIZE)?;
        let seal: Self = serde_json::from_str(text).ok()?;
        (is_ours && seal.config_map == uid).then_some(seal)
    }

    /// Checks whether the seal is for this image and for content with this digest.
    pub(crate) fn covers(&self, image: &str, content: &str) -> bool {
        self.image == image && self.content == content
    }
}
