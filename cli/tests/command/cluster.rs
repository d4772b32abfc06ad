use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread;

use crate::finished::Finished;
use crate::run::{command, piped, plugin, unlade};

/// A kubeconfig of a server that does not exist.
const NO_SERVER: &str = "apiVersion: v1
kind: Config
current-context: here
contexts:
- name: here
  context: {cluster: here, user: me, namespace: of-the-context}
- name: elsewhere
  context: {cluster: missing, user: me}
- name: anonymous
  context: {cluster: here, user: nobody}
clusters:
- name: here
  cluster: {server: 'http://127.0.0.1:9'}
users:
- name: me
  user: {}
";
const IMAGE: &str = "registry.example/bundles/etcd:0.9.4";

/// Runs `unlade` without a kubeconfig and outside a pod.
fn bare(arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(arguments);
    for variable in ["KUBECONFIG", "UNLADE_TOOL_IMAGE", "KUBERNETES_SERVICE_HOST"] {
        command.env_remove(variable);
    }
    command.env("HOME", home.path()).envs(variables.iter().copied());
    command.stdin(Stdio::null()).output().unwrap().into()
}

/// Runs `unlade` with a tool image and a kubeconfig of a server that does not exist.
fn without_server(arguments: &[&str]) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("config");
    fs::write(&kubeconfig, NO_SERVER).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    bare(arguments, &[("KUBECONFIG", kubeconfig), ("UNLADE_TOOL_IMAGE", "registry.example/tool:1")])
}

