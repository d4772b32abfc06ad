//! The program `unlade-server`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what fails here fails the test"
)]

#[expect(dead_code, reason = "shared with the tests under load")]
#[path = "load/running.rs"]
mod running;
#[path = "program/stage.rs"]
mod stage;
#[path = "load/tea.rs"]
mod tea;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use futures::future::{join_all, try_join_all};
use rustix::process::{Resource, Rlimit, getrlimit};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::running::{Client, WAIT, catalog, count, within};
use crate::stage::{Running, Stage, link, log, run};
use crate::tea::CATALOG;

#[test]
fn an_image_can_be_built_with_caches_for_this_server_and_for_opm() {
    let stage = Stage::new(CATALOG);
    let output = stage.run(&["--cache-only", "--pprof-addr", ""]);
    assert!(output.status.success(), "{}", log(&output));
    assert_eq!(stage.names("cache"), ["cache", "digest", "unlade.v1"]);
    assert_eq!(stage.names("cache/cache"), ["packages.json", "tea_stable_tea.v1.json"]);
    // A second build replaces the cache for opm.
    fs::write(stage.path("cache/cache/old.json"), "").unwrap();
    assert!(stage.run(&["--cache-only"]).status.success());
    assert_eq!(stage.names("cache/cache"), ["packages.json", "tea_stable_tea.v1.json"]);
}

#[test]
fn an_image_can_be_built_with_the_smaller_cache_only() {
    let stage = Stage::new(CATALOG);
    let output = stage.run(&["--cache-only", "--cache-format", "unlade"]);
    assert!(output.status.success(), "{}", log(&output));
    assert_eq!(stage.names("cache"), ["unlade.v1"]);
}

#[test]
fn a_cache_that_cannot_be_written_fails_the_build_of_an_image() {
    let stage = Stage::new(CATALOG);
    fs::write(stage.path("cache"), "a file").unwrap();
    let output = stage.run(&["--cache-only"]);
    assert_eq!(output.status.code(), Some(1));
    let cache = stage.path("cache").display().to_string();
    let message = format!("failed to write the cache to {cache}: File exists (os error 17)\n");
    assert_eq!(fs::read_to_string(stage.path("termination-log")).unwrap(), message);
    assert!(log(&output).ends_with(&format!("error: {message}")), "{}", log(&output));
}

#[test]
fn a_catalog_that_opm_could_not_cache_is_cached_for_this_server_with_a_warning() {
    let stage = Stage::new(&CATALOG.replace("stable", "stable/1"));
    let output = stage.run(&["--cache-only"]);
    assert!(output.status.success(), "{}", log(&output));
    assert!(log(&output).contains("opm cannot use this cache"), "{}", log(&output));
    assert_eq!(stage.names("cache"), ["unlade.v1"]);
}

#[test]
fn only_a_cache_of_opm_is_replaced() {
    // The catalog itself is named like a part of a cache.
    let stage = Stage::new(CATALOG);
    let build = |stage: &Stage, catalog: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unlade-server"));
        command.arg(stage.path(catalog)).arg("--cache-dir").arg(stage.path(""));
        run(command.args(["--cache-only", "--termination-log="]))
    };
    let refused = |output: &Output| {
        assert_eq!(output.status.code(), Some(1), "{}", log(output));
        let message = "it is not an opm cache; move or delete it first\n";
        assert!(log(output).ends_with(message), "{}", log(output));
    };
    fs::rename(stage.path("catalog"), stage.path("cache")).unwrap();
    refused(&build(&stage, "cache"));
    fs::write(stage.path("cache/packages.json"), "{}").unwrap();
    fs::write(stage.path("cache/.indexignore"), "packages.json\n").unwrap();
    fs::write(stage.path("digest"), "").unwrap();
    refused(&build(&stage, "cache"));
    let names = [".indexignore", "catalog.yaml", "packages.json"];
    assert_eq!(stage.names("cache"), names);
    // A directory that is not a cache, and a file without a cache.
    fs::rename(stage.path("cache"), stage.path("catalog")).unwrap();
    refused(&build(&stage, "catalog"));
    assert!(stage.path("digest").exists());
    fs::remove_file(stage.path("digest")).unwrap();
    fs::create_dir(stage.path("cache")).unwrap();
    fs::write(stage.path("cache/packages.json"), "{}").unwrap();
    refused(&build(&stage, "catalog"));
    // Both together are a cache.
    fs::write(stage.path("digest"), "").unwrap();
    let output = build(&stage, "catalog");
    assert!(output.status.success(), "{}", log(&output));
    assert_eq!(stage.names("cache"), ["packages.json", "tea_stable_tea.v1.json"]);
}

