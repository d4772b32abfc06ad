//! The service account with its Role and RoleBinding: made, kept, or put right.

use futures::try_join;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::patience::Answer;
use super::{Launch, backoff};
use crate::object::{Facts, label};
use crate::{Failure, Reason};

impl Launch<'_> {
    /// What the unpacker needs to be allowed, unless an account was given.
    pub(super) async fn grant(&self, facts: &Facts) -> Result<(), Failure> {
        let Some(access) = self.plan.access(facts) else { return Ok(()) };
        let role = async {
            self.put(&access.role, |there: &Role, wanted: &Role| there.rules == wanted.rules)
                .await?;
            // Who may not bind just any role has to have what is in this one: it is looked up.
            self.put(&access.role_binding, |there: &RoleBinding, wanted: &RoleBinding| {
                there.role_ref == wanted.role_ref && there.subjects == wanted.subjects
            })
            .await
        };
        try_join!(self.put(&access.service_account, |_, _| true), role)?;
        Ok(())
    }

    /// Has this object there. One that isn't as wanted is made anew, as is one that another
    /// ConfigMap of our name owned, which is gone: the garbage collector will take it.
    async fn put<K>(&self, wanted: &K, is_same: impl Fn(&K, &K) -> bool) -> Result<(), Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let api = self.api::<K>();
        let patience = self.patience();
        let kind = K::kind(&());
        let name = wanted.name_any();
        let mut waits = backoff::REQUEST.waits();
        loop {
            let doing = format!("create {kind} {name}");
            let params = PostParams::default();
            match patience.ask(&doing, || api.create(&params, wanted)).await? {
                Answer::Done(_) => return Ok(()),
                Answer::Exists => {}
                answer => return answer.expected(&doing).map(drop),
            }
            let doing = format!("read {kind} {name}");
            let Some(there) = patience.ask(&doing, || api.get(&name)).await?.done() else {
                continue;
            };
            if !label::is_ours(there.meta().labels.as_ref()) {
                return Err(super::taken(&kind, &name));
            }
            let is_going = there.meta().deletion_timestamp.is_some();
            let owners = |object: &K| -> Vec<String> {
                object.owner_references().iter().map(|owner| owner.uid.clone()).collect()
            };
            // Further owners do no harm, and who set them would set them again.
            let is_owned = owners(wanted).iter().all(|owner| owners(&there).contains(owner));
            if !is_going && is_owned && is_same(&there, wanted) {
                return Ok(());
            }
            if !is_going {
                let preconditions = Preconditions { uid: there.uid(), resource_version: None };
                let params = DeleteParams::default().preconditions(preconditions);
                let doing = format!("delete {kind} {name}, which isn't as wanted");
                patience.ask(&doing, || api.delete(&name, &params)).await?;
            }
            let message = format!("the {kind} {name} is being deleted");
            patience.wait(Failure::new(Reason::Conflict, message), &mut waits).await?;
        }
    }
}
