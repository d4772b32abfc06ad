use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use unlade_api_server::{Canned, Disturbance, Recorded, Server, State};

use crate::finished::Finished;
use crate::run::command;

pub(crate) const IMAGE: &str = "registry.example/bundles/etcd:0.9.4";
/// Another image, for launches of several images.
pub(crate) const OTHER: &str = "registry.example/bundles/other:1";

/// A cluster whose API server is [`Server`].
pub(crate) struct Cluster {
    pub(crate) server: Server,
    home: TempDir,
}

/// A command that is still running.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Cluster {
    pub(crate) fn new(server: Server) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config"), server.serve().kubeconfig()).unwrap();
        Self { server, home }
    }

    pub(crate) fn edit_kubeconfig(&self, edit: impl FnOnce(String) -> String) {
        let path = self.home.path().join("config");
        fs::write(&path, edit(fs::read_to_string(&path).unwrap())).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("KUBECONFIG", self.home.path().join("config"));
        command.env("UNLADE_TOOL_IMAGE", "registry.example/tool:1").env("HOME", self.home.path());
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts a command whose output is JSON documents.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        command.args(["-o", "json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines }
    }
}

impl Running {
    /// Reads until such an event; panics if none comes.
    pub(crate) fn read_until(&mut self, name: &str) -> Value {
        loop {
            let mut line = String::new();
            self.lines.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "no {name}: {:?}", self.stderr());
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == name {
                return event;
            }
        }
    }

    /// Sends Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the command, and returns its exit code and what it wrote to standard error.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        // Nothing reads the rest, and a full pipe must not block the command.
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let stderr = self.stderr();
        (self.child.wait().unwrap().code(), stderr)
    }

    fn stderr(&mut self) -> String {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        stderr
    }
}

/// Checks whether a request creates such an object and is not a dry run.
pub(crate) fn creates(method: &Method, path: &str, kind: &str) -> bool {
    method == Method::POST && path.contains(kind) && !path.contains("dryRun")
}

pub(crate) fn is_creation_of(kind: &str) -> impl Fn(&Recorded) -> bool {
    move |request| creates(&request.method, &request.path, kind)
}

