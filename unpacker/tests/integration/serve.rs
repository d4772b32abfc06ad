//! `serve` with a test API server.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{Run, bundle, unpacker};
use crate::server::{Fault, Server, closed_port};

/// Writes a kubeconfig for `address`, with `user` as its user.
pub(crate) fn kubeconfig(
    directory: &Path,
    address: SocketAddr,
    user: &Value,
) -> std::path::PathBuf {
    let config = json!({
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "olm"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": user}],
    });
    let path = directory.join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

/// `serve` of one bundle into `olm/bundle`.
pub(crate) struct Job {
    pub(crate) bundle: TempDir,
    pub(crate) server: Server,
}

impl Job {
    pub(crate) fn new() -> Self {
        let server = Server::start();
        server.create("olm", "bundle");
        Self { bundle: bundle("one"), server }
    }

    pub(crate) fn with_faults(faults: &[Fault]) -> Self {
        let job = Self::new();
        job.server.with(|state| state.faults.extend(faults.iter().cloned()));
        job
    }

    pub(crate) fn always(fault: Fault) -> Self {
        let job = Self::new();
        job.server.with(|state| state.always = Some(fault));
        job
    }

    pub(crate) fn command(&self) -> Command {
        let config = kubeconfig(self.bundle.path(), self.server.address, &json!({}));
        let mut command = unpacker();
        command.arg("serve").arg("--kubeconfig").arg(config);
        command.arg(format!("--bundle={}=bundle", self.bundle.path().display()));
        // A run that can succeed gets enough time for a busy machine; a run that cannot succeed
        // gives up soon.
        let is_hopeless = self.server.with(|state| state.always.is_some());
        command.args(["--deadline", if is_hopeless { "4s" } else { "60s" }]);
        command.args(["--request-timeout", "1500ms", "--permission-wait", "2s"]);
        command
    }

    pub(crate) fn run(&self) -> Run {
        Run::execute(&mut self.command())
    }
}

#[test]
fn bundle_is_written_and_what_others_wrote_is_kept() {
    let job = Job::new();
    let run =
        Run::execute(job.command().args(["--source-image", "reg/i@sha256:1", "--attempt", "7"]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    let object = job.server.object("olm", "bundle");
    let metadata = &object["metadata"];
    let digest = &metadata["annotations"]["unlade.dev/digest"];
    assert!(digest.as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{digest}");
    let outcome =
        json!({"configMap": "bundle", "verdict": "written", "files": 1, "digest": digest});
    assert_eq!(run.outcomes(), [outcome]);
    assert_eq!(metadata["resourceVersion"], "2");
    assert_eq!(metadata["labels"], json!({"olm.managed": "true", "team": "blue"}));
    assert_eq!(metadata["ownerReferences"][0]["uid"], "o");
    let annotations = &metadata["annotations"];
    assert_eq!(annotations["example.com/owner"], "us");
    assert_eq!(annotations["com.example/colour"], "blue");
    assert_eq!(annotations["olm.sourceImage"], "reg/i@sha256:1");
    assert_eq!(annotations["unlade.dev/attempt"], "7");
    assert!(object["data"]["csv.yaml"].as_str().unwrap().contains("one.v1.0.0"));
}

/// Otherwise it would be lost to anyone who loads the ConfigMap.
#[test]
fn findings_are_recorded_on_the_config_map() {
    let job = Job::new();
    let annotations = "annotations:\n  olm.managed: x\n  olm.sourceImage: y\n";
    fs::write(job.bundle.path().join("metadata/annotations.yaml"), annotations).unwrap();
    let run = job.run();
    assert_eq!((run.code, &run.outcomes()[0]["findings"]), (Some(0), &json!(2)), "{}", run.stderr);
    let object = job.server.object("olm", "bundle");
    let noted = object["metadata"]["annotations"]["unlade.dev/findings"].as_str().unwrap();
    let noted: Value = serde_json::from_str(noted).unwrap();
    assert_eq!(noted[0]["reason"], "reservedAnnotation");
    assert_eq!(
        (&noted[0]["subject"], &noted[1]["subject"]),
        (&json!("olm.managed"), &json!("olm.sourceImage"))
    );

    fs::write(job.bundle.path().join("metadata/annotations.yaml"), "annotations: {a: b}\n")
        .unwrap();
    assert_eq!(job.run().verdicts(), ["written"]);
    let object = job.server.object("olm", "bundle");
    assert!(object["metadata"]["annotations"].get("unlade.dev/findings").is_none(), "{object}");
}

#[test]
fn second_run_writes_nothing() {
    let job = Job::new();
    let first = job.run();
    assert_eq!(first.verdicts(), ["written"]);
    let second = job.run();
    assert_eq!(second.verdicts(), ["unchanged"]);
    assert_eq!(second.outcomes()[0]["digest"], first.outcomes()[0]["digest"]);
    assert_eq!(job.server.with(|state| state.writes), 1);
}

#[test]
fn temporary_failures_are_retried_until_they_pass() {
    let faults = [
        vec![Fault::Status(429, Some("Retry-After: 1"))],
        vec![Fault::Status(500, None), Fault::Status(503, Some("Retry-After: soon"))],
        vec![Fault::Status(503, Some("Retry-After: -1"))],
        vec![Fault::Close],
        vec![Fault::Silence],
        vec![Fault::Trickle],
        vec![Fault::Noise],
        vec![Fault::Status(403, None), Fault::Status(401, None)],
        vec![Fault::Race],
        // The second request is the write.
        vec![Fault::Status(404, None)],
    ];
    std::thread::scope(|scope| {
        for faults in &faults {
            scope.spawn(move || {
                let is_final = matches!(faults[..], [Fault::Status(404, _)]);
                let job = Job::with_faults(faults);
                let run = job.run();
                let expected = if is_final { "noConfigMap" } else { "written" };
                assert_eq!(run.verdicts(), [expected], "{faults:?} {}", run.stderr);
            });
        }
    });
}

#[test]
fn the_requested_pause_is_kept() {
    let job = Job::with_faults(&[Fault::Status(429, Some("Retry-After: 1"))]);
    let start = Instant::now();
    assert_eq!(job.run().code, Some(0));
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn conflict_is_resolved_with_the_newest_version() {
    let job = Job::new();
    // The read succeeds, and another client writes before our write.
    job.server.with(|state| state.faults.extend([Fault::Status(503, None), Fault::Race]));
    assert_eq!(job.run().verdicts(), ["written"]);
    let metadata = &job.server.object("olm", "bundle")["metadata"];
    assert_eq!(metadata["labels"]["late"], "yes");
    assert_eq!(metadata["resourceVersion"], "78");
}

#[test]
fn write_whose_response_was_lost_is_recognised() {
    let job = Job::new();
    let first = Run::execute(&mut job.command());
    assert_eq!(first.verdicts(), ["written"]);
    job.server.create("olm", "bundle");
    job.server.with(|state| {
        state.writes = 0;
        state.faults.extend([Fault::Status(500, None), Fault::LoseResponse, Fault::LoseResponse]);
    });
    let run = job.run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(job.server.with(|state| state.writes), 1);
}

#[test]
fn failures_have_their_exit_codes() {
    let cases = [
        (Fault::Status(403, None), 21, "noPermission"),
        (Fault::Status(401, None), 21, "noPermission"),
        (Fault::Status(404, None), 22, "noConfigMap"),
        (Fault::Status(400, None), 23, "refused"),
        (Fault::Status(307, Some("Location: http://192.0.2.1/")), 23, "refused"),
        (Fault::Status(413, None), 13, "tooLarge"),
        (Fault::Status(500, None), 30, "temporary"),
        (Fault::Silence, 30, "temporary"),
        (Fault::Trickle, 30, "temporary"),
        (Fault::HeaderFlood, 30, "temporary"),
        (Fault::Flood, 23, "refused"),
    ];
    std::thread::scope(|scope| {
        for (fault, code, verdict) in cases {
            scope.spawn(move || {
                let job = Job::always(fault.clone());
                let run = job.run();
                assert_eq!(run.code, Some(code), "{fault:?} {}", run.stderr);
                assert_eq!(run.verdicts(), [verdict]);
                assert_eq!(job.server.with(|state| state.writes), 0);
            });
        }
    });
}

#[test]
fn denial_is_tried_again_for_a_while() {
    let job = Job::always(Fault::Status(403, None));
    let run = job.run();
    assert_eq!(run.code, Some(21));
    assert!(job.server.requests() >= 3, "{}", run.stderr);
    assert!(run.stderr.contains("hint: grant the service account the verbs get and update"));
}

#[test]
fn refused_connection_is_temporary() {
    let bundle = bundle("one");
    let config = kubeconfig(bundle.path(), closed_port(), &json!({}));
    let mut command = unpacker();
    command.arg("serve").arg("--kubeconfig").arg(config).args(["--deadline", "500ms"]);
    command.arg(format!("--bundle={}=bundle", bundle.path().display()));
    let run = Run::execute(&mut command);
    assert_eq!((run.code, run.verdicts()), (Some(30), vec!["temporary".to_owned()]));
    assert!(run.stderr.contains("Connection refused (os error 111); retrying"), "{}", run.stderr);
}

#[test]
fn bundle_that_fails_leaves_the_others_alone() {
    let job = Job::new();
    let (broken, good) = (bundle("broken"), bundle("two"));
    std::os::unix::fs::symlink("/etc/passwd", broken.path().join("manifests/x\n.yaml")).unwrap();
    job.server.create("olm", "broken");
    job.server.create("olm", "good");
    let mut command = job.command();
    for (root, name) in [(&broken, "broken"), (&good, "missing"), (&good, "good")] {
        command.arg(format!("--bundle={}={name}", root.path().display()));
    }
    let run = Run::execute(&mut command);
    assert_eq!(run.verdicts(), ["written", "badBundle", "noConfigMap", "written"]);
    // The first failure.
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    let message = run.outcomes()[1]["message"].as_str().unwrap().to_owned();
    assert!(message.contains(r"manifests/x\n.yaml -> /etc/passwd"), "{message}");
    assert!(job.server.object("olm", "good")["data"]["csv.yaml"].is_string());
    assert!(job.server.object("olm", "broken")["data"].is_null());
}

#[test]
fn outcomes_are_the_termination_message_too() {
    let job = Job::new();
    let log = job.bundle.path().join("termination-log");
    let run = Run::execute(job.command().arg("--termination-log").arg(&log));
    assert!(!log.exists(), "the file is the kubelet's to make");
    assert!(run.stderr.contains("termination-log"), "{}", run.stderr);
    fs::write(&log, "").unwrap();
    let run = Run::execute(job.command().arg("--termination-log").arg(&log));
    assert_eq!(fs::read_to_string(&log).unwrap(), run.stderr.lines().last().unwrap());
}

#[test]
fn dry_run_prints_what_would_be_written_and_needs_no_server() {
    let job = Job::new();
    assert_eq!(job.run().code, Some(0));
    let written = job.server.object("olm", "bundle");
    let mut command = unpacker();
    command.arg("serve").arg(format!("--bundle={}=bundle", job.bundle.path().display()));
    command.args(["--dry-run", "-o", "json", "--namespace", "olm"]);
    let run = Run::execute(&mut command);
    assert_eq!((run.code, run.verdicts()), (Some(0), vec!["printed".to_owned()]));
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(printed["data"], written["data"]);
    assert_eq!(printed["metadata"]["namespace"], "olm");

    let yaml = Run::execute(command.args(["-o", "yaml"])).stdout;
    assert!(yaml.starts_with("---\napiVersion: v1\n"), "{yaml}");
    let read = unlade_yaml::to_json(yaml.as_bytes(), &unlade_yaml::Limits::default());
    assert_eq!(serde_json::from_str::<Value>(&read.unwrap()).unwrap(), printed);
}

#[test]
fn environment_decides_nothing_but_what_a_flag_allows() {
    let job = Job::new();
    let dry = |command: &mut Command| {
        command.args(["--dry-run", "-o", "json"]).env("CONTAINER_IMAGE", "reg/image:1");
        let printed: Value = serde_json::from_str(&Run::execute(command).stdout).unwrap();
        printed["metadata"]["annotations"]["olm.sourceImage"].clone()
    };
    assert_eq!(dry(&mut job.command()), Value::Null);
    assert_eq!(dry(job.command().arg("--source-image-from-env")), "reg/image:1");
    let explicit = ["--source-image-from-env", "--source-image", "other"];
    assert_eq!(dry(job.command().args(explicit)), "other");

    // KUBECONFIG is not read, and no proxy is used.
    let proxy = closed_port().to_string();
    let run = Run::execute(
        job.command()
            .env("KUBECONFIG", "/nowhere")
            .env("HTTP_PROXY", format!("http://{proxy}"))
            .env("http_proxy", format!("http://{proxy}"))
            .env("ALL_PROXY", format!("http://{proxy}"))
            .env("RUST_MIN_STACK", "1")
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "full"),
    );
    assert_eq!((run.code, run.stderr.lines().count()), (Some(0), 1), "{}", run.stderr);
    let mut command = unpacker();
    command.args(["serve", "--bundle", "x"]).env("KUBECONFIG", "/nowhere");
    command.env_remove("KUBERNETES_SERVICE_HOST");
    let run = Run::execute(&mut command);
    assert_eq!((run.code, run.verdicts()), (Some(20), vec!["configuration".to_owned()]));
}

#[test]
fn service_host_must_be_an_address() {
    let run = |host: &str| {
        let mut command = unpacker();
        command.args(["serve", "--bundle", "x"]);
        command.env("KUBERNETES_SERVICE_HOST", host).env("KUBERNETES_SERVICE_PORT", "443");
        Run::execute(&mut command)
    };
    for host in ["kubernetes.default.svc", "localhost", "", "10.0.0.1:443", "10.0.0"] {
        let run = run(host);
        assert_eq!(run.code, Some(20));
        assert!(run.stderr.contains("which is not a valid IP address"), "{}", run.stderr);
    }
    for host in ["10.96.0.1", "fd00::1"] {
        assert!(run(host).stderr.contains("ca.crt"), "{}", run(host).stderr);
    }
}

#[test]
fn wrong_command_line_has_an_outcome_as_well() {
    let run = Run::execute(unpacker().args(["serve", "--frob"]));
    assert_eq!((run.code, run.verdicts()), (Some(10), vec!["usage".to_owned()]));
    let run = Run::execute(unpacker().arg("--help"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("Usage: unlade-unpacker serve"));
}

#[test]
fn file_that_the_user_may_not_read_is_an_outcome_of_its_own() {
    let bundle = bundle("one");
    let root = bundle.path();
    assert_eq!(Run::execute(unpacker().arg("install").arg(root)).code, Some(0));
    let mode = |path: &str, mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(root.join(path), permissions).unwrap();
    };
    let run = || {
        let program = root.join("unlade-unpacker");
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=1001", "--regid=1001", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(["serve", "--dry-run"]).arg(format!("--bundle={}=x", root.display()));
        Run::execute(&mut command)
    };
    mode("", 0o755);
    assert_eq!(run().code, Some(0), "{}", run().stderr);
    for (path, odd, usual, shown) in [
        ("manifests/csv.yaml", 0o600, 0o644, "manifests/csv.yaml (mode 0600)"),
        ("manifests", 0o700, 0o755, "manifests (mode 0700)"),
        ("manifests", 0o744, 0o755, "manifests (mode 0744)"),
        ("metadata", 0o000, 0o755, "metadata (mode 0000)"),
    ] {
        mode(path, if rustix::process::geteuid().is_root() { odd } else { odd & 0o044 });
        let run = run();
        mode(path, usual);
        assert_eq!((run.code, run.verdicts()), (Some(12), vec!["unreadable".to_owned()]), "{path}");
        if rustix::process::geteuid().is_root() {
            let expected = format!("{shown} is not readable by uid 1001");
            assert!(run.stderr.contains(&expected), "{expected}: {}", run.stderr);
        }
    }
}