#[test]
fn exit_code_2_is_for_invalid_arguments_of_a_cluster() {
    for (arguments, expected) in [
        (&["launch"][..], "<IMAGE>..."),
        (&["launch", ""], "a value is required for '[IMAGE]...'"),
        (&["launch", IMAGE, "--name", "a.b"], "'a.b' for '--name <NAME>'"),
        (
            &["launch", IMAGE, "--name", "a", "--generate-name"],
            "'--name <NAME>' cannot be used with '--generate-name'",
        ),
        (&["launch", IMAGE, "b", "--name", "a"], "--name cannot be used with several images"),
        (&["launch", IMAGE, "--strategy", "magic"], "'magic' for '--strategy <STRATEGY>'"),
        (&["launch", IMAGE, "--pull-timeout", "5 minutes"], "'5 minutes' for '--pull-timeout"),
        (&["launch", IMAGE, "--requests", "cpu=lots"], "'cpu=lots' for '--requests"),
        (&["launch", IMAGE, "--toleration", "a:Sometimes"], "'a:Sometimes' for '--toleration"),
        (&["launch", IMAGE, "--node-selector", "arm64"], "'arm64' for '--node-selector"),
        (&["launch", IMAGE, "--user", "0"], "'0' for '--user <UID>'"),
        (&["launch", IMAGE, "--owner", "deployment"], "'deployment' for '--owner"),
        (
            &["launch", IMAGE, "--owner", "deployment/a", "--dry-run"],
            "--owner cannot be used with --dry-run=client",
        ),
        (&["launch", IMAGE, "--dry-run=perhaps"], "'perhaps' for '--dry-run"),
        (&["launch", IMAGE, "--as-group", "a"], "--as <USER>"),
        (&["launch", IMAGE, "--concurrency", "0"], "expected a whole number of at least 1"),
        (&["launch", IMAGE, "--pack", "17"], "expected off, auto, or a whole number from 1 to 16"),
        (&["launch", IMAGE, "--architecture", "x86_64"], "this architecture amd64"),
        (&["launch", "-f", "/dev/null"], "/dev/null contains no image"),
        (&["launch", "oci-archive:bundle.tar"], "cannot be a file or directory on this machine"),
        (&["get", "pod/a"], "expected NAME or configmap/NAME"),
        (&["describe", "pod/a"], "expected NAME or configmap/NAME"),
        (&["delete", "pod/a"], "expected NAME or configmap/NAME"),
        (&["get", "a", "-A"], "'[NAME]...' cannot be used with '--all-namespaces'"),
        (
            &["get", "-n", "a", "-A"],
            "'--namespace <NAMESPACE>' cannot be used with '--all-namespaces'",
        ),
        (&["get", "a", "-l", "b=c"], "'[NAME]...' cannot be used with '--selector <SELECTOR>'"),
        (&["describe"], "<NAME>..."),
        (&["delete"], "<NAME|--all|--selector <SELECTOR>>"),
        (&["delete", "a", "--all"], "'[NAME]...' cannot be used with '--all'"),
        (&["delete", "-A"], "<NAME|--all|--selector <SELECTOR>>"),
    ] {
        let stderr = without_server(arguments).failure(2);
        // Only the error itself: the usage that follows names every argument.
        let error = stderr.split("\n\n").next().unwrap();
        assert!(
            error.starts_with("error: ") && error.contains(expected),
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn an_affinity_with_unknown_fields_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("affinity.yaml");
    for (text, field) in [
        ("kind: Deployment\nspec: {replicas: 1}\n", "kind"),
        ("podAffinity: {required: []}\n", "podAffinity.required"),
    ] {
        fs::write(&path, text).unwrap();
        let arguments = ["launch", IMAGE, "--dry-run", "--affinity", path.to_str().unwrap()];
        let stderr = without_server(&arguments).failure(2);
        let message = format!("affinity.yaml is not an Affinity: unknown field {field}\n");
        assert!(stderr.contains(&message), "{stderr}");
    }
}

#[test]
fn the_tool_image_is_required() {
    let stderr = bare(&["launch", IMAGE, "--dry-run"], &[]).failure(2);
    assert_eq!(
        stderr,
        "error: the tool image is not specified\n\
         hint: pass --tool-image or set UNLADE_TOOL_IMAGE; in a clone of the repository, build \
         and push the image with `cargo xtask image --push NAME`\n"
    );
}

#[test]
fn without_a_kubeconfig_there_is_no_cluster() {
    for arguments in [&["get"][..], &["launch", IMAGE, "--tool-image", "registry.example/t:1"]] {
        let stderr = bare(arguments, &[]).failure(1);
        assert_eq!(
            stderr,
            "error: neither a kubeconfig nor the service account of a pod exists\n\
             hint: set KUBECONFIG or pass --kubeconfig\n"
        );
    }
    let stderr = bare(&["get", "--kubeconfig", "/no/such/file"], &[]).failure(1);
    assert!(stderr.starts_with("error: failed to read the kubeconfig /no/such/file: "), "{stderr}");
}

#[test]
fn files_of_a_list_that_do_not_exist_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    fs::write(&first, "kind: Config\ncurrent-context: ''\n").unwrap();
    fs::write(&second, NO_SERVER).unwrap();
    let list = env::join_paths([&directory.path().join("missing"), &first, &second]).unwrap();
    let stderr = bare(&["get"], &[("KUBECONFIG", list.to_str().unwrap())]).failure(74);
    assert!(stderr.contains("http://127.0.0.1:9 (context \"here\")"), "{stderr}");
    // A broken file is not skipped.
    fs::write(&first, "kind: [\n").unwrap();
    let stderr = bare(&["get"], &[("KUBECONFIG", list.to_str().unwrap())]).failure(1);
    assert!(stderr.starts_with("error: failed to use the kubeconfig "), "{stderr}");
}

#[test]
fn problems_of_a_kubeconfig_are_named() {
    let stderr = without_server(&["get", "--context", "nowhere"]).failure(1);
    assert!(stderr.starts_with("error: the kubeconfig /"), "{stderr}");
    assert!(stderr.contains(" has no context \"nowhere\"\n"), "{stderr}");
    let hint = "\nhint: choose one with --context: here, elsewhere, anonymous\n";
    assert!(stderr.contains(hint), "{stderr}");
    let stderr = without_server(&["get", "--context", "elsewhere"]).failure(1);
    assert!(stderr.starts_with("error: failed to use the kubeconfig /"), "{stderr}");
    assert!(stderr.contains("cluster of context: missing"), "{stderr}");
    // kube goes on without credentials; kubectl does not.
    let stderr = without_server(&["get", "--context", "anonymous"]).failure(1);
    let message = " has no user \"nobody\", which the context \"anonymous\" names\n";
    assert!(stderr.contains(message), "{stderr}");

    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.yaml");
    fs::write(&other, "kind: Deployment\n").unwrap();
    let stderr = bare(&["get", "--kubeconfig", other.to_str().unwrap()], &[]).failure(1);
    assert!(stderr.contains("other.yaml has no current context\n"), "{stderr}");
}

#[test]
fn an_unreachable_api_server_is_named_with_its_context_at_once() {
    for arguments in [&["get"][..], &["describe", "a"], &["delete", "a"], &["launch", IMAGE]] {
        let stderr = without_server(arguments).failure(74);
        let told = "failed to reach the API server http://127.0.0.1:9 (context \"here\"): \
                    connection refused\nhint: ";
        assert!(stderr.contains(told), "{stderr}");
        assert!(!stderr.contains("waiting"), "{stderr}");
    }
}

#[test]
fn a_batch_without_an_api_server_fails_with_one_message() {
    let images = ["r.example/a:1", "r.example/b:1", "r.example/c:1"];
    let arguments = [&["launch", "--concurrency=1"][..], &images[..]].concat();
    let done = without_server(&arguments);
    assert_eq!(done.code, Some(74), "{done:?}");
    assert_eq!(done.stderr.matches("failed to reach the API server").count(), 1, "{done:?}");
    assert!(done.stderr.ends_with("error: 3 of 3 images were not launched\n"), "{done:?}");
    let done = without_server(&[&arguments[..], &["-o", "json"]].concat());
    assert_eq!(done.stdout.lines().count(), 3, "each has its own document: {done:?}");
}

#[test]
fn an_unreachable_api_server_is_a_failed_check() {
    let done = without_server(&["check", IMAGE]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let beginning = "kubernetes-api\n--------------\n× failed to reach the API server http://";
    assert!(done.stdout.starts_with(beginning), "{done:?}");
    assert!(done.stdout.contains("\n- skipped, because an earlier check failed\n"), "{done:?}");
    assert!(done.stdout.ends_with("\n\nStatus check results are ×\n"), "{done:?}");
    assert!(done.stderr.starts_with("error: 1 of "), "{done:?}");
    let done = without_server(&["check", "UPPER//x", "-o", "json"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(document["success"], false);
    assert_eq!(document["checks"][1]["category"], "request");
    assert_eq!(document["checks"][1]["outcome"], "failed");
    assert!(document["checks"][1]["hint"].is_string(), "{document}");
}

#[test]
fn a_client_dry_run_prints_the_objects_without_a_cluster() {
    let text = without_server(&["launch", IMAGE, "--dry-run"]).success();
    for kind in ["ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Job"] {
        assert!(text.contains(&format!("\nkind: {kind}\n")), "{kind}: {text}");
    }
    assert!(text.contains("namespace: of-the-context\n"), "{text}");
    assert!(text.contains("image: registry.example/tool:1\n"), "{text}");
    let names = without_server(&["launch", IMAGE, "--dry-run=client", "-o", "name", "-n", "b"]);
    let names = names.success();
    assert!(names.contains("rolebinding.rbac.authorization.k8s.io/etcd-0-9-4-"), "{names}");
    let json = without_server(&["launch", IMAGE, "--dry-run", "-o", "json"]).success();
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"].as_array().unwrap().len(), 5);
}

#[test]
fn every_option_reaches_the_job() {
    let directory = tempfile::tempdir().unwrap();
    let affinity = directory.path().join("affinity.yaml");
    fs::write(
        &affinity,
        "podAntiAffinity:\n  preferredDuringSchedulingIgnoredDuringExecution:\n  - weight: 7\n    \
         podAffinityTerm: {topologyKey: zone}\n",
    )
    .unwrap();
    let json = without_server(&[
        "launch",
        IMAGE,
        "--dry-run=client",
        "-o=json",
        "--name=mine",
        "--strategy=image-volume",
        "--pull-secret=one",
        "--pull-secret=two",
        "--service-account=worker",
        "--node-selector=disk=ssd,zone=a",
        "--architecture=amd64,arm64",
        "--affinity",
        affinity.to_str().unwrap(),
        "--toleration=gpu=yes:NoSchedule",
        "--priority-class=low",
        "--requests=cpu=20m",
        "--limits=memory=1Gi",
        "--pull-policy=Never",
        "--tool-pull-policy=IfNotPresent",
        "--user=1234",
        "--labels=team=a,tier=b",
        "--annotations=note=one, two",
        "--schedule-timeout=10s",
        "--pull-timeout=1m",
        "--run-timeout=20s",
        "--ttl=7s",
    ])
    .success();
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    let [config_map, job] = list["items"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(config_map["metadata"]["name"], "mine");
    assert_eq!(config_map["metadata"]["labels"]["team"], "a");
    assert_eq!(config_map["metadata"]["annotations"]["note"], "one, two");
    assert_eq!(job["metadata"]["name"], "mine-1");
    assert_eq!(job["spec"]["ttlSecondsAfterFinished"], 7);
    assert_eq!(job["spec"]["activeDeadlineSeconds"], 10 + 60 + 20 + 30);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["imagePullSecrets"][1]["name"], "two");
    assert_eq!(pod["serviceAccountName"], "worker");
    assert_eq!(pod["nodeSelector"]["zone"], "a");
    assert_eq!(pod["tolerations"][0]["key"], "gpu");
    assert_eq!(pod["priorityClassName"], "low");
    let text = pod.to_string();
    assert!(text.contains("\"values\":[\"amd64\",\"arm64\"]"), "{text}");
    assert!(text.contains("\"weight\":7"), "{text}");
    assert!(text.contains("\"runAsUser\":1234"), "{text}");
    let container = &pod["containers"][0];
    assert_eq!(container["imagePullPolicy"], "IfNotPresent");
    assert_eq!(container["resources"]["requests"]["cpu"], "20m");
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    assert!(text.contains("\"pullPolicy\":\"Never\""), "{text}");
}

#[test]
fn an_invalid_image_reference_fails_without_a_request_to_the_cluster() {
    let stderr = without_server(&["launch", "UPPER//x", "--dry-run"]).failure(40);
    assert!(stderr.starts_with("error: failed to launch UPPER//x: "), "{stderr}");
    assert!(stderr.contains("\nhint: "), "{stderr}");
}

#[test]
fn a_list_comes_from_standard_input_too() {
    let arguments =
        ["launch", "-f", "-", "--dry-run", "-o=name", "-n=a", "--tool-image=r.example/t:1"];
    let names = piped(arguments, "# two\nr.example/a:1\n\nr.example/b:1 # last\nr.example/a:1\n");
    let names = names.success();
    let jobs = names.lines().filter(|line| line.starts_with("job.batch/")).count();
    assert_eq!(jobs, 2, "{names}");
}

#[test]
fn a_list_with_an_invalid_line_is_refused_with_its_number_before_anything_is_launched() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("list");
    let arguments = ["launch", "-f", list.to_str().unwrap()];
    for (text, line, cause) in [
        ("apiVersion: v1\nkind: ConfigMap\n", 1, "is not a valid image reference"),
        ("# two\n\nr.example/a:1\nr.example/B:1\n", 4, "has uppercase letters"),
        ("r.example/a:1\noci-archive:b.tar\n", 2, "cannot be a file or directory"),
    ] {
        fs::write(&list, text).unwrap();
        // A request to the server that does not exist would be another failure.
        let stderr = without_server(&arguments).failure(2);
        assert!(stderr.starts_with(&format!("error: {}:{line}: ", list.display())), "{stderr}");
        assert!(stderr.contains(cause), "{stderr}");
    }
}

#[test]
fn the_plugin_takes_the_same_arguments() {
    let arguments =
        ["launch", IMAGE, "--dry-run", "-o", "name", "-n", "a", "--tool-image", "r.example/t:1"];
    assert_eq!(plugin(arguments).success(), unlade(arguments).success());
}

#[test]
fn clusters_are_reached_through_the_proxy_of_the_environment() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let mut line = String::new();
        // The connection is closed afterwards, so the command sends nothing else.
        BufReader::new(listener.accept().unwrap().0).read_line(&mut line).unwrap();
        line
    });
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("config");
    fs::write(&kubeconfig, NO_SERVER.replace("http://127.0.0.1:9", "https://203.0.113.1:6443"))
        .unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let proxied = [("KUBECONFIG", kubeconfig), ("HTTPS_PROXY", &proxy), ("NO_PROXY", "")];
    assert_ne!(bare(&["get"], &proxied).code, Some(0));
    assert_eq!(asked.join().unwrap().trim_end(), "CONNECT 203.0.113.1:6443 HTTP/1.1");
}

