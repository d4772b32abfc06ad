use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unlade_testbed::fault;
use unlade_yaml as yaml;

use crate::stage::{PATIENCE, Stage};

const IMAGE: &str = "registry.example/bundles/etcd:1";
const RBAC: &str = "rbac.authorization.k8s.io";

/// The result of `unlade check`.
#[derive(Debug)]
pub(crate) struct Checks(Vec<Value>);

impl Checks {
    pub(crate) fn run(stage: &Stage<'_>, arguments: &[&str]) -> Self {
        let done = stage.unlade([&["check", "-o", "json"][..], arguments].concat());
        let document: Value = serde_json::from_str(&done.stdout).unwrap();
        let checks = Self(document["checks"].as_array().unwrap().clone());
        let is_well = checks.failed().is_empty();
        assert_eq!(document["success"], is_well, "{document}");
        assert_eq!(done.code, Some(i32::from(!is_well)), "{document}");
        checks
    }

    /// Returns the checks with this outcome, as `category/name`.
    pub(crate) fn with_outcome(&self, outcome: &str) -> BTreeSet<String> {
        let text = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
        let checks = self.0.iter().filter(|check| check["outcome"] == outcome);
        checks.map(|check| format!("{}/{}", text(check, "category"), text(check, "name"))).collect()
    }

    fn failed(&self) -> BTreeSet<String> {
        self.with_outcome("failed")
    }

    #[track_caller]
    pub(crate) fn check(&self, category: &str, name: &str) -> &Value {
        let is_it = |check: &&Value| check["category"] == category && check["name"] == name;
        self.0.iter().find(is_it).unwrap_or_else(|| panic!("{self:?}"))
    }