#[test]
fn an_old_cache_that_opm_would_prefer_is_removed() {
    let stage = Stage::new(CATALOG);
    let pogreb = stage.path("cache/pogreb.v1");
    // opm chooses the format by this directory, so an unknown one must not remain unnoticed.
    fs::create_dir_all(pogreb.join("mine")).unwrap();
    let output = stage.run(&["--cache-only"]);
    assert_eq!(output.status.code(), Some(1), "{}", log(&output));
    let message = "cache/pogreb.v1: it is not an opm cache; move or delete it first\n";
    assert!(log(&output).ends_with(message), "{}", log(&output));
    fs::remove_dir(pogreb.join("mine")).unwrap();
    // What opm leaves if it is killed, and a complete cache.
    for (directory, digest) in
        [(None, false), (Some("db"), false), (None, true), (Some("db"), true)]
    {
        fs::create_dir_all(pogreb.join(directory.unwrap_or_default())).unwrap();
        if digest {
            fs::write(pogreb.join("digest"), "0123456789abcdef").unwrap();
        }
        let output = stage.run(&["--cache-only"]);
        assert!(output.status.success(), "{}", log(&output));
        assert_eq!(stage.names("cache"), ["cache", "digest", "unlade.v1"]);
    }
}

#[test]
fn a_cache_inside_the_catalog_is_not_used() {
    let stage = Stage::new(CATALOG);
    let directory = stage.path("catalog/cache").display().to_string();
    let output = stage.run(&["--cache-only", "--cache-dir", &directory]);
    assert_eq!(output.status.code(), Some(1), "{}", log(&output));
    assert!(log(&output).contains("WARN"), "{}", log(&output));
    let message = "the directory of the cache is inside the catalog\n";
    assert!(log(&output).ends_with(message), "{}", log(&output));
    assert_eq!(stage.names("catalog"), ["catalog.yaml"]);
}

