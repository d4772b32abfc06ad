//! The Secret with the credentials of a launch.

use k8s_openapi::ByteString;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{LocalObjectReference, Secret};

use super::{Facts, Plan};

/// The type of the Secret, and the key of its value.
const TYPE: (&str, &str) = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson");
/// The value in a dry run, which is printed.
const NO_CREDENTIALS: &str = r#"{"auths":{}}"#;

/// Returns the Secret for the Job `job`. Without the id of a launch, it contains no credentials.
pub(super) fn build(plan: &Plan<'_>, job: &str, id: Option<&str>, facts: &Facts) -> Secret {
    let credentials = plan.request.credentials.as_ref().filter(|_| id.is_some());
    let value = credentials.map_or(NO_CREDENTIALS, |credentials| credentials.docker_config());
    // Two launches can try to create the same Job, and each has a Secret of its own.
    let suffix = id.map(|id| format!("-{id}")).unwrap_or_default();
    Secret {
        metadata: plan.metadata(format!("{job}-credentials{suffix}"), facts),
        type_: Some(TYPE.0.to_owned()),
        data: Some([(TYPE.1.to_owned(), ByteString(value.into()))].into()),
        // A later change could not be noticed.
        immutable: Some(true),
        ..Secret::default()
    }
}

/// Adds the Secret to the pull secrets of the Job. They are not part of the hash of its pod,
/// because the name of the Secret is random.
pub(crate) fn attach(job: &mut Job, secret: &Secret) {
    let pod = job.spec.as_mut().and_then(|spec| spec.template.spec.as_mut());
    let (Some(pod), Some(name)) = (pod, &secret.metadata.name) else { return };
    let secrets = pod.image_pull_secrets.get_or_insert_default();
    secrets.push(LocalObjectReference { name: name.clone() });
}