    /// Repeats the check until these have failed, because policies, quotas and permissions take
    /// effect with a delay.
    #[track_caller]
    fn until_failed(stage: &Stage<'_>, arguments: &[&str], expected: &[&str]) -> Self {
        let end = Instant::now() + PATIENCE;
        loop {
            let checks = Self::run(stage, arguments);
            if checks.failed() == set(expected) {
                return checks;
            }
            assert!(Instant::now() < end, "{expected:?} should have failed: {checks:#?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Returns a kubeconfig of the same cluster with another token.
pub(crate) fn kubeconfig(stage: &Stage<'_>, directory: &Path, token: &str) -> String {
    let administrator = fs::read(stage.cluster.testbed().kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_slice(&administrator).unwrap();
    config["users"][0]["user"] = json!({"token": token});
    let path = directory.join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Grants these permissions to a service account.
fn allow(stage: &Stage<'_>, account: &str, rules: &Value) {
    let metadata = json!({"name": account});
    let version = format!("{RBAC}/v1");
    stage.namespace.apply(&json!({
        "apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules,
    }));
    let namespace = stage.namespace.name();
    stage.namespace.apply(&json!({
        "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }));
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_succeeds_under_pod_security_and_creates_nothing() {
    Stage::open("cli-check-well", |stage| {
        stage.namespace.apply(&fault::restricted(stage.namespace.name()));
        for (strategy, tried) in [
            ("auto", &["admission/pod-image-volume", "admission/pod-inject"][..]),
            ("inject", &["admission/pod-inject"]),
            ("image-volume", &["admission/pod-image-volume"]),
        ] {
            // A testbed may have a node that claims another architecture.
            let host = unlade_oci::Platform::host().architecture;
            let checks =
                Checks::run(stage, &[IMAGE, "--strategy", strategy, "--architecture", &host]);
            for outcome in ["failed", "warning", "skipped"] {
                assert_eq!(checks.with_outcome(outcome), set(&[]), "{checks:#?}");
            }
            let well = checks.with_outcome("ok");
            let pods: Vec<_> =
                well.iter().filter(|name| name.starts_with("admission/pod-i")).collect();
            assert_eq!(pods, tried);
            assert_eq!(well.contains("image-volumes/supported"), strategy != "inject", "{well:?}");
            let level = &checks.check("admission", "pod-security")["message"];
            assert!(level.as_str().unwrap().contains("restricted"), "{level}");
        }
        let text = stage.unlade(["check"]).success();
        let beginning = "kubernetes-api\n--------------\n√ the API server is reachable (v";
        assert!(text.starts_with(beginning), "{text}");
        assert!(text.ends_with("\n\nStatus check results are √\n"), "{text}");
        stage.wait_until_nothing_is_left();
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_hints_are_the_permissions_that_a_launch_needs() {
    Stage::open("cli-check-rights", |stage| {
        let image = stage.push("check-rights");
        stage.kubectl(&["create", "serviceaccount", "poor"]);
        let token = stage.kubectl(&["create", "token", "poor"]);
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = kubeconfig(stage, directory.path(), token.trim());
        let arguments = [&*image, "--kubeconfig", &kubeconfig];
        let checks = Checks::run(stage, &arguments);
        let rights = [
            "permissions/configmaps",
            "permissions/grant",
            "permissions/jobs",
            "permissions/pods",
            "permissions/rolebindings",
            "permissions/roles",
            "permissions/serviceaccounts",
        ];
        assert_eq!(checks.failed(), set(&rights), "{checks:#?}");
        let unseen = [
            "admission/configmap",
            "admission/job",
            "admission/pod-image-volume",
            "admission/pod-inject",
            "admission/pod-security",
            "admission/role",
            "admission/serviceaccount",
            "image-volumes/supported",
            "kubernetes-api/namespace",
            "nodes/match",
            "quota/room",
        ];
        assert_eq!(checks.with_outcome("skipped"), set(&unseen), "{checks:#?}");
        let text = stage.unlade([&["check"][..], &arguments].concat());
        assert_eq!(text.code, Some(1), "{text:?}");
        assert!(
            text.stdout.contains("\n× the user may not create, get, list, watch, "),
            "{text:?}"
        );
        assert!(text.stdout.contains("\n    grant it with a Role: {apiGroups: [\"\"]"), "{text:?}");
        assert!(text.stdout.ends_with("\n\nStatus check results are ×\n"), "{text:?}");
        assert!(text.stderr.starts_with("error: 7 of "), "{text:?}");

        // Grants exactly the rules in the hints of the failed checks.
        let failures = checks.0.iter().filter(|check| check["outcome"] == "failed");
        let rules: Value = failures.map(|check| rule(check["hint"].as_str().unwrap())).collect();
        allow(stage, "poor", &rules);
        Checks::until_failed(stage, &arguments, &[]);
        stage.unlade([&["launch"][..], &arguments].concat()).success();
    });
}

/// Returns the rule in a hint.
fn rule(hint: &str) -> Value {
    let (from, to) = (hint.find('{').unwrap(), hint.rfind('}').unwrap());
    let json = yaml::to_json(&hint.as_bytes()[from..=to], &yaml::Limits::default()).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_reports_what_admission_refuses() {
    Stage::open("cli-check-refused", |stage| {
        let both = ["admission/pod-image-volume", "admission/pod-inject"];
        stage.namespace.apply(&json!({
            "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "tight"},
            "spec": {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]},
        }));
        let checks = Checks::until_failed(stage, &[], &both);
        let pod = checks.check("admission", "pod-inject");
        let message = pod["message"].as_str().unwrap();
        assert!(
            message.starts_with("a LimitRange does not allow the pod with the unp"),
            "{message}"
        );
        assert!(message.contains("maximum memory usage"), "{message}");
        assert_eq!(pod["remedies"], json!(["resources"]), "{pod}");
        Checks::until_failed(stage, &["--limits", "memory=64Mi"], &[]);
        stage.kubectl(&["delete", "limitrange", "tight"]);

        for object in fault::denying_policy(stage.namespace.name(), "batch", "jobs", "no Jobs here")
        {
            stage.namespace.apply_cluster_wide(&object);
        }
        let checks = Checks::until_failed(stage, &[], &["admission/job"]);
        let job = checks.check("admission", "job");
        assert!(job["message"].as_str().unwrap().contains("no Jobs here"), "{job}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_reports_a_full_quota_even_if_dry_runs_of_pods_are_forbidden() {
    Stage::open("cli-check-quota", |stage| {
        let full = ["pods", "count/jobs.batch", "limits.cpu"];
        stage.namespace.apply(&fault::quota(stage.namespace.name(), &full));
        let refused = ["admission/job", "admission/pod-image-volume", "admission/pod-inject"];
        Checks::until_failed(stage, &[], &[&refused[..], &["quota/room"]].concat());

        stage.kubectl(&["create", "serviceaccount", "worker"]);
        let rules = json!([
            {"apiGroups": [""], "resources": ["configmaps", "serviceaccounts"], "verbs": ["*"]},
            {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["*"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["pods", "resourcequotas"], "verbs": ["list", "watch"]},
        ]);
        allow(stage, "worker", &rules);
        let user = format!("system:serviceaccount:{}:worker", stage.namespace.name());
        let checks =
            Checks::until_failed(stage, &["--as", &user], &["admission/job", "quota/room"]);
        let quota = checks.check("quota", "room")["message"].as_str().unwrap();
        assert!(quota.contains("the quota full has 0 of 0 pods in use"), "{quota}");
        assert!(checks.with_outcome("skipped").contains("admission/pod-inject"), "{checks:#?}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_tries_out_the_secret_of_a_login() {
    Stage::open("cli-check-login", |stage| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("auth.json");
        let auths = json!({"auths": {"registry.example": {"auth": "YTpi"}}});
        fs::write(&file, auths.to_string()).unwrap();
        let file = file.display().to_string();
        let login = [IMAGE, "--pull-secret-from-login", "--authfile", &file];
        let checks = Checks::until_failed(stage, &login, &[]);
        assert!(checks.with_outcome("ok").contains("admission/secret"), "{checks:#?}");

        let full = fault::quota(stage.namespace.name(), &["count/secrets"]);
        stage.namespace.apply(&full);
        Checks::until_failed(stage, &login, &["admission/secret", "quota/room"]);
        Checks::until_failed(stage, &[IMAGE], &[]);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_looks_at_secrets_and_accounts() {
    Stage::open("cli-check-given", |stage| {
        for (name, server) in [("good", "registry.example"), ("other", "registry.test")] {
            let server = format!("--docker-server={server}");
            let login = ["--docker-username=u", "--docker-password=hunter2", &server];
            stage.kubectl(&[&["create", "secret", "docker-registry", name][..], &login].concat());
        }
        stage.kubectl(&["create", "secret", "generic", "wrong"]);
        for account in ["able", "unable"] {
            stage.kubectl(&["create", "serviceaccount", account]);
        }
        let verbs = ["get", "update"];
        allow(
            stage,
            "able",
            &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]),
        );
        let pods = ["admission/pod-image-volume", "admission/pod-inject"];
        let cases: [(&[&str], &[&str]); 8] = [
            (&["--pull-secret=good", "--service-account=able"], &[]),
            (&["--pull-secret=other", "--pull-secret=good"], &[]),
            (&["--pull-secret=good", "--pull-secret=wrong"], &["pull-secrets/usable"]),
            (&["--pull-secret=none"], &["pull-secrets/usable"]),
            (&["--pull-secret=other"], &["pull-secrets/covers-image"]),
            (&["--service-account=unable"], &["service-account/permissions"]),
            (&["--service-account=none"], &[pods[0], pods[1], "service-account/exists"]),
            (&["--node-selector=example.com/none=x"], &["nodes/match"]),
        ];
        for (arguments, expected) in cases {
            let all = [&[IMAGE][..], arguments].concat();
            let checks = Checks::until_failed(stage, &all, expected);
            assert!(!format!("{checks:?}").contains("hunter2"), "{checks:?}");
        }
        // Without `--pull-secret`, the secrets of the service account count.
        let secrets = json!({"imagePullSecrets": [{"name": "other"}]}).to_string();
        stage.kubectl(&["patch", "serviceaccount", "able", "--patch", &secrets]);
        let arguments = [IMAGE, "--service-account=able"];
        Checks::until_failed(stage, &arguments, &["pull-secrets/covers-image"]);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_reports_the_architectures_of_the_nodes() {
    Stage::open("cli-check-nodes", |stage| {
        let label = r"--output=jsonpath={range .items[*]}{.metadata.labels.kubernetes\.io/arch} ";
        let nodes = stage.kubectl(&["get", "nodes", &format!("{label}{{end}}")]);
        let architectures: BTreeSet<_> = nodes.split_whitespace().collect();
        for architecture in &architectures {
            let checks = Checks::run(stage, &[IMAGE, "--architecture", architecture]);
            let check = checks.check("nodes", "architecture");
            assert_eq!(check["outcome"], "ok", "{checks:#?}");
            let end = format!("the architectures of the matching nodes: {architecture}");
            assert!(check["message"].as_str().unwrap().ends_with(&end), "{check}");
            let of_it = nodes.split_whitespace().filter(|name| name == architecture).count();
            let all = nodes.split_whitespace().count();
            let message = &checks.check("nodes", "match")["message"];
            assert_eq!(
                message,
                &format!("{of_it} of {all} nodes match the requirements of the pod")
            );
        }
        let checks = Checks::run(stage, &[IMAGE, "--architecture", "s390x"]);
        assert_eq!(checks.failed(), set(&["nodes/match"]), "{checks:#?}");
        let message = checks.check("nodes", "match")["message"].as_str().unwrap();
        assert!(architectures.iter().all(|name| message.contains(name)), "{message}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_check_without_a_namespace_or_credentials_says_only_that() {
    Stage::open("cli-check-nowhere", |stage| {
        let checks = Checks::run(stage, &[IMAGE, "-n", "no-such-namespace"]);
        assert_eq!(checks.failed(), set(&["kubernetes-api/namespace"]), "{checks:#?}");
        assert!(checks.with_outcome("skipped").contains("permissions/all"), "{checks:#?}");
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = kubeconfig(stage, directory.path(), "not-a-token");
        let checks = Checks::run(stage, &[IMAGE, "--kubeconfig", &kubeconfig]);
        assert_eq!(checks.failed(), set(&["kubernetes-api/reachable"]), "{checks:#?}");
    });
}
