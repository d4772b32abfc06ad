//! Content whose image is not the requested one.

use http::Method;
use kube::ResourceExt;
use unlade_config_map::{Encoding, mark};

use super::*;
use crate::{DigestSource, Reuse};
use unlade_api_server::{Arrival, Disturbance, State};
use unlade_name::ImageReference;

const ONE: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const TWO: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

pub(super) fn by_digest() -> String {
    format!("registry.example/one@{ONE}")
}

pub(super) async fn launch(
    server: &Server,
    options: Options,
    image: &str,
) -> Result<Launched, Failure> {
    let launcher = Launcher::new(server.client(), options);
    launcher.launch(&Request::new(image, "default")).await
}

pub(super) fn inject() -> Options {
    Options { strategy: Strategy::Inject, ..options() }
}

/// Returns a pod of the Job that has written the ConfigMap, and whose node reports this image.
pub(super) fn reported(job: &Value, report: &str) -> Value {
    let mut pod = pod(job, "Succeeded", &json!({"terminated": {"exitCode": 0}}));
    pod["status"]["containerStatuses"][0]["imageID"] = json!(report);
    pod
}

/// Returns the same pod after admission has replaced the bundle image.
fn replaced(job: &Value, image: &str) -> Value {
    let mut pod = reported(job, image);
    for container in pod["spec"]["containers"].as_array_mut().unwrap() {
        container["image"] = json!(image);
    }
    pod
}

#[tokio::test(start_paused = true)]
async fn a_replaced_image_fails_and_leaves_no_content() {
    let other = format!("registry.example/two@{TWO}");
    let server = Server::new({
        let other = other.clone();
        move |server, job| {
            server.fill(job);
            server.put("pods", replaced(job, &other));
        }
    });
    let failure = launch(&server, inject(), &by_digest()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::ImageReplaced, "{failure:?}");
    assert!(failure.message.contains(&other), "{failure:?}");
    assert!(!failure.is_transient);
    let config_map = server.object("configmaps", "");
    assert_eq!(config_map.get("data"), None, "{config_map}");
    let annotations = config_map["metadata"]["annotations"].as_object().unwrap();
    let keys: Vec<_> = annotations.keys().map(String::as_str).collect();
    assert_eq!(keys, [record::FAILURE, record::IMAGE]);
    assert_eq!(server.object("jobs", "-1")["spec"]["activeDeadlineSeconds"], 1, "it was ended");
    let role = server.object("roles", "");
    assert_eq!(role["metadata"]["annotations"].get(record::VERIFIED), None, "no seal");
}

#[tokio::test(start_paused = true)]
async fn a_replaced_image_fails_before_it_runs() {
    let other = format!("registry.example/two@{TWO}");
    let server = Server::new(move |server, job| {
        let mut pod = replaced(job, &other);
        pod["status"] = json!({"phase": "Pending"});
        server.put("pods", pod);
    });
    let failure = launch(&server, inject(), &by_digest()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::ImageReplaced, "{failure:?}");
    let server = Server::new(|server, job| {
        let mut changed = job.clone();
        let unpack = &mut changed["spec"]["template"]["spec"]["containers"][0];
        unpack["image"] = json!(format!("registry.example/two@{TWO}"));
        server.put("jobs", changed);
    });
    let failure = launch(&server, inject(), &by_digest()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::ImageReplaced, "the Job's: {failure:?}");
}

