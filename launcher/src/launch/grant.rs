//! Creates the service account with its Role and RoleBinding, and repairs changed ones.

use futures::try_join;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams, Preconditions};
use unlade_config_map::protocol::record::VERIFIED;

use super::Launch;
use crate::call::{Reply, Retrier, backoff, create};
use crate::object::{Facts, Kind, label, spec_hash};
use crate::{Failure, Reason};

impl Launch<'_> {
    /// Grants the unpacker its permissions, unless a service account is given.
    pub(super) async fn grant(&self, facts: &Facts) -> Result<(), Failure> {
        let Some(access) = self.plan.access(facts) else { return Ok(()) };
        let retrier = &self.retrier();
        let role = async {
            self.ensure(retrier, &access.role, suffices).await?;
            // RBAC escalation check: without `bind`, the caller must hold the Role's own
            // permissions, so the Role must exist first.
            self.ensure(retrier, &access.role_binding, binds).await
        };
        try_join!(self.ensure(retrier, &access.service_account, |_, _| true), role)?;
        Ok(())
    }

    /// Creates the Role of a ConfigMap that a pack has filled, with this seal. No binding uses it.
    /// Returns false if the Role already existed, and ensures in this case that it is ours.
    pub(super) async fn create_sealed_role(
        &self,
        retrier: &Retrier<'_>,
        role: Role,
        seal: &str,
    ) -> bool {
        let mut sealed = role.clone();
        sealed.annotations_mut().insert(VERIFIED.to_owned(), seal.to_owned());
        let api = self.api::<Role>();
        let doing = format!("create the Role {}", role.name_any());
        let params = PostParams::default();
        match retrier.send(&doing, || create(&api, &params, &sealed)).await {
            // A failure means only that the next launch creates another Job.
            Ok(Reply::Exists) => self.ensure(retrier, &role, suffices).await.is_err(),
            _ => true,
        }
    }

    /// Ensures that this object exists. An unsuitable object is recreated, and so is one that an
    /// earlier ConfigMap of the same name owned, because the garbage collector will delete it.
    async fn ensure<K: Kind>(
        &self,
        retrier: &Retrier<'_>,
        wanted: &K,
        is_same: impl Fn(&K, &K) -> bool,
    ) -> Result<(), Failure> {
        let api = self.api::<K>();
        let kind = K::kind(&());
        let name = wanted.name_any();
        let mut waits = backoff::REQUEST.waits();
        loop {
            let doing = format!("create the {kind} {name}");
            let params = PostParams::default();
            match retrier.send(&doing, || create(&api, &params, wanted)).await? {
                Reply::Done(_) => return Ok(()),
                Reply::Exists => {}
                response => return response.expect_value(&doing).map(drop),
            }
            let doing = format!("read the {kind} {name}");
            let Some(existing) = retrier.send(&doing, || api.get(&name)).await?.value() else {
                let message = format!("the {kind} {name} was deleted");
                retrier.wait(Failure::new(Reason::Conflict, message), &mut waits).await?;
                continue;
            };
            if !label::is_ours(existing.meta().labels.as_ref()) {
                return Err(super::name_taken(&kind, &name));
            }
            let is_going = existing.meta().deletion_timestamp.is_some();
            let owners = |object: &K| -> Vec<String> {
                object.owner_references().iter().map(|owner| owner.uid.clone()).collect()
            };
            // Additional owners are harmless, and their author would set them again.
            let is_owned = owners(wanted).iter().all(|owner| owners(&existing).contains(owner));
            if !is_going && is_owned && is_same(&existing, wanted) {
                return Ok(());
            }
            if !is_going {
                let preconditions = Preconditions { uid: existing.uid(), resource_version: None };
                let params = DeleteParams::default().preconditions(preconditions);
                let doing = format!("delete the {kind} {name}");
                retrier.send(&doing, || api.delete(&name, &params)).await?;
            }
            let message = format!("the {kind} {name} is being deleted");
            retrier.wait(Failure::new(Reason::Conflict, message), &mut waits).await?;
        }
    }
}

/// Checks whether the Role grants what the unpacker needs. A Role that no launch created for this
/// purpose must grant nothing more. Rules that are added to our Roles later, for example by a
/// policy controller, are kept: deleting the Role would take it away from a pod that is using it.
/// Keeping them grants nothing new, because a user who can add rules to a Role can also bind those
/// rules to the account.
fn suffices(existing: &Role, wanted: &Role) -> bool {
    let (granted, needed) = (existing.rules.as_deref(), wanted.rules.as_deref());
    let (granted, needed) = (granted.unwrap_or_default(), needed.unwrap_or_default());
    let is_granted = |rule: &PolicyRule| granted.contains(rule);
    existing.rules == wanted.rules
        || (spec_hash::is_same(existing, wanted) && needed.iter().all(is_granted))
}

/// Checks whether the binding grants the Role to our account. It may grant the Role to others only
/// if they were added later.
fn binds(existing: &RoleBinding, wanted: &RoleBinding) -> bool {
    let (bound, needed) = (existing.subjects.as_deref(), wanted.subjects.as_deref());
    let (bound, needed) = (bound.unwrap_or_default(), needed.unwrap_or_default());
    let is_same = existing.subjects == wanted.subjects
        || (spec_hash::is_same(existing, wanted) && needed.iter().all(|it| bound.contains(it)));
    existing.role_ref == wanted.role_ref && is_same
}
