//! `install`: the program copies itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::{Run, unpacker};

fn version(program: &Path) -> String {
    Run::execute(Command::new(program).arg("--version")).stdout
}

#[test]
fn copy_runs_and_is_executable_for_all_whatever_the_umask() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("unlade-unpacker");
    let program = env!("CARGO_BIN_EXE_unlade-unpacker");
    for destination in [directory.path().to_owned(), copy.clone(), directory.path().join("other")] {
        let script = format!("umask 077; exec '{program}' install '{}'", destination.display());
        let run = Run::execute(Command::new("sh").args(["-c", &script]));
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
        let path = if destination.is_dir() { &copy } else { &destination };
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o755);
        assert!(version(path).starts_with("unlade-unpacker "));
        assert_eq!(fs::read(path).unwrap(), fs::read(program).unwrap());
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing unfinished stays");
}

#[test]
fn running_copy_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    Run::execute(unpacker().arg("install").arg(&copy));
    // It waits for a server that never responds.
    let server = crate::server::Server::start();
    server.with(|state| state.always = Some(crate::server::Fault::Silence));
    let bundle = crate::fixture::bundle("one");
    let config = bundle.path().join("kubeconfig");
    let text = format!(
        "current-context: x\ncontexts: [{{name: x, context: {{cluster: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n",
        server.address
    );
    fs::write(&config, text).unwrap();
    let mut running = Command::new(&copy)
        .args(["serve", "--kubeconfig"])
        .arg(&config)
        .arg(format!("--bundle={}=x", bundle.path().display()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while server.requests() == 0 {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let run = Run::execute(unpacker().arg("install").arg(&copy));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(running.try_wait().unwrap().is_none());
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(version(&copy).starts_with("unlade-unpacker "));
}

#[test]
fn copy_replaces_a_link_and_not_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    fs::write(&target, "precious").unwrap();
    symlink(&target, directory.path().join("link")).unwrap();
    assert_eq!(
        Run::execute(unpacker().arg("install").arg(directory.path().join("link"))).code,
        Some(0)
    );
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn destination_that_cannot_be_written_is_an_error_that_names_it() {
    let run = Run::execute(unpacker().args(["install", "/proc/nowhere/unlade-unpacker"]));
    assert_eq!((run.code, run.verdicts()), (Some(31), vec!["system".to_owned()]));
    assert!(run.stderr.contains("failed to write /proc/nowhere/unlade-unpacker"), "{}", run.stderr);
}