#[tokio::test(start_paused = true)]
async fn content_of_a_replaced_image_is_not_a_success_at_the_last_moment() {
    // The watch reports the failure before the filled ConfigMap.
    let server = Server::new(|server, job| {
        server.fill_unseen(job);
        let mut pod =
            pod(job, "Failed", &json!({"terminated": {"exitCode": 137, "reason": "Error"}}));
        pod["status"]["containerStatuses"][0]["imageID"] = json!("");
        server.put("pods", pod);
        let mut failed = job.clone();
        failed["status"]["conditions"] =
            json!([{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]);
        server.put("jobs", failed);
    });
    let failure = launch(&server, inject(), &by_digest()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::ImageUnverified, "{failure:?}");
    assert_eq!(server.object("configmaps", "").get("data"), None);
}

#[tokio::test(start_paused = true)]
async fn content_that_someone_changed_after_the_pod_wrote_it_is_not_a_success() {
    for is_seen in [true, false] {
        let server = Server::new(move |server, job| {
            if server.count("jobs") > 1 {
                return server.fill(job);
            }
            // Someone has replaced the content together with its marks.
            let config_map = job["metadata"]["ownerReferences"][0]["name"].clone();
            let written = json!([{"configMap": config_map, "verdict": "written", "digest": ONE}]);
            let state = json!({"terminated": {"exitCode": 0, "message": written.to_string()}});
            if is_seen {
                server.fill(job);
            } else {
                server.fill_unseen(job);
            }
            server.put("pods", pod(job, "Succeeded", &state));
            let mut failed = job.clone();
            failed["status"]["conditions"] =
                json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]);
            server.put("jobs", failed);
        });
        let launched = launch(&server, options(), IMAGE).await.unwrap();
        assert!(launched.job.as_ref().unwrap().ends_with("-2"), "{launched:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn content_that_someone_changes_while_its_image_is_recorded_is_not_sealed() {
    let is_record =
        |method: &Method, path: &str| method == Method::PATCH && path.contains("/configmaps/");
    let server = Server::new(|server, job| {
        server.fill(job);
        server.put("pods", reported(job, &format!("registry.example/bundles/etcd@{ONE}")));
    });
    let server = server.disturbed(move |arrival| {
        is_record(arrival.method, arrival.path)
            .then_some(Disturbance::Delay(Duration::from_secs(1)))
    });
    let change = async {
        while !server.requests().iter().any(|it| is_record(&it.method, &it.path)) {
            sleep(Duration::from_millis(10)).await;
        }
        let mut config_map = server.object("configmaps", "");
        let digest = &mut config_map["metadata"]["annotations"][mark::DIGEST];
        let written = digest.as_str().unwrap().to_owned();
        *digest = json!(TWO);
        server.put("configmaps", config_map);
        written
    };
    let (launched, written) = join!(launch(&server, inject(), IMAGE), change);
    let config_map = launched.unwrap().config_map;
    assert_eq!(config_map.annotations()[mark::DIGEST], written);
    let role = server.object("roles", "");
    let seal = role["metadata"]["annotations"][record::VERIFIED].as_str().unwrap();
    assert!(seal.contains(&written) && !seal.contains(TWO), "{seal}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_before_it_was_observed_is_followed_by_another() {
    let server = Server::new(|server, job| {
        server.fill(job);
        if server.count("jobs") > 1 {
            server.put("pods", reported(job, &by_digest()));
        }
    });
    let launched = launch(&server, inject(), &by_digest()).await.unwrap();
    assert!(launched.job.as_ref().unwrap().ends_with("-2"), "{launched:?}");
    assert_eq!(launched.image.digest.as_deref(), Some(ONE));
    assert_eq!(launched.image.digest_source, Some(DigestSource::ContainerStatus));
}

#[tokio::test(start_paused = true)]
async fn only_content_that_a_launch_has_verified_is_reused() {
    let server = Server::new(|server, job| {
        server.fill(job);
        server.put("pods", reported(job, &by_digest()));
    });
    let first = launch(&server, inject(), &by_digest()).await.unwrap();
    let again = launch(&server, inject(), &by_digest()).await.unwrap();
    assert_eq!(again.job, None);
    assert_eq!(again.image.digest.as_deref(), Some(ONE));
    assert_eq!(again.image.digest_source, Some(DigestSource::EarlierLaunch));
    // Someone has created a Job that seems to fill the ConfigMap from another image.
    let mut forged = server.object("jobs", "-1");
    forged["metadata"]["name"] = json!("forged");
    forged["metadata"]["uid"] = json!("forged");
    forged["metadata"]["annotations"][record::IMAGE] = json!("registry.example/other:1");
    server.put("jobs", forged);
    let again = launch(&server, inject(), &by_digest()).await.unwrap();
    assert_eq!(again.image.digest_source, Some(DigestSource::EarlierLaunch));

    // The same ConfigMap on another cluster, where no launch has created it.
    let forged = Server::new(|server, job| {
        server.fill(job);
        server.put("pods", reported(job, &by_digest()));
    });
    forged.put("configmaps", serde_json::to_value(&first.config_map).unwrap());
    let launched = launch(&forged, inject(), &by_digest()).await.unwrap();
    assert!(launched.job.is_some());
}

#[tokio::test(start_paused = true)]
async fn unverified_content_of_an_interrupted_launch_is_not_reused() {
    let server = Server::new(|server, job| {
        server.fill(job);
        if server.count("jobs") > 1 {
            server.put("pods", reported(job, &by_digest()));
        }
    });
    // The launch waits for the pod, which does not appear in this time.
    let image = by_digest();
    let interrupted =
        tokio::time::timeout(Duration::from_secs(5), launch(&server, inject(), &image));
    assert!(interrupted.await.is_err());
    assert!(server.object("configmaps", "").get("data").is_some());
    let launched = launch(&server, inject(), &image).await.unwrap();
    assert!(launched.job.unwrap().ends_with("-2"));
}

#[tokio::test(start_paused = true)]
async fn the_digest_behind_a_tag_is_recorded_where_the_node_reports_it() {
    let server = Server::new(|server, job| {
        server.fill(job);
        server.put("pods", reported(job, &format!("registry.example/etcd@{TWO}")));
    });
    let launched = launch(&server, inject(), IMAGE).await.unwrap();
    assert_eq!(launched.image.digest.as_deref(), Some(TWO));
    let config_map = server.object("configmaps", "");
    assert_eq!(config_map["metadata"]["annotations"][record::IMAGE_DIGEST], TWO);
    let by_tag = Options { reuse: Reuse::Tag, ..inject() };
    assert_eq!(launch(&server, by_tag, IMAGE).await.unwrap().job, None);

    let server = Server::new(State::fill);
    let mounted = Options { strategy: Strategy::ImageVolume, ..options() };
    let launched = launch(&server, mounted, IMAGE).await.unwrap();
    assert_eq!(launched.image.digest, None, "it is not guessed");
}

#[tokio::test(start_paused = true)]
async fn a_config_map_of_another_image_is_left_alone() {
    let server = Server::new(|_, _| panic!("there is a Job"));
    let image = ImageReference::parse(IMAGE).unwrap();
    let name = crate::name::derived(&image, Encoding::Auto);
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "uid": "theirs",
            "labels": {"app.kubernetes.io/managed-by": "unlade"},
            "annotations": {record::IMAGE: "registry.example/other:1"},
        },
        "data": {"csv.yaml": "kind: A"},
    });
    server.put("configmaps", theirs);
    let failure = launch(&server, options(), IMAGE).await.unwrap_err();
    assert_eq!(failure.reason, Reason::NameTaken, "{failure:?}");
    assert!(failure.message.contains("registry.example/other:1"), "{failure:?}");
    let config_map = server.object("configmaps", "");
    assert_eq!(config_map["metadata"]["resourceVersion"], "1", "nothing was written");
}

