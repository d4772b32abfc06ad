use serde_json::{Value, json};
use unlade_api_server::{Disturbance, Server, State};

use crate::api_server::{Cluster, IMAGE};

#[test]
fn phases_are_logged_at_the_first_level_and_requests_at_the_second() {
    let cluster = Cluster::new(Server::new(State::fill));
    assert_eq!(cluster.run(&["get"]).stderr, "No resources found in default namespace.\n");
    let phases = cluster.run(&["launch", IMAGE, "-v", "--generate-name"]);
    phases.success();
    assert!(phases.stderr.contains("launch{image=\"registry.example/"), "{phases:?}");
    assert!(phases.stderr.contains("created the Job name=\"etcd-0-9-4-"), "{phases:?}");
    assert!(!phases.stderr.contains("DEBUG"), "{phases:?}");

    let all = cluster.run(&["launch", IMAGE, "-vv", "--generate-name"]);
    all.success();
    let created = "request{method=POST path=\"/apis/batch/v1/namespaces/default/jobs\"";
    let line = all.stderr.lines().find(|line| line.contains(created) && line.contains("201"));
    assert!(line.is_some_and(|line| line.contains("launch{image=")), "{all:?}");
    assert!(all.stderr.contains(":watch{kind=\"Pods\"}:request{"), "{all:?}");
    assert!(all.stderr.contains(" kube_client::"), "{all:?}");
}

#[test]
fn the_log_can_be_json_beside_events_on_standard_output() {
    let cluster = Cluster::new(Server::new(State::fill));
    let done = cluster.run(&["launch", IMAGE, "-vv", "--log-format=json", "-o", "json"]);
    for line in done.success().lines().chain(done.stderr.lines()) {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    let logged = |line: &&str| line.contains("\"span\"") && line.contains("\"launch\"");
    assert!(done.stderr.lines().any(|line| logged(&line)), "{done:?}");
}

#[test]
fn neither_secrets_nor_escape_sequences_of_others_are_logged() {
    let server = Server::new(|server, job| {
        server.put("pods", refused(job));
    });
    // {"auths": {"registry.example": {"password": "hunter2"}}}
    let data = "eyJhdXRocyI6IHsicmVnaXN0cnkuZXhhbXBsZSI6IHsicGFzc3dvcmQiOiAiaHVudGVyMiJ9fX0=";
    server.put(
        "secrets",
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"},
            "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": data},
        }),
    );
    let mut is_first = true;
    let cluster = Cluster::new(server.disturbed(move |_| {
        std::mem::take(&mut is_first)
            .then(|| Disturbance::status(503, "ServiceUnavailable", "\u{1b}[2Jaway"))
    }));
    let done = cluster.run(&["launch", IMAGE, "-vv", "--pull-secret", "mine"]);
    assert!(done.stderr.contains("/secrets/mine"), "it was read: {done:?}");
    assert!(!done.stderr.contains("hunter2") && !done.stderr.contains(data), "{done:?}");
    assert!(done.stderr.contains("away"), "{done:?}");
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
}

#[test]
fn a_password_in_the_address_of_the_server_is_not_shown() {
    let cluster = Cluster::new(Server::new(State::fill));
    cluster.edit_kubeconfig(|text| text.replace("http://", "http://me:hunter2@"));
    let done = cluster.run(&["get", "-vv"]);
    done.success();
    assert!(done.stderr.contains("http://127.0.0.1:"), "{done:?}");
    assert!(!done.stderr.contains("hunter2"), "{done:?}");
}

/// Returns the pod of a Job whose image the registry refuses with these credentials.
fn refused(job: &Value) -> Value {
    let name = job["metadata"]["name"].as_str().unwrap();
    let message = "failed to pull image: failed to authorize: 401 Unauthorized";
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-abcde"),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"job-name": name},
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "Job", "name": name,
                "uid": job["metadata"]["uid"], "controller": true,
            }],
        },
        "spec": job["spec"]["template"]["spec"],
        "status": {"phase": "Pending", "containerStatuses": [{
            "name": "unpack", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ErrImagePull", "message": message}},
        }]},
    })
}
