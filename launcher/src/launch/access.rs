//! The service account with its Role and RoleBinding: made, kept, or put right.

use futures::try_join;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams, Preconditions};
use unlade_config_map::record::SPEC_HASH;

use super::patience::Answer;
use super::{Launch, backoff};
use crate::object::{Facts, Kind, label, spec_hash};
use crate::{Failure, Reason};

impl Launch<'_> {
    /// What the unpacker needs to be allowed, unless an account was given.
    pub(super) async fn grant(&self, facts: &Facts) -> Result<(), Failure> {
        let Some(mut access) = self.plan.access(facts) else { return Ok(()) };
        let hash = spec_hash::of(&access.role.rules);
        access.role.annotations_mut().insert(SPEC_HASH.to_owned(), hash);
        let hash = spec_hash::of(&(&access.role_binding.role_ref, &access.role_binding.subjects));
        access.role_binding.annotations_mut().insert(SPEC_HASH.to_owned(), hash);
        let role = async {
            self.put(&access.role, suffices).await?;
            // Who may not bind just any role has to have what is in this one: it is looked up.
            self.put(&access.role_binding, binds).await
        };
        try_join!(self.put(&access.service_account, |_, _| true), role)?;
        Ok(())
    }

    /// Ensures that this object exists. An unsuitable object is recreated, and so is one that an
    /// earlier ConfigMap of the same name owned, because the garbage collector will delete it.
    async fn put<K: Kind>(
        &self,
        wanted: &K,
        is_same: impl Fn(&K, &K) -> bool,
    ) -> Result<(), Failure> {
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

/// Whether the Role grants what the unpacker needs. A Role that no launch created for this purpose
/// must grant nothing more. Rules that are added to our Roles later, for example by a policy
/// controller, are kept: deleting the Role would take it away from a pod that is using it, and
/// anyone who may add rules can also bind them to the account directly.
fn suffices(there: &Role, wanted: &Role) -> bool {
    let (granted, needed) = (there.rules.as_deref(), wanted.rules.as_deref());
    let (granted, needed) = (granted.unwrap_or_default(), needed.unwrap_or_default());
    let is_granted = |rule: &PolicyRule| granted.contains(rule);
    there.rules == wanted.rules
        || (spec_hash::is_same(there, wanted) && needed.iter().all(is_granted))
}

/// Whether the binding grants the Role to our account. It may grant the Role to others only if they
/// were added later.
fn binds(there: &RoleBinding, wanted: &RoleBinding) -> bool {
    let (bound, needed) = (there.subjects.as_deref(), wanted.subjects.as_deref());
    let (bound, needed) = (bound.unwrap_or_default(), needed.unwrap_or_default());
    let is_same = there.subjects == wanted.subjects
        || (spec_hash::is_same(there, wanted) && needed.iter().all(|it| bound.contains(it)));
    there.role_ref == wanted.role_ref && is_same
}
