//! [`create`]: creates an object whose name may be taken.

use std::fmt::Debug;

use kube::api::PostParams;
use kube::core::Status;
use kube::{Api, Resource, ResourceExt};
use serde::{Serialize, de::DeserializeOwned};

use crate::Reason;
use crate::client::classify_request_error;

/// Creates an object. If an object of this name exists, the error says so even if a quota is
/// exhausted. The API server itself rejects the request because of the quota in this case:
/// admission comes before the storage, which knows the names (`Store.Create` of k8s.io/apiserver).
///
/// # Errors
///
/// Returns the error of the API server, or `AlreadyExists` in place of an exhausted quota.
pub(crate) async fn create<K>(api: &Api<K>, params: &PostParams, object: &K) -> kube::Result<K>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    let name = object.name_any();
    let error = match api.create(params, object).await {
        Ok(created) => return Ok(created),
        Err(error) => error,
    };
    let is_of_quota = classify_request_error(&error, "create the object").reason == Reason::Quota;
    // Without permission to read the object, the quota is all that is known.
    if is_of_quota && let Ok(Some(_)) = api.get_metadata_opt(&name).await {
        let status = Status::failure(&format!("{name} already exists"), "AlreadyExists");
        return Err(kube::Error::Api(status.with_code(409).boxed()));
    }
    Err(error)
}
