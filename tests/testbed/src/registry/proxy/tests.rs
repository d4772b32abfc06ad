use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use super::{Head, refusal, repository};
use crate::file;
use crate::registry::fault::{Answer, Fault, Faults};

/// Starts a registry that answers every request with `real`, and a proxy in front of it. Returns
/// the address of the proxy.
fn proxied(faults: &Path) -> String {
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let behind = registry.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for connection in registry.incoming() {
            let mut connection = connection.unwrap();
            let head = Head::read(&mut BufReader::new(&connection)).unwrap();
            let Some(head) = head else { continue };
            assert!(head.lines.contains(&"Connection: close".to_owned()));
            connection.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nreal").unwrap();
        }
    });
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (listen, faults) = (free.clone(), faults.to_path_buf());
    thread::spawn(move || super::serve(&listen, &behind, &faults));
    let deadline = std::time::Duration::from_secs(10);
    crate::wait::wait_for("the proxy", deadline, || Ok(TcpStream::connect(&free).ok())).unwrap();
    free
}

/// Gives the repository `a` a fault.
fn set(path: &Path, answer: Answer) {
    let mut faults = Faults::default();
    faults.set("a", Fault::always(answer));
    file::write_json(path, &faults).unwrap();
}

fn get(address: &str, target: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn only_the_faulty_repository_is_refused_and_only_as_often_as_requested() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faults.json");
    let address = proxied(&path);
    assert!(get(&address, "/v2/a/b/manifests/1").ends_with("real"), "no faults file");

    let mut faults = Faults::default();
    // Set a second time, the same fault is another one.
    for _ in 0..2 {
        faults.set("a/b", Fault::times(2, Answer::Status(429)));
        file::write_json(&path, &faults).unwrap();
        for _ in 0..2 {
            let answer = get(&address, "/v2/a/b/manifests/1?ns=x");
            assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
            assert!(answer.contains("Retry-After: 1\r\n"));
        }
        assert!(get(&address, "/v2/a/b/manifests/1").ends_with("real"), "it is well again");
    }
    assert!(get(&address, "/v2/a/manifests/1").ends_with("real"), "another repository");
    assert!(get(&address, "/v2/").ends_with("real"));
}

#[test]
fn a_response_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faults.json");
    set(&path, Answer::Cut(20));
    let address = proxied(&path);
    assert_eq!(get(&address, "/v2/a/blobs/sha256:0").len(), 20);
}

#[test]
fn a_private_repository_responds_only_with_credentials() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faults.json");
    set(&path, Answer::Private);
    let address = proxied(&path);
    assert!(get(&address, "/v2/a/manifests/1").starts_with("HTTP/1.1 401"));
    let respond_to = |credentials: &str| {
        let text =
            format!("/v2/a/manifests/1 HTTP/1.1\r\nAuthorization: Basic {credentials}\r\nX: x");
        get(&address, &text)
    };
    assert!(respond_to("dGVzdGJlZDphIHBhc3N3b3Jk").ends_with("real"));
    assert!(respond_to("YTpi").starts_with("HTTP/1.1 401"));
}

#[test]
fn a_hanging_repository_sends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faults.json");
    set(&path, Answer::Hang);
    let address = proxied(&path);
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(b"GET /v2/a/manifests/1 HTTP/1.1\r\n\r\n").unwrap();
    connection.write_all(b"Host: x\r\n\r\n").unwrap();
    connection.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let error = connection.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    file::write_json(&path, &Faults::default()).unwrap();
    connection.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    assert_eq!(connection.read(&mut [0]).unwrap(), 0, "it ends once the fault is over");
}

#[test]
fn a_fault_that_replaced_another_outlives_it() {
    let mut faults = Faults::default();
    let [first, second] = [Answer::Hang, Answer::Status(500)].map(|answer| {
        let fault = Fault::always(answer);
        faults.set("a", fault)
    });
    faults.heal("a", first);
    assert_eq!(faults.get("a").unwrap().fault.answer, Answer::Status(500));
    faults.heal("a", second);
    assert!(faults.get("a").is_none());
}

#[test]
fn the_repository_is_found_in_the_path() {
    assert_eq!(repository("/v2/a/b/manifests/1.0"), Some("a/b"));
    assert_eq!(repository("/v2/a/blobs/uploads/?digest=x/manifests/y"), Some("a"));
    assert_eq!(repository("/v2/manifests/manifests/1"), Some("manifests"));
    assert_eq!(repository("/v2/"), None);
    assert_eq!(repository("/"), None);
}

#[test]
fn a_refusal_with_401_asks_for_credentials() {
    assert!(refusal(401, false).contains("WWW-Authenticate: Basic"));
    assert!(refusal(404, true).ends_with("\r\n\r\n"));
}