/// Returns an event that claims to come from the Job controller.
fn refusal(job: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "FailedCreate",
        "metadata": {"name": "forged", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "involvedObject": {"uid": job["metadata"]["uid"]},
        "message": "Error creating: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"",
        "source": {"component": "job-controller"},
    })
}

#[tokio::test(start_paused = true)]
async fn an_event_ends_a_launch_only_if_the_api_server_confirms_it() {
    let server = Server::new(|server, job| drop(server.put("events", refusal(job))));
    let failure = launch(&server, options(), IMAGE).await.unwrap_err();
    assert_eq!(failure.reason, Reason::PodSecurity, "{failure:?}");
    assert!(failure.message.starts_with("timed out after 120 s"), "{failure:?}");

    let confirming = Server::new(|server, job| drop(server.put("events", refusal(job))));
    let confirming = confirming.without(&["dry runs of pods"]);
    let failure = launch(&confirming, inject(), IMAGE).await.unwrap_err();
    assert_eq!(failure.reason, Reason::PodSecurity, "{failure:?}");
    assert!(!failure.message.starts_with("timed out"), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_changes_all_the_time_is_annotated_with_pauses_until_a_deadline() {
    let is_patch =
        |method: &Method, path: &str| method == Method::PATCH && path.contains("/configmaps/");
    let conflict = move |arrival: &Arrival<'_>| {
        is_patch(arrival.method, arrival.path)
            .then(|| Disturbance::status(409, "Conflict", "the object has been modified"))
    };
    let count = |server: &Server| {
        let requests = server.requests();
        requests.iter().filter(|it| is_patch(&it.method, &it.path)).count()
    };
    let filled = Server::new(|server, job| {
        server.fill(job);
        server.put("pods", reported(job, &format!("registry.example/bundles/etcd@{ONE}")));
    });
    let filled = filled.disturbed(conflict);
    launch(&filled, inject(), IMAGE).await.unwrap();
    assert!((2..50).contains(&count(&filled)), "{} requests", count(&filled));

    let failed = Server::new(|server, job| {
        let state = json!({"terminated": {"exitCode": 11, "reason": "Error"}});
        server.put("pods", pod(job, "Failed", &state));
    });
    let failed = failed.disturbed(conflict);
    launch(&failed, inject(), IMAGE).await.unwrap_err();
    assert!((2..50).contains(&count(&failed)), "{} requests", count(&failed));
}
