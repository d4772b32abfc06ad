//! The HTTP API of catalogd.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

#[expect(dead_code, reason = "shared with the tests of the metrics")]
#[path = "http/port.rs"]
mod port;
#[expect(dead_code, reason = "shared with the tests under load")]
#[path = "load/running.rs"]
mod running;

use std::io::Read as _;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http_body_util::Empty;
use hyper::{Method, Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{self, sleep, timeout};

use crate::port::{FILES, Running, send};
use crate::running::within;

/// The metas of [`FILES`] in the order of a walk: the directory `a` is before `a-b`, and `.c` is
/// first.
const LINES: [&str; 5] = [
    r#"{"name":"green","schema":"example.com/x","size":1}"#,
    r#"{"defaultChannel":"c","name":"tea","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"tea.v1"}],"name":"c","package":"tea","schema":"olm.channel"}"#,
    r#"{"name":"c","package":"tea","schema":"example.com/x","text":"<&>"}"#,
    r#"{"image":"r.example/tea:1","name":"tea.v1","package":"tea","properties":[{"type":"olm.package","value":{"packageName":"tea","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
];

fn header<'r>(response: &'r Response<Bytes>, name: &str) -> Option<&'r str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

/// Returns these lines, each with its end.
fn text<'l>(lines: impl IntoIterator<Item = &'l str>) -> String {
    lines.into_iter().fold(String::new(), |text, line| text + line + "\n")
}

#[tokio::test]
async fn all_metas_are_lines_in_the_order_of_the_files() {
    let running = Running::start(&FILES, |_| {}).await;
    let response = running.request("/api/v1/all", &[]).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.body(), &text(LINES));
    assert_eq!(header(&response, "content-type"), Some("application/jsonl"));
    assert_eq!(header(&response, "accept-ranges"), Some("bytes"));
    let len = text(LINES).len().to_string();
    assert_eq!(header(&response, "content-length"), Some(&*len));
    let head = Request::head("/api/v1/all").body(Empty::new()).unwrap();
    let head = send(running.http, head).await;
    assert_eq!((head.status().as_u16(), head.body().len()), (200, 0));
    for name in ["content-length", "content-type", "etag", "last-modified"] {
        assert_eq!(header(&head, name), header(&response, name), "{name}");
        assert!(header(&head, name).is_some(), "{name}");
    }
}

#[tokio::test]
async fn metas_are_selected_by_all_parameters() {
    let running = Running::start(&FILES, |_| {}).await;
    for (query, wanted) in [
        ("", vec![0, 1, 2, 3, 4]),
        ("?schema=&package=&name=", vec![0, 1, 2, 3, 4]),
        ("?schema=example.com/x", vec![0, 3]),
        ("?schema=example.com%2Fx&package=tea", vec![3]),
        // The package itself has no package.
        ("?package=tea", vec![2, 3, 4]),
        ("?name=c", vec![2, 3]),
        ("?name=c&schema=olm.channel&package=tea", vec![2]),
        ("?name=c&name=green", vec![2, 3]),
        ("?schema=olm.bundle&name=c", vec![]),
        ("?schema=olm", vec![]),
    ] {
        let response = running.request(&format!("/api/v1/metas{query}"), &[]).await;
        let wanted = text(wanted.into_iter().map(|n: usize| LINES[n]));
        assert_eq!((response.status().as_u16(), response.body()), (200, &wanted.into()), "{query}");
        assert_eq!(header(&response, "content-type"), Some("application/jsonl"));
    }
    for query in ["?Schema=olm.bundle", "?schema=olm.bundle&limit=1"] {
        let response = running.request(&format!("/api/v1/metas{query}"), &[]).await;
        assert_eq!(response.status(), 400, "{query}");
    }
}

#[tokio::test]
async fn responses_that_a_client_has_are_not_sent_again() {
    const OLD: &str = "Sat, 29 Oct 1994 19:43:31 GMT";
    let running = Running::start(&FILES, |_| {}).await;
    for path in ["/api/v1/all", "/api/v1/metas?name=c"] {
        let response = running.request(path, &[]).await;
        let etag = header(&response, "etag").unwrap();
        let modified = header(&response, "last-modified").unwrap();
        for (headers, status) in [
            (vec![("if-none-match", etag)], 304),
            (vec![("if-none-match", &*format!("\"other\", W/{etag}"))], 304),
            (vec![("if-none-match", "\"other\"")], 200),
            (vec![("if-modified-since", modified)], 304),
            (vec![("if-modified-since", OLD)], 200),
            (vec![("if-modified-since", "yesterday")], 200),
            // The tag is more precise than the time.
            (vec![("if-none-match", "\"other\""), ("if-modified-since", modified)], 200),
            (vec![("if-match", etag)], 200),
            (vec![("if-match", "\"other\"")], 412),
            (vec![("if-unmodified-since", modified)], 200),
            (vec![("if-unmodified-since", OLD)], 412),
            (vec![("if-match", "\"other\""), ("if-none-match", etag)], 412),
        ] {
            let response = running.request(path, &headers).await;
            assert_eq!(response.status(), status, "{path}, {headers:?}");
            // A cache may have stored the compressed response.
            let weak = format!("W/{etag}");
            let etag = if status == 304 { &weak } else { etag };
            assert_eq!(header(&response, "etag"), Some(etag), "{path}, {headers:?}");
            assert_eq!(header(&response, "vary"), Some("accept-encoding"), "{path}, {headers:?}");
            assert_eq!(response.body().is_empty(), status != 200, "{path}, {headers:?}");
        }
    }
}

