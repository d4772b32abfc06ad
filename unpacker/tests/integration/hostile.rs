//! The program in a file system that is a hostile bundle's image: whatever a C library would load
//! from there runs foreign code beside the token.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use unlade_tests::left_out;

use crate::authority::Authority;
use crate::fixture::{Run, write_bundle};
use crate::server::Server;

const WHAT: &str = "the unpacker inside a hostile file system";
const ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";
/// Left behind by code of the bundle that ran.
const MARK: &str = "FOREIGN-CODE-RAN";

/// All that the program opens, beside the bundle.
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
fn nothing_of_the_image_but_the_bundle_is_opened_and_no_code_of_it_runs() {
    let Some(program) = static_program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    write_bundle(&root, "hostile");
    fs::copy(program, root.join("unlade-unpacker")).unwrap();
    let mut enter = vec!["chroot".to_owned(), root.display().to_string()];
    if !rustix::process::geteuid().is_root() {
        enter.splice(0..0, ["unshare".to_owned(), "--map-root-user".to_owned()]);
    }
    if !runs(&enter) {
        left_out::say(WHAT, "neither chroot nor unshare is allowed here");
        return;
    }
    if !lay_traps(&root, folder.path()) {
        left_out::say(WHAT, "no C compiler");
        return;
    }

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

    let trace = folder.path().join("trace");
    let traced = Command::new("strace").arg("--version").output().is_ok();
    if traced {
        let strace = ["strace", "-f", "-qq", "-e", "trace=%file,%network", "-o"];
        let strace = strace.map(str::to_owned).into_iter();
        enter.splice(0..0, strace.chain([trace.display().to_string()]));
    } else {
        left_out::say("the list of files that the unpacker opens", "no strace");
    }
    let mut command = Command::new(enter.remove(0));
    command.args(enter).args(["/unlade-unpacker", "serve", "--bundle", "bundle"]);
    let run = Run::of(command.envs(variables(&server)));

    assert_eq!(run.verdicts(), ["written"], "{}", run.stderr);
    assert!(!run.stderr.contains(MARK), "{}", run.stderr);
    assert!(!root.join(MARK).exists(), "code of the image ran");
    assert_eq!(fs::read_to_string(root.join("etc/victim")).unwrap(), "untouched");
    let object = server.object("olm", "bundle");
    assert!(object["data"]["csv.yaml"].as_str().unwrap().contains("hostile.v1.0.0"));
    if traced {
        check(&fs::read_to_string(trace).unwrap(), server.address.port());
    }
}

/// The static build, which `cargo xtask dist` makes: a dynamic one would load the C library of
/// the image before its first instruction.
fn static_program() -> Option<PathBuf> {
    let path = std::env::var_os("UNLADE_UNPACKER").map_or_else(
        || {
            let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            workspace.join("target/shipped/unlade-unpacker-x86_64")
        },
        PathBuf::from,
    );
    if path.exists() {
        return Some(path);
    }
    let why = "no static build: run cargo xtask dist, or name one in UNLADE_UNPACKER";
    left_out::say(WHAT, why);
    None
}

