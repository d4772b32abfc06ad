//! Launches that give the nodes credentials.

use std::sync::{Arc, Mutex};

use unlade_api_server::{Arrival, Canned, Disturbance, State};

use super::*;
use crate::check::{Category, Subject};
use crate::{Credentials, plan_objects};

const CONFIG: &str = r#"{"auths":{"registry.example/bundles/etcd":{"auth":"YTpi"}}}"#;

fn request() -> Request {
    Request::new(IMAGE, "default").with_credentials(Credentials::new(CONFIG))
}

/// Launches with credentials. `run` is called when the Job has been created. Returns the result,
/// and the Secrets at that time.
async fn launch_with_credentials(
    run: impl Fn(&mut State, &Value) + Send + 'static,
) -> (Server, Result<Launched, Failure>, Vec<Value>) {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let server = Server::new(move |server, job| {
        let pull_secrets = &job["spec"]["template"]["spec"]["imagePullSecrets"];
        let name = pull_secrets[0]["name"].as_str().unwrap();
        kept.lock().unwrap().push(server.object("secrets", name));
        run(server, job);
    });
    let launched = Launcher::new(server.client(), options()).launch(&request()).await;
    let seen = seen.lock().unwrap().clone();
    (server, launched, seen)
}

#[tokio::test(start_paused = true)]
async fn the_secret_exists_before_the_job_and_is_deleted_after_the_launch() {
    let (server, launched, seen) = launch_with_credentials(State::fill).await;
    launched.unwrap();
    let encoded = serde_json::to_value(k8s_openapi::ByteString(CONFIG.into())).unwrap();
    assert_eq!(seen[0]["data"], json!({".dockerconfigjson": encoded}));
    assert_eq!(seen[0]["type"], "kubernetes.io/dockerconfigjson");
    assert_eq!(seen[0]["metadata"]["ownerReferences"][0]["kind"], "ConfigMap");
    assert_eq!(server.count("secrets"), 0);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_secret_of_its_own_and_none_is_left_after_a_failure() {
    let (server, launched, seen) = launch_with_credentials(|server, job| {
        let state =
            json!({"waiting": {"reason": "CreateContainerError", "message": WITHOUT_VOLUMES}});
        let state = if is_injected(job) { json!({"terminated": {"exitCode": 65}}) } else { state };
        server.put("pods", pod(job, "Pending", &state));
    })
    .await;
    launched.unwrap_err();
    assert!(seen.len() > 1, "{seen:?}");
    assert_ne!(seen[0]["metadata"]["name"], seen[1]["metadata"]["name"]);
    assert_eq!(server.count("secrets"), 0);
}

/// Launches where the first pull fails with this message, after an event about a pull secret.
/// `named` returns its name, and is called with the name of the Secret of the launch. Returns the
/// result, and the number of attempts.
async fn launch_with_slow_kubelet(
    message: &'static str,
    unreadable: &'static [&'static str],
    named: fn(&str) -> String,
) -> (Result<Launched, Failure>, usize) {
    let server = Server::new(move |server, job| {
        if job["metadata"]["name"].as_str().unwrap().ends_with("-2") {
            return server.fill(job);
        }
        let state = json!({"waiting": {"reason": "ErrImagePull", "message": message}});
        let pod = pod(job, "Pending", &state);
        let secret = &job["spec"]["template"]["spec"]["imagePullSecrets"][0]["name"];
        server.put("events", secret::unretrieved(&pod, &named(secret.as_str().unwrap())));
        server.put("pods", pod);
    });
    let server = server.without(unreadable);
    let launched = Launcher::new(server.client(), options()).launch(&request()).await;
    assert_eq!(server.count("secrets"), 0);
    (launched, server.count("jobs"))
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_that_does_not_retrieve_the_secret_in_time_gets_another_pod() {
    let absent = "registry.example/bundles/etcd:0.9.4: not found";
    for message in [secret::DENIED, absent] {
        let (launched, n_attempts) = launch_with_slow_kubelet(message, &[], str::to_owned).await;
        launched.unwrap();
        assert_eq!(n_attempts, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_denial_without_an_event_about_the_secret_is_final() {
    let other: fn(&str) -> String = |_| "other".to_owned();
    for (unreadable, named) in [(&[][..], other), (&["events"], str::to_owned)] {
        let (launched, n_attempts) =
            launch_with_slow_kubelet(secret::DENIED, unreadable, named).await;
        let failure = launched.unwrap_err();
        assert_eq!((failure.reason, n_attempts), (Reason::Unauthorized, 1), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn denied_credentials_are_not_blamed_on_a_pull_secret_for_other_images() {
    let mut options = options();
    options.pod.pull_secrets = vec!["pull".to_owned()];
    for (registry, is_unretrieved, expected) in [
        ("other.example", false, (Reason::Unauthorized, false)),
        ("other.example", true, (Reason::Unauthorized, false)),
        // A slow kubelet: the Secret may be the one that the image needs.
        ("registry.example", true, (Reason::NoPullSecret, true)),
    ] {
        let server = Server::new(move |server, job| {
            let state = json!({"waiting": {"reason": "ErrImagePull", "message": secret::DENIED}});
            let pod = pod(job, "Pending", &state);
            if is_unretrieved {
                server.put("events", secret::unretrieved(&pod, "pull"));
            }
            server.put("pods", pod);
        });
        server.put("secrets", secret::secret(registry));
        let launcher = Launcher::new(server.client(), options.clone());
        let failure = launcher.launch(&request()).await.unwrap_err();
        assert_eq!((failure.reason, failure.is_transient), expected, "{failure:?}");
        assert_eq!(server.count("jobs") > 1, failure.is_transient);
    }
}

#[tokio::test(start_paused = true)]
async fn with_lent_credentials_a_pull_secret_needs_no_entry_for_the_image() {
    let server = Server::new(|_, _| {});
    server.put("secrets", secret::secret("other.example"));
    let mut options = options();
    options.pod.pull_secrets = vec!["pull".to_owned()];
    let launcher = Launcher::new(server.client(), options);
    let image = Some(IMAGE);
    for (lends_credentials, expected) in
        [(false, vec!["usable", "covers-image"]), (true, vec!["given", "usable"])]
    {
        let subject = Subject { image, lends_credentials, ..Subject::default() };
        let checks = launcher.check("default", subject).await;
        let checks = checks.iter().filter(|check| check.category == Category::PullSecrets);
        assert_eq!(checks.map(|check| check.name).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_a_dropped_launch_belongs_to_the_job_which_another_launch_adopts() {
    let server = Server::new(|_, _| {});
    let launcher = Launcher::new(server.client(), options());
    let request = request();
    let dropped = tokio::time::timeout(Duration::from_secs(5), launcher.launch(&request)).await;
    assert!(dropped.is_err());
    let owners = server.object("secrets", "")["metadata"]["ownerReferences"].clone();
    let job = server.object("jobs", "-1");
    assert_eq!((&owners[0]["kind"], &owners[0]["uid"]), (&json!("Job"), &job["metadata"]["uid"]));
    assert_eq!(owners.as_array().unwrap().len(), 1);

    let mut updates = std::pin::pin!(launcher.launch_with_updates(request));
    loop {
        match updates.next().await.unwrap() {
            LaunchUpdate::Event(event) => {
                if let Step::Adopted { differs, .. } = event.step {
                    assert!(!differs);
                    write(&server, "-1");
                }
            }
            LaunchUpdate::Ended(result) => break drop(result.unwrap()),
        }
    }
    assert_eq!(server.count("secrets"), 1, "the Secret of the other launch is not touched");
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_may_not_create_secrets_creates_no_job() {
    let server = Server::new(State::fill);
    let denied = server.clone().without(&["secrets"]);
    let failure = Launcher::new(denied.client(), options()).launch(&request()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Forbidden, "{failure:?}");
    assert!(failure.message.contains("create the Secret"), "{failure}");
    assert_eq!(server.count("jobs"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_secret_whose_creation_was_not_confirmed_does_not_stay() {
    // The Secret is created, but the response is lost, and the launch may not read Secrets.
    let server = Server::new(State::fill).disturbed(|arrival| {
        let (method, path) = (arrival.method, arrival.path);
        if !path.contains("/secrets") || path.contains("dryRun") {
            return None;
        }
        let lost = Canned::status(504, "Timeout", "request timed out");
        match *method {
            http::Method::POST => Some(Disturbance::RespondAfterDoing(lost)),
            http::Method::GET => Some(Disturbance::status(403, "Forbidden", "no")),
            _ => None,
        }
    });
    Launcher::new(server.client(), options()).launch(&request()).await.unwrap_err();
    assert_eq!((server.count("secrets"), server.count("jobs")), (0, 0));
}

#[test]
fn credentials_are_never_shown() {
    let request = request();
    let shown = format!("{request:?} {:?}", plan_objects(&request, &options()).unwrap());
    assert!(!shown.contains("YTpi"), "{shown}");
    let encoded = serde_json::to_string(&k8s_openapi::ByteString(CONFIG.into())).unwrap();
    assert!(!shown.contains(encoded.trim_matches('"')), "{shown}");
    assert!(shown.contains("-1-credentials") && shown.contains(".dockerconfigjson"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn the_secret_is_deleted_if_the_job_is_refused_until_the_deadline() {
    let refused = Canned::status(403, "Forbidden", "exceeded quota: small");
    let (server, n_deleted) = launch_disturbed(Disturbance::Respond(refused)).await;
    assert_eq!((server.count("secrets"), server.count("jobs")), (0, 0));
    assert_eq!(n_deleted, 1);
}

#[tokio::test(start_paused = true)]
async fn the_secret_stays_if_the_job_may_exist() {
    // The Job is created, but every response is lost.
    let lost = Canned::status(504, "Timeout", "request timed out");
    let (server, n_deleted) = launch_disturbed(Disturbance::RespondAfterDoing(lost)).await;
    assert_eq!((server.count("secrets"), server.count("jobs")), (1, 1));
    assert_eq!(n_deleted, 0);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_creation_is_no_reason_to_keep_the_secret() {
    let n_creations: Arc<Mutex<usize>> = Arc::default();
    let server = Server::new(|_, _| {}).disturbed(move |arrival| {
        let is_creation = *arrival.method == http::Method::POST && arrival.path.contains("/jobs");
        if !is_creation || arrival.path.contains("dryRun") {
            return None;
        }
        let mut n_creations = n_creations.lock().unwrap();
        *n_creations += 1;
        Some(match *n_creations {
            1 => Disturbance::status(429, "TooManyRequests", "later"),
            _ => Disturbance::status(403, "Forbidden", "no"),
        })
    });
    Launcher::new(server.client(), options()).launch(&request()).await.unwrap_err();
    assert_eq!((server.count("secrets"), server.count("jobs")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_launch_leaves_no_secret_without_a_job() {
    for seconds in [5, 300] {
        let server = Server::new(|_, _| {}).disturbed(|arrival| {
            let is_creation =
                *arrival.method == http::Method::POST && arrival.path.contains("/jobs");
            (is_creation && !arrival.path.contains("dryRun"))
                .then(|| Disturbance::status(403, "Forbidden", "exceeded quota: small"))
        });
        let mut options = options();
        options.deadlines.schedule = Duration::from_mins(10);
        let launcher = Launcher::new(server.client(), options);
        let request = request();
        let time = Duration::from_secs(seconds);
        assert!(tokio::time::timeout(time, launcher.launch(&request)).await.is_err());
        assert_eq!((server.count("secrets"), server.count("jobs")), (1, 0));
        let config_map = server.object("configmaps", "")["metadata"]["name"].clone();
        // The Job may still appear.
        launcher.cancel("default", config_map.as_str().unwrap()).await.unwrap_err();
        assert_eq!(server.count("secrets"), 0, "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_launch_leaves_no_secret_whose_creation_is_on_its_way() {
    let server = Server::new(|_, _| {}).disturbed(secrets_are_created_after(1));
    let launcher = Launcher::new(server.client(), options());
    let request = request();
    let dropped = tokio::time::timeout(Duration::from_millis(500), launcher.launch(&request)).await;
    assert!(dropped.is_err() && server.count("secrets") == 0);
    cancel(&launcher, &server).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!((server.count("secrets"), server.count("jobs")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_launch_leaves_no_secret_that_its_job_does_not_own() {
    let server = Server::new(|_, _| {}).disturbed(|arrival| {
        let is_handed_over =
            *arrival.method == http::Method::PATCH && arrival.path.contains("/secrets/");
        is_handed_over.then_some(Disturbance::Hang)
    });
    let launcher = Launcher::new(server.client(), options());
    let request = request();
    let dropped = tokio::time::timeout(Duration::from_secs(5), launcher.launch(&request)).await;
    assert!(dropped.is_err());
    assert_eq!((server.count("secrets"), server.count("jobs")), (1, 1));
    cancel(&launcher, &server).await;
    assert_eq!((server.count("secrets"), server.count("jobs")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_may_not_be_deleted_does_not_hide_that_the_job_was() {
    let server = Server::new(|_, _| {}).disturbed(|arrival| {
        let is_change = [http::Method::PATCH, http::Method::DELETE].contains(arrival.method);
        (is_change && arrival.path.contains("/secrets/"))
            .then(|| Disturbance::status(403, "Forbidden", "no"))
    });
    let launcher = Launcher::new(server.client(), options());
    let request = request();
    let dropped = tokio::time::timeout(Duration::from_secs(5), launcher.launch(&request)).await;
    assert!(dropped.is_err());
    let job = server.object("jobs", "")["metadata"]["name"].as_str().unwrap().to_owned();
    let config_map = server.object("configmaps", "")["metadata"]["name"].clone();
    let deleted = launcher.cancel("default", config_map.as_str().unwrap()).await.unwrap();
    assert_eq!(deleted, [job]);
    assert_eq!((server.count("secrets"), server.count("jobs")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_appears_after_the_launch_has_given_up_is_deleted() {
    // The launch gives up after 20 s, and looks for the Secret then and two seconds later.
    for (seconds, n_left) in [(21, 0), (25, 1)] {
        let server = Server::new(|_, _| {}).disturbed(secrets_are_created_after(seconds));
        let mut options = options();
        options.deadlines.schedule = Duration::from_secs(20);
        let launcher = Launcher::new(server.client(), options);
        let failure = launcher.launch(&request()).await.unwrap_err();
        assert_eq!(failure.reason, Reason::ApiUnreachable, "{failure:?}");
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(server.count("secrets"), n_left, "{seconds}");
        cancel(&launcher, &server).await;
        assert_eq!(server.count("secrets"), 0, "{seconds}");
    }
}

fn secrets_are_created_after(seconds: u64) -> impl FnMut(&Arrival<'_>) -> Option<Disturbance> {
    move |arrival| {
        let is_creation =
            *arrival.method == http::Method::POST && arrival.path.contains("/secrets");
        is_creation.then(|| Disturbance::Delay(Duration::from_secs(seconds)))
    }
}

async fn cancel(launcher: &Launcher, server: &Server) {
    let config_map = server.object("configmaps", "")["metadata"]["name"].clone();
    launcher.cancel("default", config_map.as_str().unwrap()).await.unwrap();
}

/// Launches, and disturbs every creation of a Job in this way. Returns the server, and the number
/// of requests to delete a Secret.
async fn launch_disturbed(creation: Disturbance) -> (Server, usize) {
    let deleted: Arc<Mutex<usize>> = Arc::default();
    let count = Arc::clone(&deleted);
    let server = Server::new(|_, _| {}).disturbed(move |arrival| {
        let (method, path) = (arrival.method, arrival.path);
        if *method == http::Method::DELETE && path.contains("/secrets/") {
            *count.lock().unwrap() += 1;
        }
        let is_creation = *method == http::Method::POST && path.contains("/jobs");
        (is_creation && !path.contains("dryRun")).then(|| creation.clone())
    });
    Launcher::new(server.client(), options()).launch(&request()).await.unwrap_err();
    let n_deleted = *deleted.lock().unwrap();
    (server, n_deleted)
}
