//! Creation or adoption of the ConfigMap.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use unlade_config_map::protocol::record::IMAGE;

use super::Launch;
use super::judge::config_map_deleted;
use crate::call::{Reply, backoff, create};
use crate::object::label;
use crate::{Failure, Name, Reason, Remedy};

/// The ConfigMap to fill.
pub(super) struct Prepared {
    /// The ConfigMap, which may already be filled.
    pub(super) config_map: ConfigMap,
    /// Whether this launch has just created it.
    pub(super) is_new: bool,
}

impl Launch<'_> {
    /// Creates the ConfigMap, or finds the existing one.
    pub(super) async fn prepare(&self) -> Result<Prepared, Failure> {
        let api = self.api::<ConfigMap>();
        let retrier = self.retrier();
        let object = self.plan.config_map();
        let name = self.plan.name();
        let mut waits = backoff::REQUEST.waits();
        loop {
            let params = PostParams::default();
            let doing = format!("create the ConfigMap {name}");
            let response = retrier.send(&doing, || create(&api, &params, &object)).await?;
            if !matches!(response, Reply::Exists) {
                let config_map = response.expect_value(&doing)?;
                return Ok(Prepared { config_map, is_new: true });
            }
            let doing = format!("read the ConfigMap {name}");
            let Some(found) = retrier.send(&doing, || api.get(name)).await?.value() else {
                retrier.wait(config_map_deleted(name), &mut waits).await?;
                continue;
            };
            if found.metadata.deletion_timestamp.is_some() {
                let message = format!("the ConfigMap {name} is being deleted");
                let failure = Failure::new(Reason::ConfigMapDeleted, message);
                retrier.wait(failure, &mut waits).await?;
                continue;
            }
            if !label::is_ours(found.metadata.labels.as_ref()) {
                return Err(super::name_taken("ConfigMap", name));
            }
            return Ok(Prepared { config_map: found, is_new: false });
        }
    }

    /// Checks whether the ConfigMap has the image and the owner of this request.
    pub(super) fn is_adapted(&self, found: &ConfigMap) -> bool {
        let is_of_image = found.annotations().get(IMAGE) == Some(&self.request.image);
        let owners = found.owner_references();
        let is_owned = |wanted: &OwnerReference| owners.iter().any(|owner| owner.uid == wanted.uid);
        is_of_image && self.request.owner.as_ref().is_none_or(is_owned)
    }

    /// Adds the image and the owner of this request to the ConfigMap. Returns `None` if the
    /// ConfigMap no longer exists.
    pub(super) async fn adapt(&self, found: ConfigMap) -> Result<Option<ConfigMap>, Failure> {
        let image = found.annotations().get(IMAGE);
        let is_of_image = image == Some(&self.request.image);
        // A ConfigMap whose name the caller chose may be used for another image later.
        let is_given = matches!(self.request.name, Name::Given(_));
        if let Some(other) = image.filter(|_| !is_of_image && !is_given) {
            let name = self.plan.name();
            let message = format!("the ConfigMap {name} belongs to another image, {other}");
            return Err(Failure::new(Reason::NameTaken, message)
                .with_advice("delete the ConfigMap", &[Remedy::Name])
                .bounded());
        }
        if self.is_adapted(&found) {
            return Ok(Some(found));
        }
        // A strategic merge adds the owner to the others, because the uid is the merge key.
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
        let doing = format!("annotate the ConfigMap {}", self.plan.name());
        let params = PatchParams::default();
        let response =
            self.retrier().send(&doing, || api.patch(self.plan.name(), &params, &patch)).await?;
        Ok(response.value())
    }
}