#[test]
fn credentials_are_not_sent_without_tls_and_a_warning_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let ran = directory.path().join("ran");
    let exec = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: touch, \
         args: [{}], interactiveMode: Never}}",
        ran.display()
    );
    for (user, is_told) in [
        ("", false),
        ("token: secret", true),
        ("tokenFile: /etc/hostname", true),
        ("username: secret, password: secret", true),
        (&*exec, true),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = thread::spawn(move || {
            let stream = listener.accept().unwrap().0;
            let lines = BufReader::new(stream).lines().map(Result::unwrap);
            lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        });
        let kubeconfig = directory.path().join("config");
        let text = NO_SERVER.replace("127.0.0.1:9", &address);
        fs::write(&kubeconfig, text.replace("user: {}", &format!("user: {{{user}}}"))).unwrap();
        let kubeconfig = kubeconfig.to_str().unwrap();
        let finished = bare(&["get", "--as", "somebody"], &[("KUBECONFIG", kubeconfig)]);
        let head = asked.join().unwrap().to_ascii_lowercase();
        assert!(head.starts_with("get /api"), "{user}: {head}");
        assert!(!head.contains("authorization"), "{user}: {head}");
        assert!(head.contains("impersonate-user: somebody"), "{user}: {head}");
        assert!(!ran.exists(), "{user}");
        let warning = "warning: the connection to http://127.0.0.1:";
        assert_eq!(finished.stderr.contains(warning), is_told, "{user}: {}", finished.stderr);
    }
}
