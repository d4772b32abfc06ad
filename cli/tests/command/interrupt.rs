use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use http::Method;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::pipe;
use rustix::process::{Pid, Signal, kill_process};
use unlade_api_server::{Disturbance, Recorded, Server, State};

use crate::api_server::{Cluster, IMAGE, OTHER, creates, is_creation_of};

fn deletes(kind: &str) -> impl Fn(&Recorded) -> bool {
    move |request| request.method == Method::DELETE && request.path.contains(kind)
}

#[test]
fn a_deletion_that_hangs_is_interrupted_at_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::new(State::fill)
            .disturbed(|request| (*request.method == Method::DELETE).then_some(Disturbance::Hang));
        let cluster = Cluster::new(server);
        let launch = cluster.start(&["launch", IMAGE, "--rm"]);
        cluster.server.wait_for(1, deletes("/configmaps/"));
        launch.signal(signal);
        let (code, stderr) = launch.wait();
        assert_eq!(code, Some(73), "{signal:?}: {stderr}");
        assert!(stderr.contains("error: interrupted; configmap/etcd-0-9-4-"), "{stderr}");
        assert!(stderr.contains(" may still exist\n"), "{stderr}");
    }
}

#[test]
fn output_that_nobody_reads_is_interrupted_at_once() {
    // The exit codes that a shell reports for these signals.
    for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let cluster = Cluster::new(Server::new(State::fill));
        let (reader, writer) = pipe().unwrap();
        // Fills the pipe.
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        while rustix::io::write(&writer, &[0; 4096]).is_ok() {}
        fcntl_setfl(&writer, OFlags::empty()).unwrap();
        let mut command = cluster.command(&["launch", IMAGE]);
        let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.ends_with(" loaded\n") {
            assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{told}");
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let end = Instant::now() + Duration::from_mins(2);
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        // A program that is still running ends now, because its next write fails.
        drop(reader);
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{told}");
    }
}

#[test]
fn a_job_whose_creation_is_in_flight_is_not_denied() {
    // The request may or may not be carried out, and is never answered.
    for (disturbance, told) in [
        (Disturbance::HangAfterDoing, "interrupted; the Job was deleted\n"),
        (Disturbance::Hang, ": the Job may still appear\n"),
    ] {
        let mut disturbance = Some(disturbance);
        let server = Server::new(|_, _| {}).disturbed(move |request| {
            creates(request.method, request.path, "/jobs").then(|| disturbance.take()).flatten()
        });
        let cluster = Cluster::new(server);
        let launch = cluster.start(&["launch", IMAGE, "--cancel-on-interrupt"]);
        cluster.server.wait_for(1, is_creation_of("/jobs"));
        launch.interrupt();
        let (code, stderr) = launch.wait();
        assert_eq!(code, Some(73), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    }
    let server = Server::new(|_, _| {}).disturbed(|request| {
        creates(request.method, request.path, "/jobs").then_some(Disturbance::Hang)
    });
    let cluster = Cluster::new(server);
    let launch = cluster.start(&["launch", IMAGE]);
    cluster.server.wait_for(1, is_creation_of("/jobs"));
    launch.interrupt();
    let (_, stderr) = launch.wait();
    assert!(stderr.contains(" may have been created in the namespace default\n"), "{stderr}");
}

#[test]
fn a_cancellation_that_hangs_ends_with_the_second_interrupt() {
    let server = Server::new(|_, _| {})
        .disturbed(|request| (*request.method == Method::DELETE).then_some(Disturbance::Hang));
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", IMAGE, "--cancel-on-interrupt"]);
    launch.read_until("created");
    launch.interrupt();
    cluster.server.wait_for(1, deletes("/jobs/"));
    launch.interrupt();
    let (code, stderr) = launch.wait();
    assert_eq!(code, Some(73), "{stderr}");
    assert!(stderr.contains("interrupted twice; a Job of configmap/etcd-0-9-4-"), "{stderr}");
}

#[test]
fn only_confirmed_cancellations_are_subtracted_from_the_running_jobs() {
    // The first has no Job yet, and the Job of the second cannot be deleted.
    let mut is_first = true;
    let server = Server::new(|_, _| {}).disturbed(move |request| {
        let is_hung = creates(request.method, request.path, "/jobs")
            && std::mem::take(&mut is_first)
            || *request.method == Method::DELETE;
        is_hung.then_some(Disturbance::Hang)
    });
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", "--cancel-on-interrupt", IMAGE, OTHER]);
    launch.read_until("created");
    cluster.server.wait_for(2, is_creation_of("/jobs"));
    launch.interrupt();
    cluster.server.wait_for(1, deletes("/jobs/"));
    launch.interrupt();
    let (code, stderr) = launch.wait();
    assert_eq!(code, Some(73), "{stderr}");
    assert!(stderr.contains("; 1 Job is still running in the namespace default"), "{stderr}");
}

#[test]
fn deletions_of_a_batch_hold_up_neither_the_launches_nor_an_interrupt() {
    // The Job of the other is done once the ConfigMap of the first is being deleted.
    let server = Server::new(|server, job| {
        if job["metadata"]["name"].as_str().unwrap().starts_with("etcd-") {
            server.fill(job);
        }
    })
    .disturbed(|request| (*request.method == Method::DELETE).then_some(Disturbance::Hang));
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", "--rm", "--keep-going", IMAGE, OTHER]);
    let first = launch.read_until("launched");
    assert_eq!(first["image"], IMAGE);
    cluster.server.wait_for(1, deletes("/configmaps/"));
    cluster.server.wait_for(2, is_creation_of("/jobs"));
    cluster.server.fill("other-");
    let second = launch.read_until("launched");
    assert_eq!(second["image"], OTHER);
    launch.interrupt();
    let (code, stderr) = launch.wait();
    assert_eq!(code, Some(73), "{stderr}");
    assert!(stderr.contains("; the deletion of 2 ConfigMaps was not confirmed\n"), "{stderr}");
    assert!(!stderr.contains("cannot delete"), "{stderr}");
}
