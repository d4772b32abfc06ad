//! The program in the file system of a hostile bundle's image: a library that the C library loads
//! from there could read the token.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use unlade_tests::shipped;
use unlade_tests::trap::{self, ENVIRONMENT, MARK};

use crate::authority::Authority;
use crate::fixture::{Run, write_bundle};
use crate::server::Server;

const ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";

/// The files that the program opens besides the bundle.
const OPENED: [&str; 8] = [
    "/",
    "/dev/termination-log",
    // A static glibc asks for its own path when it starts; it would be for `$ORIGIN`.
    "/proc/self/exe",
    // The standard library looks for the guard page of the main thread's stack.
    "/proc/self/maps",
    "/unlade-unpacker",
    "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    "/var/run/secrets/kubernetes.io/serviceaccount/namespace",
    "/var/run/secrets/kubernetes.io/serviceaccount/token",
];

#[test]
#[ignore = "needs the static unpacker, namespaces, strace"]
fn nothing_of_the_image_but_the_bundle_is_opened_and_no_code_of_it_runs() {
    // A dynamic one would load the C library of the image before its first instruction.
    let program = shipped::unpacker();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    write_bundle(&root, "hostile");
    fs::copy(program, root.join("unlade-unpacker")).unwrap();
    let mut enter = vec!["chroot".to_owned(), root.display().to_string()];
    if !rustix::process::geteuid().is_root() {
        enter.splice(0..0, ["unshare".to_owned(), "--map-root-user".to_owned()]);
    }
    trap::lay(&root);

    let authority = Authority::new();
    let server = Server::start_tls("127.0.0.1:0", authority.server(&["127.0.0.1"]));
    server.create("olm", "bundle");
    server.with(|state| state.token = Some("the-token".to_owned()));
    let account = root.join(ACCOUNT);
    fs::create_dir_all(account.join("..data")).unwrap();
    for (name, text) in
        [("token", "the-token\n"), ("ca.crt", &authority.pem()), ("namespace", "olm")]
    {
        // As the kubelet does it, so that all files change at once.
        fs::write(account.join("..data").join(name), text).unwrap();
        symlink(format!("..data/{name}"), account.join(name)).unwrap();
    }

    let trace = directory.path().join("trace");
    let strace = ["strace", "-f", "-qq", "-e", "trace=%file,%network", "-o"];
    let strace = strace.map(str::to_owned).into_iter();
    enter.splice(0..0, strace.chain([trace.display().to_string()]));
    let mut command = Command::new(enter.remove(0));
    command.args(enter).args(["/unlade-unpacker", "serve", "--bundle", "bundle"]);
    let run = Run::execute(command.envs(variables(&server)));

    assert_eq!(run.verdicts(), ["written"], "{}", run.stderr);
    assert!(!run.stderr.contains(MARK), "{}", run.stderr);
    assert!(!root.join(MARK).exists(), "code of the image ran");
    assert_eq!(fs::read_to_string(root.join("etc/victim")).unwrap(), "untouched");
    let object = server.object("olm", "bundle");
    assert!(object["data"]["csv.yaml"].as_str().unwrap().contains("hostile.v1.0.0"));
    check(&fs::read_to_string(trace).unwrap(), server.address.port());
}

fn variables(server: &Server) -> Vec<(&'static str, String)> {
    let mut variables: Vec<_> =
        ENVIRONMENT.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    variables.push(("KUBERNETES_SERVICE_HOST", "127.0.0.1".to_owned()));
    variables.push(("KUBERNETES_SERVICE_PORT", server.address.port().to_string()));
    variables
}

/// Asserts that only listed files were opened, and that the only connection is to the server.
fn check(trace: &str, port: u16) {
    let (_, own) = trace.split_once("execve(\"/unlade-unpacker\"").expect("the program ran");
    let mut opened = BTreeSet::new();
    let mut connections = BTreeSet::new();
    for line in own.lines() {
        if line.contains("connect(") {
            connections.insert(line.split_once("connect(").unwrap().1.to_owned());
        }
        let is_open = ["open(", "openat(", "openat2(", "execve(", "stat(", "access(", "readlink"]
            .iter()
            .any(|call| line.contains(call));
        if is_open && let Some(path) = line.split('"').nth(1) {
            opened.insert(path.to_owned());
        }
    }
    let bundle = ["manifests", "metadata", "csv.yaml", "annotations.yaml", ".", ""];
    let foreign: Vec<_> = opened
        .iter()
        .filter(|path| !OPENED.contains(&path.as_str()) && !bundle.contains(&path.as_str()))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}\n{own}");
    assert!(opened.contains("csv.yaml"), "the trace shows nothing:\n{own}");
    assert!(!connections.is_empty());
    for connection in connections {
        let expected = format!("sin_port=htons({port}), sin_addr=inet_addr(\"127.0.0.1\")");
        assert!(connection.contains(&expected), "{connection}");
    }
}