#[test]
fn a_server_that_cannot_serve_is_reported_in_its_own_words_until_it_can() {
    let is_away = Arc::new(AtomicBool::new(true));
    let away = is_away.clone();
    let server = Server::new(State::fill).disturbed(move |_| {
        let is_away = away.load(Ordering::Relaxed);
        is_away.then(|| Disturbance::status(503, "ServiceUnavailable", "etcd is away"))
    });
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", IMAGE]);
    let event = launch.read_until("waiting");
    let message = event["failure"]["message"].as_str().unwrap();
    assert!(message.contains("503") && message.contains("etcd is away"), "{message}");
    is_away.store(false, Ordering::Relaxed);
    launch.read_until("resumed");
    launch.read_until("launched");
    let (code, stderr) = launch.wait();
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_busy_server_is_not_asked_again_before_the_time_that_it_names() {
    let mut is_first = true;
    let server = Server::new(State::fill).disturbed(move |request| {
        (creates(request.method, request.path, "/configmaps") && std::mem::take(&mut is_first))
            .then(busy)
    });
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", IMAGE]);
    let event = launch.read_until("waiting");
    let message = event["failure"]["message"].as_str().unwrap();
    assert!(message.contains("429") && message.contains("Too many requests"), "{message}");
    assert_eq!(launch.wait().0, Some(0));
    let mut requests = cluster.server.requests();
    requests.retain(is_creation_of("/configmaps"));
    let [first, second] = requests.as_slice() else { panic!("{requests:#?}") };
    assert!(second.at.duration_since(first.at) >= Duration::from_secs(1), "{requests:#?}");
}

/// Returns the response of an API server that is too busy.
fn busy() -> Disturbance {
    let canned = Canned::text(429, "Too many requests, please try again later.");
    Disturbance::Respond(canned.with_header("retry-after", "1"))
}

#[test]
fn a_busy_server_is_not_watched_again_before_the_time_that_it_names() {
    let is_watch = |path: &str| path.contains("/pods?") && path.contains("job-name");
    let mut is_first = true;
    let server = Server::new(State::fill).disturbed(move |request| {
        (is_watch(request.path) && std::mem::take(&mut is_first)).then(busy)
    });
    let cluster = Cluster::new(server);
    assert_eq!(cluster.start(&["launch", IMAGE, "--strategy", "inject"]).wait().0, Some(0));
    let mut requests = cluster.server.requests();
    requests.retain(|request| is_watch(&request.path));
    let [first, second, ..] = requests.as_slice() else { panic!("{requests:#?}") };
    assert!(second.at.duration_since(first.at) >= Duration::from_secs(1), "{requests:#?}");
}

#[test]
fn every_command_asks_a_busy_server_again() {
    for (path, arguments) in [
        ("/configmaps?", &["get"][..]),
        ("/jobs?", &["get"]),
        ("/configmaps/x", &["describe", "x"]),
        ("/configmaps/x", &["delete", "x"]),
        ("/version", &["check"]),
        ("dryRun", &["launch", IMAGE, "--dry-run=server"]),
    ] {
        let mut is_first = true;
        let server = Server::new(State::fill).disturbed(move |request| {
            (request.path.contains(path) && std::mem::take(&mut is_first)).then(busy)
        });
        let cluster = Cluster::new(server);
        let finished = cluster.run(arguments);
        let output = format!("{}{}", finished.stdout, finished.stderr);
        assert!(!output.contains("429"), "{arguments:?}: {output}");
        let mut requests = cluster.server.requests();
        requests.retain(|request| request.path.contains(path));
        let [first, second, ..] = requests.as_slice() else {
            panic!("{arguments:?}: {requests:#?}: {output}")
        };
        assert!(second.at.duration_since(first.at) >= Duration::from_secs(1), "{requests:#?}");
    }
}

#[test]
fn a_bundle_that_cannot_be_loaded_is_described_with_the_reason() {
    let cluster = Cluster::new(Server::new(State::fill));
    let name = cluster.run(&["launch", IMAGE, "-o", "name"]).success();
    let name = name.trim().trim_start_matches("configmap/");
    let described = cluster.run(&["describe", name]).success();
    assert!(!described.contains("Not loaded"), "{described}");
    let mut config_map = cluster.server.object("configmaps", name);
    let data = config_map["data"].as_object_mut().unwrap();
    *data.values_mut().next().unwrap() = "kind: Changed".into();
    cluster.server.put("configmaps", config_map);
    let described = cluster.run(&["describe", name]).success();
    assert!(described.contains("Not loaded  ") && described.contains("digest"), "{described}");
}

#[test]
fn a_description_says_what_could_not_be_read() {
    let is_denied = Arc::new(AtomicBool::new(false));
    let denied = is_denied.clone();
    let server = Server::new(State::fill).disturbed(move |request| {
        (denied.load(Ordering::Relaxed) && request.path.contains("/pods?"))
            .then(|| Disturbance::status(403, "Forbidden", "not for you"))
    });
    let cluster = Cluster::new(server);
    let name = cluster.run(&["launch", IMAGE, "-o", "name"]).success();
    let name = name.trim();
    assert_eq!(cluster.run(&["describe", name]).stderr, "");
    is_denied.store(true, Ordering::Relaxed);
    let described = cluster.run(&["describe", name]);
    let warning = "warning: failed to list the pods of the ConfigMap ";
    assert!(described.stderr.starts_with(warning), "{described:?}");
    assert!(described.stderr.contains("not for you"), "{described:?}");
    described.success();
}

#[test]
fn a_job_that_was_created_without_an_answer_is_followed() {
    let mut is_first = true;
    let server = Server::new(State::fill).disturbed(move |request| {
        (creates(request.method, request.path, "/jobs") && std::mem::take(&mut is_first)).then(
            || Disturbance::RespondAfterDoing(Canned::status(504, "Timeout", "it took too long")),
        )
    });
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", IMAGE]);
    let event = launch.read_until("waiting");
    assert!(event["failure"]["message"].as_str().unwrap().contains("504"), "{event}");
    launch.read_until("launched");
    assert_eq!(launch.wait().0, Some(0));
    assert_eq!(cluster.server.count("jobs"), 1);
}

#[test]
fn a_server_that_is_not_an_api_server_is_not_waited_for() {
    let page = || Canned::text(502, "<html>\n<body>Bad Gateway</body>\n</html>");
    let server = Server::new(|_, _| {});
    let cluster = Cluster::new(server.disturbed(move |_| Some(Disturbance::Respond(page()))));
    for arguments in [&["launch", IMAGE][..], &["get"]] {
        let stderr = cluster.run(arguments).failure(74);
        assert!(stderr.contains("failed to reach the API server http://127.0.0.1:"), "{stderr}");
        assert!(stderr.contains(" (context \"test\"): the response 502 Bad Gateway"), "{stderr}");
        assert!(stderr.contains("\nhint: "), "{stderr}");
    }
    // TLS to a port that does not speak it.
    cluster.edit_kubeconfig(|text| text.replace("http://", "https://"));
    let stderr = cluster.run(&["launch", IMAGE]).failure(74);
    assert!(stderr.contains("failed to reach the API server https://127.0.0.1:"), "{stderr}");
}

#[test]
fn a_name_that_fails_does_not_keep_the_command_from_the_others() {
    let server = Server::new(State::fill).disturbed(|request| {
        request
            .path
            .ends_with("/configmaps/secret")
            .then(|| Disturbance::status(403, "Forbidden", "not for you"))
    });
    let cluster = Cluster::new(server);
    let name = cluster.run(&["launch", IMAGE, "-o", "name"]).success();
    let name = name.trim();
    for command in ["get", "describe", "delete"] {
        let finished = cluster.run(&[command, "secret", "missing", name]);
        assert!(finished.stdout.contains(name.trim_start_matches("configmap/")), "{finished:?}");
        assert_eq!(finished.code, Some(75), "{finished:?}");
        let stderr = finished.stderr;
        assert!(stderr.contains("not for you"), "{stderr}");
        assert!(stderr.contains("the ConfigMap default/missing does not exist\n"), "{stderr}");
        let count = format!("error: failed to {command} 2 of 3 ConfigMaps\n");
        assert!(stderr.ends_with(&count), "{stderr}");
    }
    assert_eq!(cluster.server.count("configmaps"), 0);
}

#[test]
fn names_of_objects_are_escaped_on_a_terminal() {
    let cluster = Cluster::new(Server::new(State::fill));
    let name = cluster.run(&["launch", IMAGE, "-o", "name"]).success();
    for kind in ["configmaps", "jobs"] {
        let mut object = cluster.server.objects(kind, "").remove(0);
        object["metadata"]["name"] = "red\u{1b}[31m".into();
        cluster.server.put(kind, object);
    }
    let names = cluster.run(&["get", "-o", "name"]).success();
    assert!(names.contains("configmap/red\\u{1b}[31m\n"), "{names:?}");
    let deleted = cluster.run(&["delete", name.trim()]).success();
    assert!(deleted.contains("Job/red\\u{1b}[31m"), "{deleted:?}");
    for text in [names, deleted] {
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
