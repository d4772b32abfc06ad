//! What a launch reports about its pull secrets.

use super::*;

pub(super) const DENIED: &str = "failed to pull and unpack image \"registry.example/bundles/etcd:0.9.4\": failed to resolve \
     image: pull access denied, repository does not exist or may require authorization: \
     authorization failed: no basic auth credentials";

/// Returns the event of a kubelet that failed to retrieve this pull secret of the pod.
pub(super) fn unretrieved(pod: &Value, secret: &str) -> Value {
    let message = format!(
        "Unable to retrieve some image pull secrets ({secret}); attempting to pull the image may \
         not succeed."
    );
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "event"},
        "involvedObject": {"kind": "Pod", "name": pod["metadata"]["name"]},
        "reason": "FailedToRetrieveImagePullSecret", "message": message,
    })
}

/// Launches where the kubelet failed to retrieve the pull secret `pull`, and the registry denies
/// access. The launcher may not read the kinds in `unreadable`. Returns the failure and the number
/// of attempts.
async fn denied(secret: Option<Value>, unreadable: &'static [&'static str]) -> (Failure, usize) {
    let server = Server::new(|server, job| {
        let state = json!({"waiting": {"reason": "ErrImagePull", "message": DENIED}});
        let pod = pod(job, "Pending", &state);
        server.put("events", unretrieved(&pod, "pull"));
        server.put("pods", pod);
    });
    if let Some(secret) = secret {
        server.put("secrets", secret);
    }
    let mut options = options();
    options.pod.pull_secrets = vec!["pull".to_owned()];
    let failure = launched(&server.clone().without(unreadable), options).await.0.unwrap_err();
    (failure, server.count("jobs"))
}

/// Returns a pull secret with an entry for this registry, as the API server returns it.
pub(super) fn secret(registry: &str) -> Value {
    let config = json!({"auths": {registry: {"auth": "YTpi"}}}).to_string();
    let encoded = serde_json::to_value(k8s_openapi::ByteString(config.into_bytes())).unwrap();
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"},
        "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": encoded},
    })
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_the_kubelet_could_not_retrieve_is_read_before_it_is_called_missing() {
    let (failure, n_attempts) = denied(None, &[]).await;
    assert_eq!((failure.reason, n_attempts), (Reason::NoPullSecret, 1));
    assert!(failure.message.contains("pull does not exist"), "{failure}");

    let (failure, n_attempts) = denied(Some(secret("other.example")), &[]).await;
    assert_eq!((failure.reason, n_attempts), (Reason::BadPullSecret, 1));
    assert!(failure.message.contains("has no entry for the image"), "{failure}");

    // A slow kubelet: the secret is fine.
    let (failure, n_attempts) = denied(Some(secret("registry.example")), &[]).await;
    assert_eq!((failure.reason, failure.is_transient), (Reason::NoPullSecret, true), "{failure:?}");
    assert!(failure.message.contains("failed to retrieve the pull secret pull"), "{failure}");
    assert!(n_attempts > 1, "{n_attempts} attempts");

    let (failure, _) = denied(Some(secret("registry.example")), &["secrets"]).await;
    assert_eq!((failure.reason, failure.is_transient), (Reason::NoPullSecret, false));
}
