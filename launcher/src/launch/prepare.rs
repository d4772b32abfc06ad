//! The ConfigMap: made, or found.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use unlade_config_map::record::IMAGE;

use super::Launch;
use super::backoff;
use super::patience::Answer;
use crate::object::label;
use crate::{Failure, Name, Reason, Remedy};

/// The ConfigMap that is to be filled.
pub(super) struct Prepared {
    /// It may be filled already.
    pub(super) config_map: ConfigMap,
    /// Whether it was made just now.
    pub(super) is_new: bool,
}

impl Launch<'_> {
    /// Makes or finds the ConfigMap.
    pub(super) async fn prepare(&self) -> Result<Prepared, Failure> {
        let api = self.api::<ConfigMap>();
        let patience = self.patience();
        let object = self.plan.config_map();
        let name = self.plan.name();
        let mut waits = backoff::REQUEST.waits();
        loop {
            let params = PostParams::default();
            let doing = format!("create ConfigMap {name}");
            let answer = patience.ask(&doing, || api.create(&params, &object)).await?;
            if !matches!(answer, Answer::Exists) {
                let config_map = answer.expected(&doing)?;
                return Ok(Prepared { config_map, is_new: true });
            }
            let doing = format!("read ConfigMap {name}");
            let Some(found) = patience.ask(&doing, || api.get(name)).await?.done() else {
                continue;
            };
            if found.metadata.deletion_timestamp.is_some() {
                let message = format!("the ConfigMap {name} is being deleted");
                let failure = Failure::new(Reason::ConfigMapDeleted, message);
                patience.wait(failure, &mut waits).await?;
                continue;
            }
            if !label::is_ours(found.metadata.labels.as_ref()) {
                return Err(super::taken("ConfigMap", name));
            }
            return Ok(Prepared { config_map: found, is_new: false });
        }
    }

    /// Whether the ConfigMap has the image and the owner of this request.
    pub(super) fn is_adapted(&self, found: &ConfigMap) -> bool {
        let is_of_image = found.annotations().get(IMAGE) == Some(&self.request.image);
        let owners = found.owner_references();
        let is_owned = |wanted: &OwnerReference| owners.iter().any(|owner| owner.uid == wanted.uid);
        is_of_image && self.request.owner.as_ref().is_none_or(is_owned)
    }

    /// The ConfigMap with what this request wants of it; none if it is gone.
    pub(super) async fn adapted(&self, found: ConfigMap) -> Result<Option<ConfigMap>, Failure> {
        let image = found.annotations().get(IMAGE);
        let is_of_image = image == Some(&self.request.image);
        // A name that was given may be used for one image after the other.
        let is_given = matches!(self.request.name, Name::Given(_));
        if let Some(other) = image.filter(|_| !is_of_image && !is_given) {
            let name = self.plan.name();
            let message = format!("the ConfigMap {name} is that of another image, {other}");
            return Err(Failure::new(Reason::NameTaken, message)
                .hinted(Some("delete it"))
                .with_remedies(&[Remedy::Name])
                .bounded());
        }
        if self.is_adapted(&found) {
            return Ok(Some(found));
        }
        // Owners are merged by their uids.
        let patch = Patch::Strategic(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "uid": found.metadata.uid,
                "annotations": {IMAGE: self.request.image},
                "ownerReferences": self.request.owner.iter().collect::<Vec<_>>(),
            },
        }));
        let api = self.api::<ConfigMap>();
        let doing = format!("annotate ConfigMap {}", self.plan.name());
        let params = PatchParams::default();
        let answer =
            self.patience().ask(&doing, || api.patch(self.plan.name(), &params, &patch)).await?;
        Ok(answer.done())
    }
}
