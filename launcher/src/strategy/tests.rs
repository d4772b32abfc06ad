use std::sync::{Arc, Mutex};

use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::{Options, Reason, Request};

/// A mock of the API server: its replies to each dry run, in order, and the requests that it got.
struct Server {
    responses: Vec<(&'static str, u16, Value)>,
    asked: usize,
}

/// Returns a failure status with this message.
fn refusal(code: u16, words: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": words, "reason": "Forbidden", "code": code})
}

const QUOTA: &str = "pods \"etcd-\" is forbidden: exceeded quota: full, requested: pods=1";
const POD_SECURITY: &str = "pods \"etcd-\" is forbidden: violates PodSecurity \"restricted:v1.20\": restricted volume types";
const NOT_ALLOWED: &str = "pods is forbidden: User \"dev\" cannot create resource \"pods\" in API \
                           group \"\" in the namespace \"olm\"";

/// Stands for a reply with the object exactly as it was sent.
const AS_SENT: Value = Value::Null;

/// Returns the object as an API server with a disabled feature gate returns it.
fn without_volume(mut object: Value) -> Value {
    let is_job = object["kind"] == "Job";
    let pod = if is_job { &mut object["spec"]["template"]["spec"] } else { &mut object["spec"] };
    let is_bundle = |value: &Value| value["name"] == "bundle";
    pod["volumes"].as_array_mut().unwrap().retain(|volume| !is_bundle(volume));
    let mounts = &mut pod["containers"][0]["volumeMounts"];
    mounts.as_array_mut().unwrap().retain(|mount| !is_bundle(mount));
    object
}

fn mock(responses: &[(&'static str, u16, Value)]) -> (kube::Client, Arc<Mutex<Server>>) {
    let server = Arc::new(Mutex::new(Server { responses: responses.to_vec(), asked: 0 }));
    let behind = Arc::clone(&server);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let server = Arc::clone(&behind);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let sent: Value = serde_json::from_slice(&body).unwrap();
            let mut server = server.lock().unwrap();
            let (kind, code, response) = server.responses.get(server.asked).unwrap().clone();
            server.asked += 1;
            assert_eq!(head.method, http::Method::POST);
            assert_eq!(head.uri.query(), Some("&dryRun=All"));
            assert!(head.uri.path().ends_with(&format!("/{kind}")), "{}", head.uri);
            assert!(head.uri.path().contains("/namespaces/olm"), "{}", head.uri);
            assert!(sent["metadata"].get("name").is_none(), "a name may be taken: {sent}");
            let response = match response {
                Value::Null => sent,
                Value::Bool(false) => without_volume(sent),
                response => response,
            };
            let response = http::Response::builder()
                .status(code)
                .body(Body::from(response.to_string().into_bytes()));
            Ok::<_, std::convert::Infallible>(response.unwrap())
        }
    });
    (kube::Client::new(service, "default"), server)
}

const DROPPED: Value = Value::Bool(false);

