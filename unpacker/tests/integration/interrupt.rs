//! Signals during a run.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::fixture::{Run, bundle, unpacker};
use crate::serve::kubeconfig;
use crate::server::{Fault, Server};

/// The signals that cannot be blocked (SIGKILL, SIGSTOP), that the C library reserves, and that a
/// fault raises: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS.
const NOT_TAKEN: [u32; 10] = [9, 19, 32, 33, 4, 5, 7, 8, 11, 31];

#[test]
fn signal_ends_the_run_at_once_with_what_is_done() {
    // SIGHUP, SIGINT, SIGUSR1, SIGPIPE, SIGTERM and the first of the real-time ones.
    for (signal, name) in [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (10, "SIGUSR1"),
        (13, "SIGPIPE"),
        (15, "SIGTERM"),
        (34, "signal 34"),
    ] {
        run(unpacker(), name, |child| kill(child.id(), signal));
    }
}

#[test]
fn signals_that_do_not_end_processes_do_not_end_the_program() {
    run(unpacker(), "SIGTERM", |child| {
        // Signals that stop a process are left out, because the test might hang.
        for signal in [17, 18, 23, 28] {
            kill(child.id(), signal);
        }
        kill(child.id(), 15);
    });
}

/// The kernel does not deliver signals without a handler to process 1, and the image chooses the
/// signal that ends a pod (`STOPSIGNAL`).
#[test]
#[ignore = "needs namespaces"]
fn process_1_ends_by_any_signal() {
    let enter = as_process_1();
    for signal in (1..=64).filter(|signal| !NOT_TAKEN.contains(signal)) {
        let name = match signal {
            10 => "SIGUSR1".to_owned(),
            12 => "SIGUSR2".to_owned(),
            15 => "SIGTERM".to_owned(),
            28 => "SIGWINCH".to_owned(),
            34.. => format!("signal {signal}"),
            _ => "interrupted by ".to_owned(),
        };
        let mut program = Command::new("unshare");
        program.args(&enter).arg(unpacker().get_program());
        run(program, &name, |child| kill(only_child(child.id()), signal));
    }
}

/// An orphan of its container becomes its child.
#[test]
#[ignore = "needs namespaces"]
fn process_1_is_not_ended_by_the_end_of_a_child() {
    let enter = as_process_1();
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let mut program = Command::new("unshare");
    program.args(&enter).args(["sh", "-c", "cat \"$0\" & exec \"$@\""]).arg(&fifo);
    program.arg(unpacker().get_program());
    // The child's end comes first: of two signals that wait the lower number is delivered first.
    run(program, "signal 40", |child| {
        let process_1 = only_child(child.id());
        let orphan = only_child(process_1);
        drop(fs::File::options().write(true).open(&fifo).unwrap());
        while !fs::read_to_string(format!("/proc/{orphan}/stat")).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        kill(process_1, 40);
    });
}

/// Arguments of `unshare` that make a program process 1.
fn as_process_1() -> Vec<&'static str> {
    let mut enter = vec!["--pid", "--fork"];
    if !rustix::process::geteuid().is_root() {
        enter.push("--map-root-user");
    }
    enter
}

fn kill(process: u32, signal: u32) {
    let (signal, process) = (format!("-{signal}"), process.to_string());
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

fn only_child(process: u32) -> u32 {
    let path = format!("/proc/{process}/task/{process}/children");
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

/// Runs `program` on a broken bundle and on one whose server never responds. `end` ends it with the
/// signal `name`.
fn run(mut program: Command, name: &str, end: impl FnOnce(&Child)) {
    let (broken, good) = (bundle("one"), bundle("two"));
    fs::remove_dir_all(broken.path().join("metadata")).unwrap();
    let server = Server::start();
    server.with(|state| state.always = Some(Fault::Silence));
    let log = good.path().join("termination-log");
    fs::write(&log, "").unwrap();
    let config = kubeconfig(good.path(), server.address, &json!({}));
    program.arg("serve").arg("--kubeconfig").arg(config).arg("--termination-log").arg(&log);
    program.args(["--deadline", "90s", "--request-timeout", "90s"]);
    for (root, name) in [(&broken, "broken"), (&good, "good")] {
        program.arg(format!("--bundle={}={name}", root.path().display()));
    }
    let child = program.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while server.requests() == 0 {
        std::thread::yield_now();
    }
    end(&child);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let run = Run { code: output.status.code(), stdout: String::new(), stderr };
    // If it had waited until its deadline, the verdict would be `temporary`.
    assert_eq!(run.verdicts(), ["badBundle", "interrupted"], "{name}: {}", run.stderr);
    assert_eq!(run.code, Some(32), "{name}: {}", run.stderr);
    assert!(run.stderr.contains(name), "{name}: {}", run.stderr);
    assert_eq!(fs::read_to_string(&log).unwrap(), run.stderr.lines().last().unwrap());
}
