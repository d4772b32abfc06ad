//! The life cycle of a testbed beside others: crashes, two nodes, and its complete removal.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::json;
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer, write};
use unlade_testbed::{Node, Part, Settings, State, Testbed, fault};
use unlade_tests::cluster::Cluster;

/// Returns what a testbed could leave behind outside its directory: mounts, control groups, and
/// processes, which are found by the paths in their arguments.
fn traces(name: &str) -> Vec<String> {
    let mut traces = Vec::new();
    let directory = format!("/{name}/");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    traces.extend(mounts.lines().filter(|line| line.contains(&directory)).map(str::to_owned));
    for hierarchy in fs::read_dir("/sys/fs/cgroup").unwrap().flatten() {
        let group = hierarchy.path().join(format!("unlade-{name}"));
        traces.extend(group.exists().then(|| group.display().to_string()));
    }
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        traces.extend(arguments.contains(&directory).then_some(arguments));
    }
    traces
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_testbed_survives_crashes_and_leaves_nothing() {
    let cluster = Cluster::open_testbed();
    let settings = Settings::from_env().unwrap();
    // The name is derived from that of the other testbed, so that two checkouts do not conflict.
    let name = format!("life-{}", settings.name.get(..15).unwrap_or(&settings.name));
    let settings = settings.named(&name).unwrap();
    let helper = cluster.testbed().helper();
    let mut told = Vec::new();
    let mut tell = |line: &str| told.push(line.to_owned());
    Testbed::down(&settings).unwrap();
    let nodes = [Node::default(), Node { architecture: Some("riscv64".into()), ..Node::default() }];

    // One node crashes and is repaired, and a second one is added.
    let testbed = Testbed::up(&settings, &nodes[..1], &helper, &mut tell).unwrap();
    for part in [Part::ApiServer, Part::Etcd, Part::Containerd(0), Part::Kubelet(0)] {
        assert!(testbed.kill(part).unwrap());
    }
    assert!(testbed.pause(Part::Scheduler).unwrap());
    let states = |testbed: &Testbed| testbed.parts().unwrap().into_iter().map(|part| part.state);
    assert_eq!(states(&testbed).filter(|&state| state == State::Ended).count(), 4);
    assert_eq!(states(&testbed).filter(|&state| state == State::Stopped).count(), 1);
    let testbed = Testbed::up(&settings, &nodes, &helper, &mut tell).unwrap();
    assert!(states(&testbed).all(|state| state == State::Running));
    let label = "--output=jsonpath={.metadata.labels.kubernetes\\.io/arch}";
    assert_eq!(testbed.kubectl(["get", "node", "node1", label]).unwrap(), "riscv64");

    pods_of_one_node_are_cut_off(&testbed);
    a_node_is_lost_and_returns(&testbed);

    // Containers are running, and parts were killed. Everything is removed, except what belongs to
    // other testbeds.
    testbed.kill(Part::Mounts(0)).unwrap();
    testbed.lose_node(1).unwrap();
    assert!(!traces(&name).is_empty());
    let mounts = node_mounts(cluster.testbed());
    assert_eq!(mounts.len(), 4, "{mounts:?}");
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    testbed.down_after(&settings, child.id()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let end = Instant::now() + Duration::from_mins(5);
    while settings.state.join(&name).exists() || !traces(&name).is_empty() {
        assert!(Instant::now() < end, "a testbed outlives its process: {:?}", traces(&name));
        thread::sleep(Duration::from_millis(100));
    }
    assert!(Testbed::open(&settings).is_err());
    assert_eq!(node_mounts(cluster.testbed()), mounts);
    assert!(told.iter().any(|line| line.contains("etcd again")), "{told:?}");
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_downloads_come_from_outside_of_the_testbeds_network() {
    let cluster = Cluster::open_testbed();
    let network = || Ok(fs::read_link("/proc/thread-self/ns/net").unwrap());
    let own = network().unwrap();
    let seen =
        cluster.testbed().within(|| Ok([network()?, Testbed::outside(network)?, network()?]));
    let [inside, outside, inside_again] = seen.unwrap();
    assert_eq!(outside, own);
    assert_ne!(inside, own);
    assert_eq!(inside_again, inside);
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_pods_that_come_and_go_do_not_change_the_address_of_the_bridge() {
    let cluster = Cluster::open_testbed();
    let ip = |arguments: &str| {
        let finished = Command::new("ip").args(arguments.split(' ')).output().unwrap();
        assert!(finished.status.success(), "{arguments}: {finished:?}");
        String::from_utf8(finished.stdout).unwrap()
    };
    // An earlier run that failed may have left it.
    let remove = || _ = Command::new("ip").args(["link", "delete", "port0"]).output();
    let addresses = cluster.testbed().within(|| {
        remove();
        let address = || ip("-brief link show node0").split_whitespace().nth(2).unwrap().to_owned();
        let before = address();
        // No pod has a lower address.
        ip("link add port0 address 00:00:00:00:00:02 type veth peer name port1");
        ip("link set port0 master node0");
        let during = address();
        remove();
        Ok([before, during])
    });
    let [before, during] = addresses.unwrap();
    assert_eq!(before, during);
}

/// Returns the directories of the machine over which the first node of a testbed has mounted its
/// own.
fn node_mounts(testbed: &Testbed) -> Vec<String> {
    let parts = testbed.parts().unwrap();
    let holder = parts.into_iter().find(|part| part.part == Part::Mounts(0)).unwrap();
    let mounts = fs::read_to_string(format!("/proc/{}/mounts", holder.pid.unwrap())).unwrap();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    let directories = ["/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/log/pods"];
    points.filter(|point| directories.contains(point)).map(str::to_owned).collect()
}

fn a_node_is_lost_and_returns(testbed: &Testbed) {
    let becomes = |ready: &str| {
        let condition = format!("--for=condition=Ready={ready}");
        testbed.kubectl(["wait", &condition, "node/node1", "--timeout=300s"]).unwrap();
    };
    // The node is missed after 50 s, the default. With a shorter time, a busy machine would miss
    // nodes that are not lost.
    testbed.lose_node(1).unwrap();
    becomes("Unknown");
    testbed.return_node(1).unwrap();
    becomes("True");
}

/// Checks the pods of both nodes, which request the version of the API server.
fn pods_of_one_node_are_cut_off(testbed: &Testbed) {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("kubectl.tar");
    let kubectl = Entry::copy("kubectl", testbed.programs().kubernetes("kubectl"));
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new([kubectl.with_mode(0o755)]));
    // No other flags: with a flag about the connection, kubectl does not use its service account.
    image.config.entrypoint = ["/kubectl", "get", "--raw=/version"].map(str::to_owned).into();
    write(&image, &format!("oci-archive:{}", archive.display()).parse().unwrap()).unwrap();
    let image = testbed.push(&archive, "tools/kubectl:1").unwrap();
    let ask = |name: &str, node: usize, seconds: u32| {
        testbed.apply(&json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": seconds,
                "nodeSelector": fault::on_node(node),
                "containers": [{"name": "kubectl", "image": image}],
            },
        }))
    };
    let ended = |name: &str, phase: &str| {
        let pod = format!("pod/{name}");
        let phase = format!("--for=jsonpath={{.status.phase}}={phase}");
        let waited = testbed.kubectl(["wait", &phase, &pod, "--timeout=300s"]);
        let log = testbed.kubectl(["logs", &pod]);
        assert!(waited.is_ok(), "{waited:?}\n{log:?}");
    };
    testbed.cut_off_pods(1).unwrap();
    ask("whole", 0, 60).unwrap();
    ask("cut-off", 1, 6).unwrap();
    ended("whole", "Succeeded");
    ended("cut-off", "Failed");
    testbed.reconnect_pods(1).unwrap();
    ask("again", 1, 60).unwrap();
    ended("again", "Succeeded");
}
