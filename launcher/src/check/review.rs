//! Access reviews: questions to the API server's authorizers about one permission.

use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, ResourceAttributes, SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::{Api, PostParams};

use super::cluster::Cluster;
use crate::Failure;
use crate::call::send_for_value;

/// An action on a resource of the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Action<'a> {
    /// The API group, which is empty for the core group.
    pub(super) group: &'a str,
    /// The plural of the resource, such as `pods`, with a subresource if there is one, such as
    /// `pods/log`.
    pub(super) resource: &'a str,
    pub(super) verb: &'a str,
    /// The name of the object. `None` stands for all objects.
    pub(super) name: Option<&'a str>,
}

impl Cluster<'_> {
    /// Asks whether the current user may do this.
    pub(super) async fn may(&self, action: Action<'_>) -> Result<bool, Failure> {
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(self.attributes(action)),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let (doing, params) = ("create a SelfSubjectAccessReview", PostParams::default());
        let response = send_for_value(doing, || api.create(&params, &review)).await?;
        Ok(is_allowed(response.status.as_ref()))
    }

    /// Asks whether a service account of the namespace may do this.
    pub(super) async fn may_account(
        &self,
        account: &str,
        action: Action<'_>,
    ) -> Result<bool, Failure> {
        let namespace = self.namespace;
        // The groups that the API server derives from a token (apiserver
        // `serviceaccount.UserInfo`).
        let groups = vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        let spec = SubjectAccessReviewSpec {
            resource_attributes: Some(self.attributes(action)),
            user: Some(format!("system:serviceaccount:{namespace}:{account}")),
            groups: Some(groups),
            ..SubjectAccessReviewSpec::default()
        };
        // A namespaced review, because administrators of the namespace may create these.
        let review = LocalSubjectAccessReview { spec, ..LocalSubjectAccessReview::default() };
        let api: Api<LocalSubjectAccessReview> = self.api();
        let (doing, params) = ("create a LocalSubjectAccessReview", PostParams::default());
        let response = send_for_value(doing, || api.create(&params, &review)).await?;
        Ok(is_allowed(response.status.as_ref()))
    }

    fn attributes(&self, action: Action<'_>) -> ResourceAttributes {
        let (resource, subresource) = match action.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource)),
            None => (action.resource, None),
        };
        ResourceAttributes {
            namespace: Some(self.namespace.to_owned()),
            group: Some(action.group.to_owned()),
            resource: Some(resource.to_owned()),
            subresource: subresource.map(str::to_owned),
            verb: Some(action.verb.to_owned()),
            name: action.name.map(str::to_owned),
            ..ResourceAttributes::default()
        }
    }
}

fn is_allowed(status: Option<&SubjectAccessReviewStatus>) -> bool {
    status.is_some_and(|status| status.allowed)
}
