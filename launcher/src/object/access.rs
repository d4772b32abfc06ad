//! The service account, the Role and the RoleBinding that allow the pod to fill its ConfigMaps, and
//! nothing else.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};

use super::{Facts, Plan, spec_hash};

/// The API group of Roles and RoleBindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// The verbs that the unpacker uses on its ConfigMap, and that the Role grants.
pub(crate) const VERBS: [&str; 2] = ["get", "update"];

/// A service account that may get and update one ConfigMap, or those of a pack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Access {
    pub(crate) service_account: ServiceAccount,
    pub(crate) role: Role,
    pub(crate) role_binding: RoleBinding,
}

pub(super) fn access(plan: &Plan<'_>, facts: &Facts) -> Access {
    let name = &plan.name;
    let metadata = plan.metadata(name.clone(), facts);
    let service_account = ServiceAccount {
        metadata: metadata.clone(),
        // Any other pod that runs as this account must request the token explicitly.
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    };
    let allowed = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".into()]),
        // RBAC cannot restrict `create` by name, so the launcher creates the ConfigMap.
        resource_names: Some(plan.config_maps()),
        verbs: VERBS.map(str::to_owned).into(),
        ..PolicyRule::default()
    };
    let mut role = Role { metadata: metadata.clone(), rules: Some(vec![allowed]) };
    spec_hash::record(&mut role.metadata, &role.rules);
    let mut role_binding = RoleBinding {
        metadata,
        role_ref: RoleRef { api_group: Some(RBAC.into()), kind: "Role".into(), name: name.clone() },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".into(),
            name: name.clone(),
            namespace: Some(plan.request.namespace.clone()),
            ..Subject::default()
        }]),
    };
    let granted = (&role_binding.role_ref, &role_binding.subjects);
    spec_hash::record(&mut role_binding.metadata, &granted);
    Access { service_account, role, role_binding }
}