#[test]
fn a_signal_ends_the_program_while_it_reads_the_catalog() {
    let more = (0..100_000).map(|n| format!("---\n{{schema: example.com/{n}, a: {n}}}\n"));
    let stage = Stage::new(&[CATALOG.to_owned()].into_iter().chain(more).collect::<String>());
    let mut server = Running::start(&stage, &["--debug"]);
    server.wait_for("reading the catalog");
    server.signal();
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("serving the catalog"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_under_load_lets_running_calls_end_and_refuses_connections() {
    const N_BUNDLES: usize = 1_000;
    let stage = Stage::new(&catalog(N_BUNDLES));
    let mut server = Running::start(&stage, &[]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()));
    let clients = join_all((0..4).map(|_| Client::with_narrow_streams(address))).await;
    let calls = clients.iter().flat_map(|client| (0..50).map(|_| client.clone()));
    let begin = async |mut client: Client| {
        let mut stream = client.list_bundles().await?;
        within(stream.message()).await.map(|first| (stream, usize::from(first.is_some())))
    };
    let mut streams = try_join_all(calls.map(begin)).await.unwrap();
    assert_eq!(streams.len(), 200);
    // No stream can have ended, because the windows have no room for all bundles.
    server.signal();
    server.wait_for("stopping");
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    assert!(timeout(WAIT, refused).await.is_ok(), "new connections are accepted");
    let counts =
        streams.iter_mut().map(async |(stream, n)| count(stream).await.map(|rest| *n + rest));
    let counts = try_join_all(counts).await.unwrap();
    assert!(counts.iter().all(|count| *count == N_BUNDLES), "{counts:?}");
    // The log would say that the grace period has ended.
    assert_eq!(server.end(), (Some(0), String::new()));
}

#[test]
fn metrics_and_the_http_api_are_served_where_the_arguments_say() {
    let stage = Stage::new(CATALOG);
    let arguments = ["--metrics-addr=localhost:0", "--http-addr", "127.0.0.1:0"];
    let mut server = Running::start(&stage, &arguments);
    for (message, path, part) in [
        ("serving metrics", "/metrics", "\nunlade_server_catalog_info{sha256="),
        ("serving the HTTP API", "/api/v1/metas?name=tea", r#"{"defaultChannel":"stable","#),
    ] {
        let address = server.wait_for(message)["address"].as_str().unwrap().to_owned();
        let mut connection = std::net::TcpStream::connect(address).unwrap();
        connection.set_read_timeout(Some(WAIT)).unwrap();
        write!(connection, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.0 200 OK\r\n"), "{response}");
        assert!(response.contains(part), "{response}");
    }
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn failures_to_accept_a_connection_are_logged_until_they_end() {
    let stage = Stage::new(CATALOG);
    let mut server = Running::start(&stage, &["--metrics-addr=localhost:0"]);
    let metrics = server.wait_for("serving metrics")["address"].as_str().unwrap().to_owned();
    server.wait_for("serving the catalog");
    let old = getrlimit(Resource::Nofile);
    let old = server.limit_files(Rlimit { current: Some(0), ..old });
    let mut connection = std::net::TcpStream::connect(metrics).unwrap();
    let logged = server.wait_for("failed to accept a connection");
    assert_eq!(logged["error"], "Too many open files (os error 24)");
    server.limit_files(old);
    connection.set_read_timeout(Some(WAIT)).unwrap();
    write!(connection, "GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.0 200 OK\r\n"), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_write_nothing_to_the_debug_log() {
    let stage = Stage::new(CATALOG);
    let mut server = Running::start(&stage, &["--debug"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()));
    Client::with_narrow_streams(address).await.package("tea").await.unwrap();
    server.signal();
    server.wait_for("stopping");
    assert_eq!(server.end(), (Some(0), String::new()));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let stage = Stage::new(CATALOG);
    let taken = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = stage.run(&["--port", &port]);
    assert_eq!(output.status.code(), Some(1));
    let message = format!("error: failed to listen on [::]:{port}: Address already in use");
    assert!(log(&output).contains(&message), "{}", log(&output));
}

#[test]
fn the_reason_of_a_failure_is_in_the_termination_log() {
    let stage = Stage::new(&CATALOG.replace("1.0.0", "v1"));
    let output = stage.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let message = fs::read_to_string(stage.path("termination-log")).unwrap();
    assert!(message.starts_with("the catalog is invalid: catalog.yaml:15: "), "{message}");
}

#[test]
fn names_in_a_catalog_do_not_control_the_terminal_or_fill_the_log() {
    let stage = Stage::new(CATALOG);
    fs::write(stage.path("catalog/x\u{1b}[5m\u{7f}\u{9b}.json"), "{").unwrap();
    let output = stage.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let message = fs::read_to_string(stage.path("termination-log")).unwrap();
    assert!(message.contains(r"x\u{1b}[5m\u{7f}\u{9b}.json"), "{message:?}");
    assert_eq!(log(&output), format!("error: {message}"));
    let stage = Stage::new(&CATALOG.replace("tea.v1", &"t".repeat(1 << 20)));
    let output = stage.run(&["--cache-only"]);
    assert!(output.status.success(), "{} bytes", output.stderr.len());
    assert!(log(&output).contains("opm cannot use this cache"), "{} bytes", output.stderr.len());
    assert!(output.stderr.len() < 4_096, "{} bytes", output.stderr.len());
}

#[test]
fn the_log_can_be_json() {
    let stage = Stage::new(CATALOG);
    let output =
        stage.run(&["--cache-only", "--log-format", "json", "--pprof-addr", "localhost:6060"]);
    let log = log(&output);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let levels: Vec<_> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["WARN", "INFO"], "{log}");
}

#[test]
#[ignore = "needs namespaces"]
fn a_full_disk_prevents_a_cache_and_leaves_nothing() {
    let stage = Stage::new(&format!("{CATALOG}---\nschema: example.com/{}\n", "x".repeat(100_000)));
    fs::create_dir(stage.path("cache")).unwrap();
    let build = |directory: &Path, size: &str| {
        let script = format!(
            "mount -t tmpfs -o size={size} none \"$1\"; shift; \
             if \"$@\"; then echo exit 0; else echo exit $?; fi; ls {}",
            directory.display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-ec", &script, "sh"]).arg(directory);
        command.arg(env!("CARGO_BIN_EXE_unlade-server")).arg(stage.path("catalog"));
        command.args(["--cache-only", "--cache-format", "unlade", "--cache-dir"]).arg(directory);
        let output = run(command.arg("--termination-log").arg("/dev/null"));
        (String::from_utf8_lossy(&output.stdout).into_owned(), log(&output))
    };
    let (found, log) = build(&stage.path("cache"), "64k");
    assert_eq!(found, "exit 1\n", "{log}");
    assert!(log.contains("No space left on device"), "{log}");
    let (found, log) = build(&stage.path("cache"), "1m");
    assert_eq!(found, "exit 0\nunlade.v1\n", "{log}");
}

#[test]
fn the_probe_reports_whether_a_server_is_healthy() {
    let stage = Stage::new(CATALOG);
    let mut server = Running::start(&stage, &[]);
    let mut probe = link(&stage, "grpc_health_probe");
    let address = format!("-addr=:{}", server.port());
    let output = run(probe.args([&address, "-rpc-timeout=1m", "-connect-timeout=1m"]));
    assert_eq!((output.status.code(), log(&output).as_str()), (Some(0), "status: SERVING\n"));
    assert_eq!(server.terminate(), Some(0));
    // Nobody listens at this address, and no other program gets it.
    let unused = TcpSocket::new_v4().unwrap();
    unused.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = format!("-addr={}", unused.local_addr().unwrap());
    let mut probe = Command::new(stage.path("grpc_health_probe"));
    let output = run(probe.args([&address, "-connect-timeout=1m"]));
    assert_eq!(output.status.code(), Some(2), "{}", log(&output));
    let begin = "error: failed to connect service \"127.0.0.1:";
    assert!(log(&output).starts_with(begin), "{}", log(&output));
    // A server that accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("-addr={}", silent.local_addr().unwrap());
    let mut probe = Command::new(stage.path("grpc_health_probe"));
    let output = run(probe.args([&address, "-connect-timeout=1m"]));
    assert_eq!(output.status.code(), Some(3), "{}", log(&output));
    assert_eq!(log(&output), "timeout: health rpc did not complete within 1s\n");
    let output = run(Command::new(stage.path("grpc_health_probe")).arg("-tls"));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn as_opm_it_serves_and_passes_other_commands_to_the_unpacker() {
    let stage = Stage::new(CATALOG);
    let mut opm = link(&stage, "opm");
    opm.args(["serve", "--cache-only", "--termination-log", "/dev/null"]);
    let output = run(opm.arg(stage.path("catalog")));
    assert!(output.status.success(), "{}", log(&output));
    let own = stage.path("unlade-server");
    fs::copy(env!("CARGO_BIN_EXE_unlade-server"), &own).unwrap();
    fs::remove_file(stage.path("opm")).unwrap();
    symlink(&own, stage.path("opm")).unwrap();
    fs::write(stage.path("unlade-unpacker"), "#!/bin/sh\necho \"unpacker: $*\"\n").unwrap();
    fs::set_permissions(stage.path("unlade-unpacker"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = run(Command::new(stage.path("opm")).args(["alpha", "bundle", "extract"]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "unpacker: alpha bundle extract\n", "{}", log(&output));
}
