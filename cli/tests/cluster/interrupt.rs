use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::stage::Stage;

/// Starts a launch whose pod never fits a node, and waits until its Job exists.
pub(crate) fn waiting(stage: &Stage<'_>, more: &[&str]) -> (Child, String) {
    let image = stage.push("interrupt");
    let arguments = ["launch", &image, "-o", "json", "--node-selector", "no=such"];
    let mut child = stage.start([&arguments[..], more].concat());
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut event = next(&mut lines);
    while event["event"] != "created" {
        event = next(&mut lines);
    }
    // The pipe stays open: a closed one would end the launch.
    child.stdout = Some(lines.into_inner());
    (child, event["job"].as_str().unwrap().to_owned())
}

fn next(lines: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

/// Sends Ctrl-C, and returns the exit code and standard error.
pub(crate) fn interrupt(child: &mut Child) -> (Option<i32>, String) {
    let id = Pid::from_child(child);
    kill_process(id, Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (code, stderr)
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_the_job_of_an_interrupted_launch_continues_and_is_adopted() {
    Stage::open("cli-interrupt", |stage| {
        let (mut child, job) = waiting(stage, &[]);
        let (code, stderr) = interrupt(&mut child);
        assert_eq!(code, Some(73), "{stderr}");
        assert!(
            stderr.contains(&format!("interrupted; job/{job} is still running in ")),
            "{stderr}"
        );
        assert!(stderr.contains("\nhint: "), "{stderr}");
        assert!(stage.namespace.get(&format!("job/{job}")).is_some());
        let image = stage.push("interrupt");
        // Without the selector that no node matches.
        let again = stage.unlade(["launch", &image]);
        assert!(again.stderr.contains(&format!("job/{job} is already running")), "{again:?}");
        again.success();
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_an_interrupted_list_says_how_far_it_is() {
    Stage::open("cli-interrupt-list", |stage| {
        let images = ["interrupt-a", "interrupt-b"].map(|name| stage.push(name));
        let [a, b] = images.each_ref().map(String::as_str);
        let mut child = stage.start(["launch", a, b, "-o", "json", "--node-selector", "no=such"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut n_created = 0;
        while n_created < 2 {
            n_created += usize::from(next(&mut lines)["event"] == "created");
        }
        child.stdout = Some(lines.into_inner());
        let (code, stderr) = interrupt(&mut child);
        assert_eq!(code, Some(73), "{stderr}");
        let expected = "interrupted; 0 of 2 images are unpacked; 2 Jobs are still running in ";
        assert!(stderr.contains(expected), "{stderr}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_an_interrupted_launch_is_cancelled_on_request() {
    Stage::open("cli-cancel", |stage| {
        let (mut child, job) = waiting(stage, &["--cancel-on-interrupt"]);
        let (code, stderr) = interrupt(&mut child);
        assert_eq!(code, Some(73), "{stderr}");
        assert!(stderr.contains("interrupted; the Job was deleted"), "{stderr}");
        let job = stage.namespace.get(&format!("job/{job}"));
        let is_going = |job: &Value| job["metadata"]["deletionTimestamp"].is_string();
        assert!(job.as_ref().is_none_or(is_going), "{job:?}");
    });
}
