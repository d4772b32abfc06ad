//! Objects with the names and labels of a launch that someone else in the namespace created.

use super::*;
use crate::Reuse;
use unlade_api_server::State;

const NAME: &str = "etcd";

fn request() -> Request {
    Request { name: Name::Given(NAME.into()), ..Request::new(IMAGE, "default") }
}

/// Returns an object with the labels of a launcher that the ConfigMap of the launch owns.
fn in_disguise(kind: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({
        "kind": kind,
        "metadata": {
            "name": name,
            "uid": format!("theirs of {kind}"),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": crate::object::label::ours(NAME),
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": NAME,
                // The server in memory assigns this uid.
                "uid": format!("uid of configmaps/{NAME}"),
            }],
        },
    });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

#[tokio::test(start_paused = true)]
async fn foreign_objects_with_our_names_are_left_alone() {
    for (kind, plural) in [
        ("ConfigMap", "configmaps"),
        ("ServiceAccount", "serviceaccounts"),
        ("Role", "roles"),
        ("RoleBinding", "rolebindings"),
    ] {
        let server = Server::new(|_, _| panic!("a Job was made"));
        let theirs = json!({
            "kind": kind, "metadata": {"name": NAME, "uid": "theirs"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
        });
        server.put(plural, theirs);
        let there = server.object(plural, NAME);
        let launcher = Launcher::new(server.client(), options());
        let failure = launcher.launch(&request()).await.unwrap_err();
        assert_eq!(failure.reason, Reason::NameTaken, "{failure:?}");
        assert!(failure.message.contains(kind), "{failure:?}");
        assert_eq!(server.object(plural, NAME), there);
    }
}

#[tokio::test(start_paused = true)]
async fn widened_permissions_are_recreated() {
    let server = Server::new(State::fill);
    let role = json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    server.put("roles", in_disguise("Role", NAME, &role));
    let binding = json!({
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": "default"}],
    });
    server.put("rolebindings", in_disguise("RoleBinding", NAME, &binding));
    let launcher = Launcher::new(server.client(), options());
    launcher.launch(&request()).await.unwrap();
    let role = server.object("roles", NAME);
    assert_eq!(role["rules"][0]["resourceNames"], json!([NAME]), "{role}");
    assert_eq!(role["rules"].as_array().unwrap().len(), 1, "{role}");
    let binding = server.object("rolebindings", NAME);
    assert_eq!(binding["roleRef"]["kind"], "Role", "{binding}");
}

#[tokio::test(start_paused = true)]
async fn permissions_that_are_added_to_ours_are_kept() {
    let server = Server::new(|server, job| {
        server.fill(job);
        let mut complete = job.clone();
        complete["status"]["conditions"] = json!([{"type": "Complete", "status": "True"}]);
        server.put("jobs", complete);
    });
    let launcher = Launcher::new(server.client(), Options { reuse: Reuse::Never, ..options() });
    launcher.launch(&request()).await.unwrap();
    let mut role = server.object("roles", NAME);
    let added = json!({"apiGroups": [""], "resources": ["events"], "verbs": ["create"]});
    role["rules"].as_array_mut().unwrap().push(added);
    server.put("roles", role);
    let mut binding = server.object("rolebindings", NAME);
    let added = json!({"kind": "ServiceAccount", "name": "auditor", "namespace": "default"});
    binding["subjects"].as_array_mut().unwrap().push(added);
    server.put("rolebindings", binding);

    launcher.launch(&request()).await.unwrap();
    assert_eq!(server.object("roles", NAME)["rules"].as_array().unwrap().len(), 2);
    assert_eq!(server.object("rolebindings", NAME)["subjects"].as_array().unwrap().len(), 2);

    // The permissions that the pod needs are restored.
    let mut role = server.object("roles", NAME);
    role["rules"].as_array_mut().unwrap().remove(0);
    server.put("roles", role);
    launcher.launch(&request()).await.unwrap();
    let role = server.object("roles", NAME);
    assert_eq!(role["rules"][0]["resourceNames"], json!([NAME]), "{role}");
}

/// A user who may create Jobs can use the account of the launch anyway. The launch waits for such a
/// Job as long as for its own, and then replaces it.
#[tokio::test(start_paused = true)]
async fn a_job_that_only_looks_like_ours_is_replaced_at_the_deadline() {
    for is_suspended in [false, true] {
        let server = Server::new(State::fill);
        let theirs = json!({"spec": {"suspend": is_suspended, "template": {"spec": {
            "initContainers": [{"name": "install"}], "containers": [{"name": "unpack"}],
        }}}});
        let mut theirs = in_disguise("Job", &format!("{NAME}-1"), &theirs);
        theirs["metadata"]["annotations"] = json!({record::IMAGE: IMAGE});
        server.put("jobs", theirs.clone());
        theirs["metadata"]["name"] = json!(format!("{NAME}-2"));
        theirs["metadata"]["uid"] = json!("theirs too");
        server.put("jobs", theirs);
        let launcher = Launcher::new(server.client(), options());
        let begin = tokio::time::Instant::now();
        let done = launcher.launch(&request()).await.unwrap();
        assert_eq!(done.job.as_deref(), Some("etcd-3"));
        // Time is paused in this test and advances only while the launcher waits.
        let took = begin.elapsed();
        assert!((120..180).contains(&took.as_secs()), "{took:?}");
        let job = server.object("jobs", "-3");
        let config_map = server.object("configmaps", NAME);
        assert_eq!(
            config_map["metadata"]["annotations"][unlade_config_map::mark::ATTEMPT],
            job["metadata"]["uid"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_with_the_highest_number_does_not_block_a_launch() {
    let server = Server::new(State::fill);
    let ended = json!({"status": {"conditions": [{"type": "Failed", "status": "True"}]}});
    for number in [1, u32::MAX - 1, u32::MAX] {
        server.put("jobs", in_disguise("Job", &format!("{NAME}-{number}"), &ended));
    }
    let launcher = Launcher::new(server.client(), options());
    let done = launcher.launch(&request()).await.unwrap();
    assert_eq!(done.job.as_deref(), Some("etcd-2"));
}

/// A webhook can reject every patch with this code.
#[tokio::test(start_paused = true)]
async fn a_config_map_that_cannot_be_adapted_ends_a_launch_at_a_deadline() {
    let server = Server::new(|_, _| panic!("a Job was made"));
    let mut existing = in_disguise("ConfigMap", NAME, &json!({}));
    existing["metadata"]["annotations"] = json!({record::IMAGE: "registry.example/other:1"});
    server.put("configmaps", existing);
    let server = server.disturbed(|arrival| {
        let is_patch =
            *arrival.method == http::Method::PATCH && arrival.path.contains("/configmaps/");
        is_patch.then(|| unlade_api_server::Disturbance::status(409, "Conflict", "no"))
    });
    let failure = Launcher::new(server.client(), options()).launch(&request()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Conflict, "{failure:?}");
    assert!(server.requests().len() < 400, "{} requests", server.requests().len());
}

/// A user with permission to create Jobs can create one with another tool image.
#[tokio::test(start_paused = true)]
async fn a_job_with_another_tool_image_than_the_requested_digest_is_not_adopted() {
    let digest = format!("sha256:{}", "1".repeat(64));
    let tool = format!("registry.example/unlade-unpacker@{digest}");
    for (theirs, expected) in [
        ("registry.example/evil:1".to_owned(), Some("etcd-2")),
        (tool.replace('1', "2"), Some("etcd-2")),
        (format!("mirror.example/unlade-unpacker@{digest}"), None),
    ] {
        let server = Server::new(|server, job| {
            server.fill(job);
            server.put("pods", pod(job, "Succeeded", &json!({"terminated": {"exitCode": 0}})));
        });
        let template = json!({"spec": {
            "initContainers": [{"name": "install", "image": theirs}],
            "containers": [{"name": "unpack", "image": IMAGE}],
        }});
        let forged = json!({"spec": {"template": template}});
        let mut forged = in_disguise("Job", &format!("{NAME}-1"), &forged);
        forged["metadata"]["annotations"] = json!({record::IMAGE: IMAGE});
        server.put("jobs", forged);
        let launcher = Launcher::new(server.client(), Options::new(&tool));
        let request = request();
        let launch = tokio::time::timeout(Duration::from_secs(30), launcher.launch(&request));
        let job = launch.await.ok().map(|launched| launched.unwrap().job.unwrap());
        assert_eq!(job.as_deref(), expected, "{theirs}");
        assert_eq!(server.count("jobs"), 1 + usize::from(expected.is_some()), "{theirs}");
    }
}

/// A user with permission to create Jobs can copy the hash of the options.
#[tokio::test(start_paused = true)]
async fn a_job_with_another_tool_image_and_the_same_hash_is_not_adopted() {
    let tool = format!("registry.example/unlade-unpacker@sha256:{}", "1".repeat(64));
    let server = Server::new(|server, job| {
        if server.count("jobs") > 1 {
            server.fill(job);
            server.put("pods", pod(job, "Succeeded", &json!({"terminated": {"exitCode": 0}})));
        }
    });
    let launcher = Launcher::new(server.client(), Options::new(&tool));
    let request = request();
    let first = tokio::time::timeout(Duration::from_secs(5), launcher.launch(&request));
    assert!(first.await.is_err());
    let copied = server.object("jobs", "-1").to_string().replace(&tool, "registry.example/evil:1");
    server.put("jobs", serde_json::from_str(&copied).unwrap());
    let done = launcher.launch(&request).await.unwrap();
    assert_eq!(done.job.as_deref(), Some("etcd-2"));
}
