//! Signals in the middle of a run.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use unlade_tests::left_out;

use crate::fixture::{Run, bundle, unpacker};
use crate::serve::kubeconfig;
use crate::server::{Fault, Server};

#[test]
fn signal_ends_the_run_at_once_with_what_is_done() {
    for signal in [Signal::TERM, Signal::INT] {
        run(unpacker(), |child| kill_process(Pid::from_child(child), signal).unwrap());
    }
}

/// The kernel keeps signals without a handler from it.
#[test]
fn process_1_ends_by_a_signal_too() {
    let mut enter = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        enter.arg("--map-root-user");
    }
    enter.args(["--pid", "--fork"]);
    let mut probe = Command::new("unshare");
    if !probe.args(enter.get_args()).arg("true").output().is_ok_and(|run| run.status.success()) {
        left_out::say("the unpacker as process 1", "unshare is not allowed here");
        return;
    }
    enter.arg(unpacker().get_program());
    run(enter, |child| {
        let id = child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let inner = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
        kill_process(inner, Signal::TERM).unwrap();
    });
}

/// Runs `program` over a broken bundle and one whose server never answers, and has `end` end it.
fn run(mut program: Command, end: impl FnOnce(&Child)) {
    let (broken, good) = (bundle("one"), bundle("two"));
    fs::remove_dir_all(broken.path().join("metadata")).unwrap();
    let server = Server::start();
    server.with(|state| state.always = Some(Fault::Silence));
    let log = good.path().join("termination-log");
    fs::write(&log, "").unwrap();
    let config = kubeconfig(good.path(), server.address, &json!({"token": "t"}));
    program.arg("serve").arg("--kubeconfig").arg(config).arg("--termination-log").arg(&log);
    program.args(["--deadline", "90s", "--request-timeout", "90s"]);
    for (root, name) in [(&broken, "broken"), (&good, "good")] {
        program.arg(format!("--bundle={}={name}", root.path().display()));
    }
    let begin = Instant::now();
    let child = program.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while server.requests() == 0 {
        std::thread::yield_now();
    }
    end(&child);
    let output = child.wait_with_output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(45), "it sat its deadline out");
    let stderr = String::from_utf8(output.stderr).unwrap();
    let run = Run { code: output.status.code(), stdout: String::new(), stderr };
    assert_eq!(run.verdicts(), ["badBundle", "interrupted"], "{}", run.stderr);
    assert_eq!(run.code, Some(32), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&log).unwrap(), run.stderr.lines().last().unwrap());
}