fn runs(enter: &[String]) -> bool {
    let [program, args @ ..] = enter else { return false };
    let output = Command::new(program).args(args).args(["/unlade-unpacker", "--version"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Puts a hostile library wherever a C library might look for one, and has every configuration
/// file point to it. False if there is no compiler.
fn lay_traps(root: &Path, outside: &Path) -> bool {
    let source = outside.join("trap.c");
    let code = format!(
        r#"#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void trap(void) {{
    write(2, "{MARK}\n", sizeof "{MARK}");
    close(open("/{MARK}", O_CREAT | O_WRONLY, 0600));
}}
"#
    );
    fs::write(&source, code).unwrap();
    let library = outside.join("trap.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(source);
    if !compiler.output().is_ok_and(|output| output.status.success()) {
        return false;
    }
    // The trap works: it catches a program that is not made for this.
    let output = Command::new("true").env("LD_PRELOAD", &library).output().unwrap();
    fs::remove_file(format!("/{MARK}")).ok();
    assert!(String::from_utf8_lossy(&output.stderr).contains(MARK), "the trap does not work");

    for folder in [
        "lib",
        "lib64",
        "lib/x86_64-linux-gnu",
        "usr/lib",
        "usr/lib64",
        "usr/lib/x86_64-linux-gnu",
        "usr/lib/x86_64-linux-gnu/gconv",
        "gconv",
        "tls",
    ] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        for name in [
            "ld-linux-x86-64.so.2",
            "libc.so.6",
            "libgcc_s.so.1",
            "libnss_compat.so.2",
            "libnss_dns.so.2",
            "libnss_files.so.2",
            "libnss_trap.so.2",
            "libresolv.so.2",
            "TRAP.so",
            "UTF-8.so",
        ] {
            fs::copy(&library, folder.join(name)).unwrap();
        }
        let modules = "module UTF-8// INTERNAL TRAP 1\nmodule INTERNAL UTF-8// TRAP 1\n";
        fs::write(folder.join("gconv-modules"), modules).unwrap();
    }
    for (name, text) in [
        ("nsswitch.conf", "hosts: trap\npasswd: trap\nservices: trap\n"),
        ("hosts", "192.0.2.1 kubernetes.default.svc localhost\n"),
        ("resolv.conf", "nameserver 192.0.2.1\n"),
        ("host.conf", "multi on\n"),
        ("gai.conf", "reload yes\n"),
        ("ld.so.preload", "/lib/TRAP.so\n"),
        ("localtime", "not a time zone"),
        ("victim", "untouched"),
    ] {
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::write(root.join("etc").join(name), text).unwrap();
    }
    fs::create_dir_all(root.join("dev")).unwrap();
    symlink("/etc/victim", root.join("dev/termination-log")).unwrap();
    fs::write(root.join("kubeconfig"), "not: a kubeconfig\n").unwrap();
    true
}

fn variables(server: &Server) -> Vec<(&'static str, String)> {
    let mut variables: Vec<_> = [
        ("LD_PRELOAD", "/lib/TRAP.so"),
        ("LD_LIBRARY_PATH", "/lib"),
        ("LD_AUDIT", "/lib/TRAP.so"),
        ("GCONV_PATH", "/gconv"),
        ("GLIBC_TUNABLES", "glibc.malloc.check=3"),
        ("LOCPATH", "/lib"),
        ("NLSPATH", "/lib/%N"),
        ("LANG", "xx_XX.TRAP"),
        ("LC_ALL", "xx_XX.TRAP"),
        ("LANGUAGE", "xx"),
        ("HOSTALIASES", "/etc/hosts"),
        ("RES_OPTIONS", "debug"),
        ("TZ", ":/etc/localtime"),
        ("KUBECONFIG", "/kubeconfig"),
        ("HTTP_PROXY", "http://192.0.2.1:1"),
        ("HTTPS_PROXY", "http://192.0.2.1:1"),
        ("https_proxy", "http://192.0.2.1:1"),
        ("ALL_PROXY", "socks5://192.0.2.1:1"),
        ("SSL_CERT_FILE", "/etc/victim"),
        ("SSL_CERT_DIR", "/etc"),
        ("SSLKEYLOGFILE", "/keys"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
        ("RUST_MIN_STACK", "1"),
        ("TMPDIR", "/lib"),
        ("HOME", "/lib"),
        ("CONTAINER_IMAGE", "foreign"),
        ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
    ]
    .into_iter()
    .map(|(name, value)| (name, value.to_owned()))
    .collect();
    variables.push(("KUBERNETES_SERVICE_PORT", server.address.port().to_string()));
    variables
}

/// Everything that was opened is on the list, and the only connection is the one to the server.
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
