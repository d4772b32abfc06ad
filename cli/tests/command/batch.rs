use http::Method;
use unlade_api_server::{Disturbance, Server, State};

use crate::api_server::{Cluster, IMAGE, OTHER, is_creation_of};

#[test]
fn a_deletion_that_fails_does_not_count_as_a_launch_that_failed() {
    let server = Server::new(State::fill).disturbed(|request| {
        (*request.method == Method::DELETE && request.path.contains("/configmaps/etcd-"))
            .then(|| Disturbance::status(403, "Forbidden", "no deletions today"))
    });
    let cluster = Cluster::new(server);
    let (code, stderr) = cluster.start(&["launch", "--rm", IMAGE, OTHER]).wait();
    assert_eq!(code, Some(75), "{stderr}");
    assert!(stderr.contains("no deletions today"), "{stderr}");
    assert!(stderr.ends_with("error: 1 of 2 ConfigMaps was not deleted\n"), "{stderr}");
}

#[test]
fn an_interruption_counts_only_bundles_that_could_be_loaded() {
    // The bundle of the first image has no package, which `--strict` refuses. The Job of the other
    // goes on.
    let server = Server::new(|server, job| {
        if job["metadata"]["name"].as_str().unwrap().starts_with("etcd-") {
            server.fill(job);
        }
    });
    let cluster = Cluster::new(server);
    let mut launch = cluster.start(&["launch", "--strict", "--keep-going", IMAGE, OTHER]);
    let event = launch.read_until("notLoaded");
    assert_eq!(event["image"], IMAGE);
    cluster.server.wait_for(2, is_creation_of("/jobs"));
    launch.interrupt();
    let (code, stderr) = launch.wait();
    assert_eq!(code, Some(73), "{stderr}");
    assert!(stderr.contains("interrupted; 0 of 2 images are unpacked"), "{stderr}");
}