struct Case {
    responses: Vec<(&'static str, u16, Value)>,
    strategy: Strategy,
    because: &'static str,
    /// The number of dry runs of a second launch.
    again: usize,
}

fn request() -> Request {
    Request::new("registry.example/bundles/etcd:0.9.4", "olm")
}

fn options() -> Options {
    Options::new("registry.example/unlade-unpacker:0.1.0")
}

#[tokio::test]
async fn dry_runs_find_out_whether_image_volumes_are_supported() {
    use Strategy::{ImageVolume, Inject};
    let refused = |words| refusal(403, words);
    let cases = [
        Case {
            responses: vec![("pods", 201, AS_SENT)],
            strategy: ImageVolume,
            because: "the cluster supports image volumes",
            again: 0,
        },
        Case {
            responses: vec![("pods", 201, DROPPED)],
            strategy: Inject,
            because: "the API server drops them",
            again: 0,
        },
        // The user may not create pods, so the Job decides.
        Case {
            responses: vec![("pods", 403, refused(NOT_ALLOWED)), ("jobs", 201, AS_SENT)],
            strategy: ImageVolume,
            because: "the cluster supports image volumes",
            again: 0,
        },
        Case {
            responses: vec![("pods", 403, refused(NOT_ALLOWED)), ("jobs", 201, DROPPED)],
            strategy: Inject,
            because: "the API server drops them",
            again: 0,
        },
        // An exhausted quota rejects any pod.
        Case {
            responses: vec![
                ("pods", 403, refused(QUOTA)),
                ("jobs", 201, AS_SENT),
                ("pods", 403, refused(QUOTA)),
            ],
            strategy: ImageVolume,
            because: "the cluster supports image volumes",
            again: 3,
        },
        // A policy that does not know image volumes rejects only these, and only in this namespace.
        Case {
            responses: vec![
                ("pods", 403, refused(POD_SECURITY)),
                ("jobs", 201, AS_SENT),
                ("pods", 201, AS_SENT),
            ],
            strategy: Inject,
            because: "rejected in this namespace: pods \"etcd-\" is forbidden: violates PodSecurity",
            again: 3,
        },
        Case {
            responses: vec![("pods", 403, refused(QUOTA)), ("jobs", 201, DROPPED)],
            strategy: Inject,
            because: "the API server drops them",
            again: 0,
        },
        // A webhook that is down, and one that does not support dry runs.
        Case {
            responses: vec![
                ("pods", 500, refusal(500, "Internal error: failed calling webhook \"a.example\"")),
                ("jobs", 400, refusal(400, "admission webhook \"b\" does not support dry run")),
            ],
            strategy: Inject,
            because: "it is unknown whether the cluster supports image volumes: admission webhook",
            again: 2,
        },
        Case {
            responses: vec![
                ("pods", 403, refused(NOT_ALLOWED)),
                ("jobs", 403, refused("jobs.batch is forbidden: User cannot create resource")),
            ],
            strategy: Inject,
            because: "it is unknown whether",
            again: 2,
        },
    ];
    let (request, options) = (request(), options());
    let plan = Plan::new(&request, &options).unwrap();
    for case in cases {
        let twice: Vec<_> = case.responses.iter().chain(&case.responses).cloned().collect();
        let (client, server) = mock(&twice);
        let volumes = ImageVolumes::default();
        let chosen = volumes.choose(&client, &plan, &Facts::default()).await.unwrap();
        assert_eq!(chosen.strategy, case.strategy, "{chosen:?}");
        assert!(chosen.because.as_ref().unwrap().contains(case.because), "{chosen:?}");
        assert_eq!(server.lock().unwrap().asked, case.responses.len(), "{chosen:?}");
        assert_eq!(volumes.choose(&client, &plan, &Facts::default()).await.unwrap(), chosen);
        let asked = server.lock().unwrap().asked;
        assert_eq!(asked, case.responses.len() + case.again, "{chosen:?}");
    }
}

#[tokio::test]
async fn an_api_server_that_cannot_answer_is_an_error() {
    let (request, options) = (request(), options());
    let plan = Plan::new(&request, &options).unwrap();
    for code in [404, 429, 500, 503, 504] {
        let response = ("pods", code, refusal(code, "try later"));
        let (client, _) = mock(&[response.clone(), ("pods", 201, AS_SENT)]);
        let volumes = ImageVolumes::default();
        let error = volumes.choose(&client, &plan, &Facts::default()).await.unwrap_err();
        assert!(matches!(&error, kube::Error::Api(status) if status.code == code), "{error:?}");
        let chosen = volumes.choose(&client, &plan, &Facts::default()).await.unwrap();
        assert_eq!(chosen.strategy, Strategy::ImageVolume);
    }
}

#[tokio::test]
async fn admission_is_tried_in_each_namespace_and_a_missing_feature_only_once() {
    let rejected =
        [("pods", 403, refusal(403, POD_SECURITY)), ("jobs", 201, AS_SENT), ("pods", 201, AS_SENT)];
    for (first, others, expected) in [
        (AS_SENT, &rejected[..], [Strategy::ImageVolume, Strategy::Inject, Strategy::ImageVolume]),
        (DROPPED, &[], [Strategy::Inject; 3]),
    ] {
        let responses: Vec<_> =
            [("pods", 201, first)].into_iter().chain(others.iter().cloned()).collect();
        let (client, server) = mock(&responses);
        let volumes = ImageVolumes::default();
        let options = options();
        let mut chosen = Vec::new();
        for namespace in ["olm", "olm-strict", "olm"] {
            let request = Request { namespace: namespace.into(), ..request() };
            let plan = Plan::new(&request, &options).unwrap();
            let choice = volumes.choose(&client, &plan, &Facts::default()).await.unwrap();
            chosen.push(choice.strategy);
        }
        assert_eq!(chosen, expected);
        assert_eq!(server.lock().unwrap().asked, responses.len());
    }
}

#[tokio::test]
async fn a_given_strategy_needs_no_dry_run() {
    let (client, _) = mock(&[]);
    let request = request();
    for strategy in [Strategy::Inject, Strategy::ImageVolume] {
        let options = Options { strategy, ..options() };
        let plan = Plan::new(&request, &options).unwrap();
        let chosen =
            ImageVolumes::default().choose(&client, &plan, &Facts::default()).await.unwrap();
        assert_eq!(chosen, Chosen { strategy, because: None });
    }
    let options = Options { resolve_digest: true, ..options() };
    let plan = Plan::new(&request, &options).unwrap();
    let chosen = ImageVolumes::default().choose(&client, &plan, &Facts::default()).await.unwrap();
    assert_eq!(chosen.strategy, Strategy::Inject);
    assert!(chosen.because.unwrap().contains("digest of a tag"));
}

#[tokio::test]
async fn the_digest_of_a_digest_is_known_without_injecting() {
    let image = format!("registry.example/bundles/etcd@sha256:{}", "0a".repeat(32));
    let request = Request::new(image, "olm");
    let options = Options { resolve_digest: true, ..options() };
    let (client, _) = mock(&[("pods", 201, AS_SENT)]);
    let plan = Plan::new(&request, &options).unwrap();
    let chosen = ImageVolumes::default().choose(&client, &plan, &Facts::default()).await.unwrap();
    assert_eq!(chosen.strategy, Strategy::ImageVolume);
}

#[tokio::test]
async fn bundles_are_injected_after_a_volume_failed() {
    let (request, options) = (request(), options());
    let plan = Plan::new(&request, &options).unwrap();
    let (client, _) = mock(&[("pods", 201, AS_SENT)]);
    let volumes = ImageVolumes::default();
    assert_eq!(
        volumes.choose(&client, &plan, &Facts::default()).await.unwrap().strategy,
        Strategy::ImageVolume
    );
    volumes.note_failure("other", "of another namespace");
    let chosen = volumes.choose(&client, &plan, &Facts::default()).await.unwrap();
    assert_eq!(chosen.strategy, Strategy::ImageVolume);
    volumes.note_failure(plan.namespace(), "the node's runtime does not support image volumes");
    let chosen = volumes.choose(&client, &plan, &Facts::default()).await.unwrap();
    assert_eq!(chosen.strategy, Strategy::Inject);
    assert_eq!(chosen.because.unwrap(), "the node's runtime does not support image volumes");
}

#[test]
fn a_volume_counts_only_with_its_image_and_its_mount() {
    let (request, options) = (request(), options());
    let plan = Plan::new(&request, &options).unwrap();
    let facts = Facts::default();
    let pod = plan.pod_to_try(Strategy::ImageVolume, &facts).spec.unwrap();
    assert!(keeps_volume(Some(&pod), pod::BUNDLE));
    assert!(!keeps_volume(plan.pod_to_try(Strategy::Inject, &facts).spec.as_ref(), pod::BUNDLE));
    let mut without_mount = pod.clone();
    without_mount.containers[0].volume_mounts.as_mut().unwrap().remove(0);
    assert!(!keeps_volume(Some(&without_mount), pod::BUNDLE));
    // The volume as an API server before 1.31 stores it.
    let mut empty = pod;
    let volume = &mut empty.volumes.as_mut().unwrap()[0];
    volume.image = None;
    volume.empty_dir = Some(k8s_openapi::api::core::v1::EmptyDirVolumeSource::default());
    assert!(!keeps_volume(Some(&empty), pod::BUNDLE));
}

#[test]
fn a_remedy_depends_on_the_reason_and_on_what_was_done() {
    use Remedy as R;
    for reason in Reason::ALL {
        let (injected, mounted): (&[R], &[R]) = match reason {
            Reason::Unauthorized => (&[R::PullSecret], &[R::PullSecret]),
            Reason::NoMatchingPlatform | Reason::ExecFormat => {
                (&[R::NodeSelector], &[R::NodeSelector])
            }
            Reason::Quota | Reason::LimitRange => (&[R::Resources], &[R::Resources]),
            Reason::VolumeUnsupported => (&[], &[R::Inject]),
            Reason::RunAsNonRoot => (&[R::User], &[R::User]),
            Reason::OutOfMemory => (&[R::MemoryLimit], &[R::MemoryLimit]),
            Reason::Forbidden => (&[R::Check], &[R::Check]),
            Reason::NameTaken => (&[R::Name], &[R::Name]),
            Reason::Unreadable => (&[R::ImageVolume, R::User], &[R::User]),
            Reason::ImageUnverified => (&[R::ImageVolume], &[]),
            _ => (&[], &[]),
        };
        for (strategy, expected) in [(Strategy::Inject, injected), (Strategy::ImageVolume, mounted)]
        {
            let failure = without_applied_remedy(strategy, Failure::new(reason, "it failed"));
            assert_eq!(failure.remedies, expected, "{reason:?} under {strategy:?}");
        }
    }
}
