//! Records what a launch has verified: the digest of a tag, and the [`Seal`]. The requests are
//! retried only briefly, because the bundle is already unpacked, and only its reuse depends on the
//! record.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::Role;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use unlade_config_map::{
    mark,
    protocol::record::{IMAGE_DIGEST, VERIFIED},
};

use super::Launch;
use super::judge::Written;
use crate::call::backoff::{self, Waits};
use crate::call::{Reply, Retrier};
use crate::object::Facts;
use crate::seal::Seal;
use crate::{DigestSource, Failure, ObservedImage, Reason};

impl Launch<'_> {
    /// Records what was verified, for people and for later launches. A pack has its own Role, so
    /// the Role of its ConfigMap may not exist yet.
    pub(super) async fn record_verification(
        &self,
        mut written: Box<Written>,
        is_in_pack: bool,
    ) -> Box<Written> {
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
        self.write_seal(&written.config_map, digest, source, is_in_pack).await;
        written
    }

    /// Reads the seal of a ConfigMap. Returns `None` with a given service account, because there is
    /// no Role.
    pub(super) async fn read_seal(&self, config_map: &ConfigMap) -> Option<Seal> {
        self.launcher.options.pod.service_account.is_none().then_some(())?;
        let name = self.plan.name();
        let api = self.api::<Role>();
        let retrier = self.brief_retrier();
        let doing = format!("read the Role {name}");
        let role = retrier.send(&doing, || api.get(name)).await.ok()?.value()?;
        Seal::from_role(&role, config_map)
    }

    /// Sends a patch that annotates the ConfigMap. Pauses if the ConfigMap has changed since it was
    /// read, and fails if it still changes at the deadline of the retrier.
    pub(super) async fn annotate_config_map(
        &self,
        retrier: &Retrier<'_>,
        waits: &mut Waits,
        patch: Value,
    ) -> Result<Reply<ConfigMap>, Failure> {
        let api = self.api::<ConfigMap>();
        let name = self.plan.name();
        let doing = format!("annotate the ConfigMap {name}");
        let (patch, params) = (Patch::Merge(patch), PatchParams::default());
        let reply = retrier.send(&doing, || api.patch(name, &params, &patch)).await?;
        if matches!(reply, Reply::Changed) {
            let message =
                format!("failed to {doing}: another client changed it before each attempt");
            retrier.wait(Failure::new(Reason::ApiRefused, message), waits).await?;
        }
        Ok(reply)
    }

    async fn write_seal(
        &self,
        config_map: &ConfigMap,
        digest: String,
        source: DigestSource,
        is_in_pack: bool,
    ) {
        let content = config_map.annotations().get(mark::DIGEST).cloned();
        let (Some(uid), Some(content)) = (config_map.uid(), content) else { return };
        let facts = Facts { config_map_uid: Some(uid.clone()), ..Facts::default() };
        let Some(access) = self.plan.access(&facts) else { return };
        let seal = Seal {
            config_map: uid,
            content,
            image: self.request.image.clone(),
            image_digest: digest,
            digest_source: source,
        };
        // Serialization cannot fail: there are only strings.
        let text = serde_json::to_string(&seal).unwrap_or_default();
        let retrier = self.brief_retrier();
        if is_in_pack && self.create_sealed_role(&retrier, access.role, &text).await {
            return;
        }
        let patch = Patch::Merge(json!({"metadata": {"annotations": {VERIFIED: text}}}));
        let api = self.api::<Role>();
        let name = self.plan.name();
        let doing = format!("annotate the Role {name}");
        let params = PatchParams::default();
        // Without the seal the next launch only creates another Job.
        let _ = retrier.send(&doing, || api.patch(name, &params, &patch)).await;
    }

    /// Records the digest of a tag on the ConfigMap.
    async fn record_digest(&self, mut config_map: ConfigMap, digest: &str) -> ConfigMap {
        let api = self.api::<ConfigMap>();
        let name = self.plan.name();
        let retrier = self.brief_retrier();
        let mut waits = backoff::REQUEST.waits();
        loop {
            // The resource version ensures that the digest is recorded on the same content.
            let patch = json!({"metadata": {
                "resourceVersion": config_map.metadata.resource_version,
                "annotations": {IMAGE_DIGEST: digest},
            }});
            match self.annotate_config_map(&retrier, &mut waits, patch).await {
                Ok(Reply::Done(recorded)) => return recorded,
                Ok(Reply::Changed) => {}
                _ => return config_map,
            }
            let doing = format!("read the ConfigMap {name}");
            match retrier.send(&doing, || api.get(name)).await {
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
