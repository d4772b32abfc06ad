//! Whether OpenShift assigns the uid of the pod.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use crate::call::{Reply, Retrier};
use crate::object::assigns_uids;
use crate::{Options, Strategy, User};

/// Reads from the namespace whether OpenShift assigns the pod's uid. Returns false if the options
/// determine the uid, or if the caller may not read the namespace.
pub(crate) async fn is_assigned(
    client: &Client,
    retrier: &Retrier<'_>,
    options: &Options,
    namespace: &str,
) -> bool {
    if options.pod.user != User::Auto || options.strategy == Strategy::ImageVolume {
        return false;
    }
    let api: Api<Namespace> = Api::all(client.clone());
    let doing = format!("read the namespace {namespace}");
    let response = retrier.send(&doing, || api.get(namespace)).await;
    response.ok().and_then(Reply::value).is_some_and(|namespace| assigns_uids(&namespace))
}