#[tokio::test]
async fn the_tag_changes_with_the_metas_only() {
    let etag = async |files: &[(&str, &str)]| {
        let response = Running::start(files, |_| {}).await.request("/api/v1/all", &[]).await;
        header(&response, "etag").unwrap().to_owned()
    };
    let meta = etag(&[("a", "schema: x\nname: b\n")]).await;
    assert_eq!(etag(&[("c.json", r#"{"name": "b", "schema": "x"}"#)]).await, meta);
    assert_ne!(etag(&[("a", "schema: x\nname: c\n")]).await, meta);
}

#[tokio::test]
async fn parts_of_all_metas_can_be_requested() {
    let running = Running::start(&FILES, |_| {}).await;
    let whole = text(LINES);
    let len = whole.len();
    let response = running.request("/api/v1/all", &[]).await;
    let etag = header(&response, "etag").unwrap();
    let modified = header(&response, "last-modified").unwrap();
    for (range, part) in [
        ("bytes=0-9", 0..10),
        ("bytes=-5", len - 5..len),
        ("bytes=5-", 5..len),
        ("bytes=5-18446744073709551615", 5..len),
    ] {
        let headers = [("range", range), ("if-range", etag), ("accept-encoding", "gzip")];
        let response = running.request("/api/v1/all", &headers).await;
        assert_eq!(response.status(), 206, "{range}");
        assert_eq!(response.body(), &whole[part.clone()], "{range}");
        let content_range = format!("bytes {}-{}/{len}", part.start, part.end - 1);
        assert_eq!(header(&response, "content-range"), Some(&*content_range));
    }
    let beyond = format!("bytes={len}-");
    let response = running.request("/api/v1/all", &[("range", &beyond)]).await;
    assert_eq!((response.status().as_u16(), response.body().len()), (416, 0));
    assert_eq!(header(&response, "content-range"), Some(&*format!("bytes */{len}")));
    for headers in [
        vec![("range", "bytes=0-9"), ("if-range", "\"other\"")],
        vec![("range", "bytes=0-9"), ("if-range", &format!("W/{etag}"))],
        // Another representation can have the same time.
        vec![("range", "bytes=0-9"), ("if-range", modified)],
        vec![("range", "bytes=0-9,20-29")],
        vec![("range", "bytes=9-0")],
        vec![("range", "lines=0-9")],
        vec![("range", "bytes=x-")],
    ] {
        let response = running.request("/api/v1/all", &headers).await;
        assert_eq!(
            (response.status().as_u16(), &response.body()[..]),
            (200, whole.as_bytes()),
            "{headers:?}"
        );
    }
    let head = Request::head("/api/v1/all").header("range", "bytes=0-9").body(Empty::new());
    let head = send(running.http, head.unwrap()).await;
    assert_eq!((head.status().as_u16(), header(&head, "content-length")), (206, Some("10")));
    // catalogd has ranges for all metas only.
    let response = running.request("/api/v1/metas", &[("range", "bytes=0-9")]).await;
    assert_eq!((response.status().as_u16(), &response.body()[..]), (200, whole.as_bytes()));
}

#[tokio::test]
async fn large_responses_are_compressed_for_clients_that_accept_it() {
    let large = format!("schema: x\ntext: {}\n", "abc ".repeat(100_000));
    let running = Running::start(&[("a", "schema: z\n"), ("b", &large)], |_| {}).await;
    let plain = running.request("/api/v1/all", &[("accept-encoding", "gzip;q=0")]).await;
    assert_eq!(header(&plain, "content-encoding"), None);
    let packed = running.request("/api/v1/all", &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(header(&packed, "content-encoding"), Some("gzip"));
    assert_eq!(header(&packed, "vary"), Some("accept-encoding"));
    assert!(packed.body().len() < plain.body().len() / 10);
    let mut unpacked = Vec::new();
    GzDecoder::new(&**packed.body()).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == *plain.body());
    let etag = header(&packed, "etag").unwrap();
    assert_eq!(etag, format!("W/{}", header(&plain, "etag").unwrap()));
    let headers = [("accept-encoding", "gzip"), ("if-none-match", etag)];
    let unchanged = running.request("/api/v1/all", &headers).await;
    assert_eq!((unchanged.status().as_u16(), header(&unchanged, "etag")), (304, Some(etag)));
    // catalogd compresses from 1,400 bytes.
    let small = running.request("/api/v1/metas?schema=z", &[("accept-encoding", "gzip")]).await;
    assert_eq!(header(&small, "content-encoding"), None);
}

#[tokio::test]
async fn other_paths_methods_and_large_requests_are_refused() {
    let running = Running::start(&FILES, |_| {}).await;
    for path in ["/", "/api/v1/graphql", "/api/v1/all/", "/metrics"] {
        assert_eq!(running.request(path, &[]).await.status(), 404, "{path}");
    }
    for path in ["/api/v1/all", "/api/v1/metas"] {
        let request = Request::post(path).body(Empty::new()).unwrap();
        let response = send(running.http, request).await;
        assert_eq!(response.status(), 405, "{path}");
        assert_eq!(header(&response, "allow"), Some("GET,HEAD"), "{path}");
    }
    let response = running.request("/api/v1/all", &[("a", &"x".repeat(65 << 10))]).await;
    assert_eq!(response.status(), 431);
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::PUT;
    *request.uri_mut() = "/metrics".parse().unwrap();
    assert_eq!(send(running.metrics, request).await.status(), 405);
}

/// Returns a catalog whose metas are larger than the buffers of the system.
fn huge() -> String {
    format!("{{\"schema\":\"x\",\"text\":\"{}\"}}", "x".repeat(12 << 20))
}

/// Requests all metas, and reads the first bytes of the response only.
async fn begin(running: &Running) -> TcpStream {
    let mut connection = TcpStream::connect(running.http).await.unwrap();
    connection.write_all(b"GET /api/v1/all HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    within(connection.read_exact(&mut [0; 12])).await.unwrap();
    connection
}

/// Returns whether the connection ends before the whole response.
async fn is_cut(mut connection: TcpStream) -> bool {
    let mut rest = Vec::new();
    let end = within(connection.read_to_end(&mut rest)).await;
    end.is_err() || rest.len() < 12 << 20
}

#[tokio::test]
async fn a_reader_that_stops_is_disconnected_after_ten_minutes() {
    let running = Running::start(&[("a", &huge())], |_| {}).await;
    let connection = begin(&running).await;
    // Time passes at once while all tasks wait.
    time::pause();
    sleep(Duration::from_mins(10)).await;
    time::resume();
    assert!(is_cut(connection).await);
}

#[tokio::test]
async fn a_reader_that_stops_does_not_keep_the_server_from_stopping() {
    let running = Running::start(&[("a", &huge())], |_| {}).await;
    let connection = begin(&running).await;
    let Running { stop, serving, .. } = running;
    time::pause();
    stop.send(()).unwrap();
    within(serving).await.unwrap().unwrap();
    time::resume();
    assert!(is_cut(connection).await);
}

#[tokio::test]
async fn a_running_response_is_sent_whole_when_the_server_stops() {
    let running = Running::start(&[("a", &huge())], |_| {}).await;
    let connection = begin(&running).await;
    let Running { stop, serving, http, .. } = running;
    stop.send(()).unwrap();
    let refused = async { while TcpStream::connect(http).await.is_ok() {} };
    within(refused).await;
    assert!(!is_cut(connection).await);
    within(serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_without_a_request_do_not_keep_the_server_from_stopping() {
    let running = Running::start(&FILES, |_| {}).await;
    running.request("/api/v1/all", &[]).await;
    let mut idle = TcpStream::connect(running.http).await.unwrap();
    idle.write_all(b"HEAD /api/v1/all HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    within(idle.read_exact(&mut [0; 12])).await.unwrap();
    let Running { stop, serving, http, .. } = running;
    time::pause();
    stop.send(()).unwrap();
    // Shorter than the grace period, which would end the connection too.
    timeout(Duration::from_secs(15), serving).await.unwrap().unwrap().unwrap();
    time::resume();
    assert!(TcpStream::connect(http).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_wait_for_a_free_one() {
    let running = Running::start(&FILES, |options| options.connections = 1).await;
    let mut first = TcpStream::connect(running.http).await.unwrap();
    first.write_all(b"GET /api/v1/all HTTP/1.1\r\nHost: a\r\n").await.unwrap();
    let waiting = running.request("/api/v1/all", &[]);
    let mut waiting = Box::pin(waiting);
    // The other listeners have limits of their own.
    tokio::select! {
        response = &mut waiting => panic!("{response:?} for the second connection"),
        () = running.wait_for_metrics(&["# EOF"]) => {}
    }
    drop(first);
    assert_eq!(waiting.await.status(), 200);
}
