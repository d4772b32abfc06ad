//! [`Seal`]: proof for later launches that a launch has verified the image of the content.
//!
//! The seal is an annotation of the Role that the launcher creates for the ConfigMap. A user who
//! may only create and change ConfigMaps can copy every annotation of a filled one, but cannot
//! write a Role.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::Role;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde::{Deserialize, Serialize};
use serde_json::json;
use unlade_config_map::{
    mark,
    record::{IMAGE_DIGEST, VERIFIED},
};

use super::Launch;
use super::judge::Written;
use super::retrier::{Reply, Retrier};
use crate::object::label;
use crate::{DigestSource, ObservedImage};

/// How long the requests to record a verification may be retried. It is short because the bundle is
/// already unpacked, and only its reuse depends on the record.
const TIMEOUT: Duration = Duration::from_secs(10);

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

impl Launch<'_> {
    /// Records what was verified, for people and for later launches.
    pub(super) async fn record_verification(&self, mut written: Box<Written>) -> Box<Written> {
        let bundle = written.images.bundle.clone();
        let ObservedImage { digest: Some(digest), digest_source: Some(source), .. } = bundle else {
            return written;
        };
        if source == DigestSource::EarlierLaunch {
            return written;
        }
        if self.plan.image().digest().is_none() {
            written.config_map = self.record_digest(written.config_map, &digest).await;
        }
        self.write_seal(&written.config_map, digest, source).await;
        written
    }

    /// Reads the seal of a ConfigMap. Returns `None` with a given service account, because there is
    /// no Role.
    pub(super) async fn read_seal(&self, config_map: &ConfigMap) -> Option<Seal> {
        self.options.pod.service_account.is_none().then_some(())?;
        let name = self.plan.name();
        let api = self.api::<Role>();
        let retrier = Retrier::new(&self.report, TIMEOUT);
        let doing = format!("read Role {name}");
        let role = retrier.send(&doing, || api.get(name)).await.ok()?.value()?;
        Seal::from_role(&role, config_map)
    }

    async fn write_seal(&self, config_map: &ConfigMap, digest: String, source: DigestSource) {
        let content = config_map.annotations().get(mark::DIGEST).cloned();
        let (Some(uid), Some(content)) = (config_map.uid(), content) else { return };
        if self.options.pod.service_account.is_some() {
            return;
        }
        let seal = Seal {
            config_map: uid,
            content,
            image: self.request.image.clone(),
            image_digest: digest,
            digest_source: source,
        };
        // Serialization cannot fail: there are only strings.
        let text = serde_json::to_string(&seal).unwrap_or_default();
        let patch = Patch::Merge(json!({"metadata": {"annotations": {VERIFIED: text}}}));
        let api = self.api::<Role>();
        let retrier = Retrier::new(&self.report, TIMEOUT);
        let name = self.plan.name();
        let doing = format!("annotate Role {name}");
        let params = PatchParams::default();
        // Without the seal the next launch only creates another Job.
        let _ = retrier.send(&doing, || api.patch(name, &params, &patch)).await;
    }

    /// Records the digest of a tag on the ConfigMap.
    async fn record_digest(&self, mut config_map: ConfigMap, digest: &str) -> ConfigMap {
        let api = self.api::<ConfigMap>();
        let retrier = Retrier::new(&self.report, TIMEOUT);
        loop {
            // The resource version ensures that the digest is recorded on the same content.
            let patch = Patch::Merge(json!({"metadata": {
                "resourceVersion": config_map.metadata.resource_version,
                "annotations": {IMAGE_DIGEST: digest},
            }}));
            let doing = format!("annotate ConfigMap {}", self.plan.name());
            let params = PatchParams::default();
            match retrier.send(&doing, || api.patch(self.plan.name(), &params, &patch)).await {
                Ok(Reply::Done(recorded)) => return recorded,
                Ok(Reply::Changed) => {}
                _ => return config_map,
            }
            match retrier.send(&doing, || api.get(self.plan.name())).await {
                Ok(Reply::Done(found)) if has_same_content(&found, &config_map) => {
                    config_map = found;
                }
                _ => return config_map,
            }
        }
    }
}

/// Checks whether a ConfigMap still has the content that was verified.
fn has_same_content(found: &ConfigMap, verified: &ConfigMap) -> bool {
    let mark = |config_map: &ConfigMap, mark| config_map.annotations().get(mark).cloned();
    let marks = [mark::ATTEMPT, mark::DIGEST];
    found.data == verified.data
        && found.binary_data == verified.binary_data
        && marks.into_iter().all(|it| mark(found, it) == mark(verified, it))
}
