//! Responses of servers that are not API servers, or of a compromised API server.

use serde_json::json;

use crate::fixture::Run;
use crate::serve::Job;
use crate::server::{Fault, Server};

fn raw(text: &str) -> Fault {
    Fault::Raw(text.as_bytes().to_vec())
}

fn refusal(message: &str) -> Fault {
    let body = json!({"kind": "Status", "message": message, "code": 400}).to_string();
    raw(&format!("HTTP/1.1 400 X\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

fn body(text: &str) -> Fault {
    raw(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()))
}

/// Runs `job`, which must fail with one of `codes`, having written nothing.
fn fails(job: &Job, codes: &[i32], what: &str) {
    let run = job.run();
    let shown: String = run.stderr.chars().take(2_000).collect();
    assert!(run.code.is_some_and(|code| codes.contains(&code)), "{what}: {:?} {shown}", run.code);
    assert_eq!(job.server.with(|state| state.writes), 0, "{what}");
    assert!(run.stderr.len() < 64 << 10, "{what}: {} bytes of log", run.stderr.len());
    assert!(!run.stderr.contains('\u{1b}'), "{what}: {shown}");
}

#[test]
fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = Server::start();
        other.create("olm", "bundle");
        let path = "/api/v1/namespaces/olm/configmaps/bundle";
        let redirect = raw(&format!(
            "HTTP/1.1 {status} X\r\nLocation: http://{}{path}\r\nContent-Length: 0\r\n\r\n",
            other.address
        ));
        for faults in [&[redirect.clone()][..], &[Fault::None, redirect.clone()]] {
            fails(&Job::with_faults(faults), &[23], &status.to_string());
        }
        assert_eq!(other.requests(), 0, "{status}");
    }
}

#[test]
fn bodies_without_end_are_refused_at_the_limit() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
    std::thread::scope(|scope| {
        for (head, rest) in [
            (CHUNKED, chunk.clone()),
            ("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n", chunk),
            ("HTTP/1.1 500 X\r\n\r\n", " ".repeat(1 << 16)),
        ] {
            scope.spawn(move || {
                let job = Job::always(Fault::Endless(head, rest));
                // The run must not end because of a timeout.
                let mut command = job.command();
                command.args(["--request-timeout", "60s", "--deadline", "90s"]);
                let run = Run::execute(&mut command);
                assert_eq!(run.verdicts(), ["refused"], "{head}: {}", run.stderr);
                assert!(run.stderr.contains("is larger than 8388608 bytes"), "{}", run.stderr);
            });
        }
    });
}

#[test]
fn heads_without_end_are_given_up() {
    std::thread::scope(|scope| {
        for (head, rest) in [
            ("", "HTTP/1.1 100 Continue\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\nX: ", "a"),
            ("HTTP/1.1 200 OK\r\n", "X: a\r\n"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "an=extension;"),
        ] {
            let fault = Fault::Endless(head, rest.repeat(1 << 10));
            scope.spawn(move || fails(&Job::always(fault), &[30], rest));
        }
    });
}

#[test]
fn an_invalid_response_of_an_api_server_is_refused_or_ends_the_attempt() {
    let deep = "[".repeat(1 << 20);
    let wide = format!("[{}[]]", "[],".repeat(2 << 20));
    std::thread::scope(|scope| {
        for fault in [
            raw("{\"kind\": \"ConfigMap\"}"),
            raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            Fault::Raw(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64".to_vec()),
            raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
            raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}"),
            raw(
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ),
            raw("HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n{}"),
            raw("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n{}"),
            raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"),
            Fault::Raw(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0".to_vec(),
            ),
            raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>\x1b[2J</html>"),
            body(&deep),
            body(&wide),
            body(&format!("{{\"metadata\": {deep}}}")),
        ] {
            scope.spawn(move || {
                let what = match &fault {
                    Fault::Raw(bytes) => {
                        String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned()
                    }
                    other => format!("{other:?}"),
                };
                fails(&Job::always(fault), &[23, 30], &what);
            });
        }
    });
}

#[test]
fn a_response_of_http_1_0_is_read() {
    let job = Job::new();
    let object = job.server.object("olm", "bundle");
    let response = raw(&format!("HTTP/1.0 200 OK\r\n\r\n{object}"));
    job.server.with(|state| state.faults.push_back(response));
    assert_eq!(job.run().verdicts(), ["written"]);
}

#[test]
fn a_long_message_for_a_terminal_is_cut_and_escaped() {
    let message = format!("\u{1b}]0;owned\u{7}\r\u{9b}31m\u{202e}{}", "x".repeat(100_000));
    let job = Job::always(refusal(&message));
    let run = job.run();
    assert_eq!(run.verdicts(), ["refused"]);
    assert!(run.stderr.len() < 16 << 10, "{} bytes", run.stderr.len());
    let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!run.stderr.contains(raw), "{:?}", &run.stderr[..200]);
    assert!(run.stderr.contains("owned"));
}
