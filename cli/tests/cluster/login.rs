//! A bundle in a registry that requires credentials.

use std::fs;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;
use unlade_testbed::registry::{Answer, CREDENTIALS, Fault, FaultyRepository};
use unlade_tests::manifest::Overlay;

use crate::finished::Finished;
use crate::right;
use crate::stage::Stage;

/// A private image, and a file with the credentials for it.
struct Private<'c> {
    image: String,
    authfile: String,
    _directory: TempDir,
    _fault: FaultyRepository<'c>,
}

impl<'c> Private<'c> {
    fn new(stage: &Stage<'c>, name: &str, password: &str) -> Self {
        let image = stage.push(name);
        let fault = Fault::always(Answer::Private);
        let fault = stage.cluster.testbed().fault_registry(&format!("cli/{name}"), fault).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        let auth = BASE64_STANDARD.encode(format!("{}:{password}", CREDENTIALS.0));
        let registry = stage.cluster.registry();
        let auths = json!({"auths": {registry: {"auth": auth}, "other.example": {"auth": "YTpi"}}});
        fs::write(&path, auths.to_string()).unwrap();
        let authfile = path.display().to_string();
        Self { image, authfile, _directory: directory, _fault: fault }
    }

    fn launch(&self, stage: &Stage<'_>) -> Finished {
        let flags = ["--pull-secret-from-login", "--authfile", &self.authfile];
        stage.unlade(["launch", &self.image].into_iter().chain(flags))
    }
}

fn secrets(stage: &Stage<'_>) -> String {
    let label = "app.kubernetes.io/managed-by=unlade";
    stage.kubectl(&["get", "secrets", "-l", label, "-o", "name"])
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_private_bundle_is_launched_with_stored_credentials_only() {
    Stage::open("cli-login", |stage| {
        let private = Private::new(stage, "private", CREDENTIALS.1);
        let refused = stage.unlade(["launch", &private.image]);
        assert_ne!(refused.code, Some(0), "the registry requires a login: {}", refused.stderr);

        let launched = private.launch(stage);
        assert!(launched.success().contains("hello-operator.v0.2.0"), "{}", launched.stderr);
        assert_eq!(secrets(stage), "", "the Secret is deleted");
        let all = format!("{}{}", launched.stdout, launched.stderr);
        assert!(!all.contains(CREDENTIALS.1), "{all}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_the_login_component_has_the_permissions_for_credentials() {
    Stage::open("cli-login-rights", |stage| {
        let private = Private::new(stage, "private-rights", CREDENTIALS.1);
        let user = format!("system:serviceaccount:{}:unlade-launcher", stage.namespace.name());
        let apply = |components: &[&str]| {
            let kustomization = json!({
                "namespace": stage.namespace.name(),
                "resources": ["manifests/launcher"],
                "components": components,
            });
            let overlay = Overlay::new(&kustomization.to_string());
            stage.kubectl(&["apply", "--kustomize", overlay.path()]);
        };
        let launch = || {
            let flags = ["--pull-secret-from-login", "--authfile", &private.authfile];
            let launch = ["launch", &private.image, "--as", &user];
            stage.unlade(launch.into_iter().chain(flags))
        };
        apply(&[]);
        right::wait_until_allowed(stage, "list", "pods", &user);
        let refused = launch();
        assert!(refused.stderr.contains("secrets"), "{}", refused.stderr);

        apply(&["manifests/launcher/login"]);
        right::wait_until_allowed(stage, "delete", "secrets", &user);
        let launched = launch();
        assert!(launched.success().contains("hello-operator.v0.2.0"), "{}", launched.stderr);
        assert_eq!(secrets(stage), "", "the Secret is deleted");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_credentials_that_the_registry_refuses_fail_and_leave_no_secret() {
    Stage::open("cli-login-bad", |stage| {
        let private = Private::new(stage, "private-bad", "wrong");
        let refused = private.launch(stage);
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
        assert!(!refused.stderr.contains("wrong"), "{}", refused.stderr);
        assert_eq!(secrets(stage), "");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_killed_launch_leaves_a_secret_without_other_logins_that_the_job_owns() {
    Stage::open("cli-login-killed", |stage| {
        let private = Private::new(stage, "private-killed", CREDENTIALS.1);
        let flags = ["--pull-secret-from-login", "--authfile", &private.authfile];
        // No node has this label, so the launch waits.
        let never = ["--node-selector", "unlade.test/never=here"];
        let arguments = ["launch", &private.image].into_iter().chain(flags).chain(never);
        let mut launch = stage.start(arguments);
        let owner = "{.items[*].metadata.ownerReferences[*].kind}";
        let end = std::time::Instant::now() + crate::stage::PATIENCE;
        let label = "app.kubernetes.io/managed-by=unlade";
        let get = |path: &str| {
            let path = format!("jsonpath={path}");
            stage.kubectl(&["get", "secrets", "-l", label, "-o", &path])
        };
        while get(owner) != "Job" {
            assert!(std::time::Instant::now() < end, "{}", get(owner));
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        launch.kill().unwrap();
        launch.wait().unwrap();
        let data = get(r"{.items[*].data.\.dockerconfigjson}");
        let config: Value = serde_json::from_slice(&BASE64_STANDARD.decode(data).unwrap()).unwrap();
        let entries = config["auths"].as_object().unwrap();
        let names: Vec<_> = entries.keys().filter_map(|entry| entry.rsplit('/').next()).collect();
        // The same credentials are stored for the tool image.
        assert_eq!(names, ["private-killed", "unlade-unpacker"], "no other login");
        stage.kubectl(&["delete", "jobs", "--all"]);
        while !secrets(stage).is_empty() {
            assert!(std::time::Instant::now() < end, "the Secret is deleted with the Job");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_pull_secret_of_the_cluster_provides_credentials() {
    Stage::open("cli-pull-secret", |stage| {
        let private = Private::new(stage, "private-secret", CREDENTIALS.1);
        let from_file = format!("--from-file=.dockerconfigjson={}", private.authfile);
        let kind = "--type=kubernetes.io/dockerconfigjson";
        stage.kubectl(&["create", "secret", "generic", "pull", kind, &from_file]);
        let secret = format!("{}/pull", stage.namespace.name());
        let source = format!("docker://{}", private.image);
        let unpack = ["unpack", &source, "--plain-http"];
        let denied = stage.unlade(unpack);
        assert_ne!(denied.code, Some(0), "{}", denied.stdout);
        let unpacked = stage.unlade(unpack.into_iter().chain(["--pull-secret", &secret]));
        assert!(unpacked.success().contains("hello-operator"), "{}", unpacked.stderr);

        let missing = stage.unlade(unpack.into_iter().chain(["--pull-secret", "none/none"]));
        assert!(missing.stderr.contains("none/none does not exist"), "{}", missing.stderr);
    });
}
