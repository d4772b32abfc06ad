//! [`read_pull_secret`]: reads a pull secret for the caller's own requests to a registry.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use secrecy::SecretString;

use crate::Failure;
use crate::call::send_for_value;

/// Reads a pull secret of the cluster. Returns the JSON of a file of docker (`config.json`).
///
/// # Errors
///
/// Returns [`Reason::NoPullSecret`](crate::Reason::NoPullSecret) or
/// [`Reason::BadPullSecret`](crate::Reason::BadPullSecret) if the secret does not exist or cannot
/// be used, and an error if the API server rejects the request or cannot be reached.
pub async fn read_pull_secret(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<SecretString, Failure> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let doing = format!("read the Secret {namespace}/{name}");
    let found = send_for_value(&doing, || api.get_opt(name)).await?;
    let name = format!("{namespace}/{name}");
    unlade_diagnose::read_pull_secret(&name, found.as_ref()).map(Into::into)
}
