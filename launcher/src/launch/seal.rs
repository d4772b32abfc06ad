//! The seal: what a launch that verified its images leaves for later launches.
//!
//! It is an annotation of the Role that the launcher makes for the ConfigMap. Whoever may only
//! create and change ConfigMaps can copy every annotation of one that a launch has filled, but not
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
use super::patience::{Answer, Patience};
use crate::object::label;
use crate::{DigestSource, ObservedImage};

/// How long it may take to note what was verified. The bundle is there: only reuse will miss it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes of the annotation that are read. What we write is far shorter.
const LONGEST: usize = 8 << 10;

/// What was verified of the content of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seal {
    /// The uid of the ConfigMap.
    pub(crate) config_map: String,
    /// The digest of the content, as the ConfigMap bears it in `unlade.dev/digest`.
    pub(crate) content: String,
    /// The image as it was asked for.
    pub(crate) image: String,
    /// The digest of the image that the content came from.
    pub(crate) image_digest: String,
    /// How that was known.
    pub(crate) digest_source: DigestSource,
}

impl Seal {
    /// The seal of `config_map` on `role`, whatever the ConfigMap holds by now.
    pub(crate) fn of(role: &Role, config_map: &ConfigMap) -> Option<Self> {
        let uid = config_map.uid()?;
        let is_owned = role.owner_references().iter().any(|owner| owner.uid == uid);
        let is_ours = label::is_ours(role.metadata.labels.as_ref()) && is_owned;
        let text = role.annotations().get(VERIFIED).filter(|text| text.len() <= LONGEST)?;
        let seal: Self = serde_json::from_str(text).ok()?;
        (is_ours && seal.config_map == uid).then_some(seal)
    }

    /// Whether it is that of this image and of content with this digest.
    pub(crate) fn covers(&self, image: &str, content: &str) -> bool {
        self.image == image && self.content == content
    }
}

impl Launch<'_> {
    /// Notes what was verified, for people and for later launches.
    pub(super) async fn noted(&self, mut written: Box<Written>) -> Box<Written> {
        let bundle = written.images.bundle.clone();
        let ObservedImage { digest: Some(digest), digest_source: Some(source), .. } = bundle else {
            return written;
        };
        if source == DigestSource::EarlierLaunch {
            return written;
        }
        if self.plan.image().digest().is_none() {
            written.config_map = self.with_digest(written.config_map, &digest).await;
        }
        self.seal(&written.config_map, digest, source).await;
        written
    }

    /// The seal of a ConfigMap; none where there is no Role, because an account was given.
    pub(super) async fn sealed(&self, config_map: &ConfigMap) -> Option<Seal> {
        self.options.pod.service_account.is_none().then_some(())?;
        let name = self.plan.name();
        let api = self.api::<Role>();
        let patience = Patience::of(&self.report, PATIENCE);
        let doing = format!("read Role {name}");
        let role = patience.ask(&doing, || api.get(name)).await.ok()?.done()?;
        Seal::of(&role, config_map)
    }

    async fn seal(&self, config_map: &ConfigMap, digest: String, source: DigestSource) {
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
        // Strings always serialize.
        let text = serde_json::to_string(&seal).unwrap_or_default();
        let patch = Patch::Merge(json!({"metadata": {"annotations": {VERIFIED: text}}}));
        let api = self.api::<Role>();
        let patience = Patience::of(&self.report, PATIENCE);
        let name = self.plan.name();
        let doing = format!("annotate Role {name}");
        let params = PatchParams::default();
        // Without it the next launch makes a Job.
        let _ = patience.ask(&doing, || api.patch(name, &params, &patch)).await;
    }

    /// The ConfigMap with the digest that a tag stood for.
    async fn with_digest(&self, mut config_map: ConfigMap, digest: &str) -> ConfigMap {
        let api = self.api::<ConfigMap>();
        let patience = Patience::of(&self.report, PATIENCE);
        let attempt = config_map.annotations().get(mark::ATTEMPT).cloned();
        loop {
            // Only on the content that it is the digest of.
            let patch = Patch::Merge(json!({"metadata": {
                "resourceVersion": config_map.metadata.resource_version,
                "annotations": {IMAGE_DIGEST: digest},
            }}));
            let doing = format!("annotate ConfigMap {}", self.plan.name());
            let params = PatchParams::default();
            match patience.ask(&doing, || api.patch(self.plan.name(), &params, &patch)).await {
                Ok(Answer::Done(recorded)) => return recorded,
                Ok(Answer::Changed) => {}
                _ => return config_map,
            }
            match patience.ask(&doing, || api.get(self.plan.name())).await {
                Ok(Answer::Done(found))
                    if found.annotations().get(mark::ATTEMPT) == attempt.as_ref() =>
                {
                    config_map = found;
                }
                _ => return config_map,
            }
        }
    }
}
