//! The ports for HTTP/1.1: the API of catalogd, and the metrics.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

#[expect(dead_code, reason = "shared with the tests under load")]
#[path = "load/running.rs"]
mod running;

use std::fs;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use futures::future::join_all;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::Code;
use unlade_server::{Listeners, Metas, Options, ServeError, Server};
use unlade_text::hex;

use crate::running::{Client, WAIT, catalog};

/// The metas of [`FILES`] in the order of a walk: the folder `a` is before `a-b`, and `.c` is first.
const LINES: [&str; 5] = [
    r#"{"name":"green","schema":"example.com/x","size":1}"#,
    r#"{"defaultChannel":"c","name":"tea","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"tea.v1"}],"name":"c","package":"tea","schema":"olm.channel"}"#,
    r#"{"name":"c","package":"tea","schema":"example.com/x","text":"<&>"}"#,
    r#"{"image":"r.example/tea:1","name":"tea.v1","package":"tea","properties":[{"type":"olm.package","value":{"packageName":"tea","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
];

const FILES: [(&str, &str); 3] = [
    (".c", "{schema: example.com/x, name: green, size: 1.0}"),
    (
        "a-b.yaml",
        "schema: example.com/x\npackage: tea\nname: c\ntext: <&>\n---\n{schema: olm.bundle, \
         package: tea, name: tea.v1, image: 'r.example/tea:1', properties: [{type: olm.package, \
         value: {packageName: tea, version: 1.0.0}}]}\n",
    ),
    (
        "a/x.json",
        "{\"schema\": \"olm.package\", \"name\": \"tea\", \"defaultChannel\": \"c\"}\n{\"schema\": \
         \"olm.channel\", \"package\": \"tea\", \"name\": \"c\", \"entries\": [{\"name\": \
         \"tea.v1\"}]}",
    ),
];

/// A server in this process that listens on all three ports.
struct Running {
    grpc: SocketAddr,
    metrics: SocketAddr,
    http: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    async fn start(files: &[(&str, &str)], change: impl FnOnce(&mut Options)) -> Self {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut options = Options::default();
        change(&mut options);
        Self::start_with(folder.path(), &options).await
    }

    async fn start_with(catalog: &Path, options: &Options) -> Self {
        let server = Server::load(catalog, options).unwrap();
        let metas = Metas::load(catalog, options).unwrap();
        let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (mut listeners, metrics, http) =
            (Listeners::from(listen().await), listen().await, listen().await);
        let grpc = listeners.grpc.local_addr().unwrap();
        let addresses = (metrics.local_addr().unwrap(), http.local_addr().unwrap());
        listeners.metrics = Some(metrics);
        listeners.http = Some((http, metas));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(listeners, async {
            _ = stopped.await;
        }));
        let (metrics, http) = addresses;
        Self { grpc, metrics, http, stop, serving }
    }

    /// Sends a request to the API with these headers.
    async fn request(&self, path: &str, headers: &[(&'static str, &str)]) -> Response<Bytes> {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(self.http, request.body(Empty::new()).unwrap()).await
    }

    /// Reads the metrics until they contain all these lines.
    async fn wait_for_metrics(&self, lines: &[&str]) {
        let mut text = String::new();
        let wait = async {
            loop {
                let request = Request::get("/metrics").body(Empty::new()).unwrap();
                let response = send(self.metrics, request).await;
                text = String::from_utf8(response.into_body().into()).unwrap();
                if lines.iter().all(|line| text.lines().any(|it| it == *line)) {
                    break;
                }
            }
        };
        assert!(timeout(WAIT, wait).await.is_ok(), "{lines:?} are not all in {text}");
    }
}

async fn send(address: SocketAddr, request: Request<Empty<Bytes>>) -> Response<Bytes> {
    let answer = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
        Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
    };
    timeout(WAIT, answer).await.unwrap()
}

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

/// A catalog whose metas are larger than the buffers of the system.
fn huge() -> String {
    format!("{{\"schema\":\"x\",\"text\":\"{}\"}}", "x".repeat(12 << 20))
}

/// Requests all metas, and reads the first bytes of the response only.
async fn begin(running: &Running) -> TcpStream {
    let mut connection = TcpStream::connect(running.http).await.unwrap();
    connection.write_all(b"GET /api/v1/all HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    connection.read_exact(&mut [0; 12]).await.unwrap();
    connection
}

/// Returns whether the connection ends before the whole response.
async fn is_cut(mut connection: TcpStream) -> bool {
    let mut rest = Vec::new();
    let end = connection.read_to_end(&mut rest).await;
    end.is_err() || rest.len() < 12 << 20
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_is_disconnected_after_ten_minutes() {
    let running = Running::start(&[("a", &huge())], |_| {}).await;
    let connection = begin(&running).await;
    // Time passes at once while all tasks wait.
    sleep(Duration::from_mins(10)).await;
    assert!(is_cut(connection).await);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_does_not_keep_the_server_from_stopping() {
    let running = Running::start(&[("a", &huge())], |_| {}).await;
    let connection = begin(&running).await;
    let Running { stop, serving, .. } = running;
    stop.send(()).unwrap();
    timeout(WAIT, serving).await.unwrap().unwrap().unwrap();
    assert!(is_cut(connection).await);
}

#[tokio::test]
async fn a_running_response_is_sent_whole_when_the_server_stops() {
    let running = Running::start(&[("a", &huge())], |_| {}).await;
    let connection = begin(&running).await;
    let Running { stop, serving, http, .. } = running;
    stop.send(()).unwrap();
    let refused = async { while TcpStream::connect(http).await.is_ok() {} };
    timeout(WAIT, refused).await.unwrap();
    assert!(!is_cut(connection).await);
    timeout(WAIT, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_request_do_not_keep_the_server_from_stopping() {
    let running = Running::start(&FILES, |_| {}).await;
    running.request("/api/v1/all", &[]).await;
    let mut idle = TcpStream::connect(running.http).await.unwrap();
    idle.write_all(b"HEAD /api/v1/all HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    idle.read_exact(&mut [0; 12]).await.unwrap();
    let (http, Running { stop, serving, .. }) = (running.http, running);
    stop.send(()).unwrap();
    // Shorter than the grace period, which would end the connection too.
    timeout(Duration::from_secs(15), serving).await.unwrap().unwrap().unwrap();
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

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_counted_by_method_and_code() {
    let text = catalog(2_000);
    let running = Running::start(&[("a", &text)], |options| options.calls = 3).await;
    running.wait_for_metrics(&["unlade_server_running_calls 0"]).await;
    let mut client = Client::with_narrow_streams(running.grpc).await;
    client.package("tea").await.unwrap();
    client.package("coffee").await.unwrap_err();
    client.raw("Registry/NoSuchMethod", b"").await.unwrap_err();
    client.raw("Another/NoSuchMethod", b"").await.unwrap_err();
    running.wait_for_metrics(&["unlade_server_running_calls 0"]).await;
    let streams = join_all((0..3).map(|_| {
        let mut client = client.clone();
        async move { client.list_bundles().await.unwrap() }
    }));
    let streams = streams.await;
    assert_eq!(client.package("tea").await.unwrap_err().code(), Code::ResourceExhausted);
    running.wait_for_metrics(&["unlade_server_running_calls 3"]).await;
    drop(streams);
    let of = |service: &str, method: &str, code: &str, n: usize| {
        format!(
            "grpc_server_handled_total{{grpc_service=\"{service}\",grpc_method=\"{method}\",\
             grpc_code=\"{code}\"}} {n}"
        )
    };
    let lines = [
        of("api.Registry", "GetPackage", "OK", 1),
        of("api.Registry", "GetPackage", "Unknown", 1),
        of("api.Registry", "GetPackage", "ResourceExhausted", 1),
        of("api.Registry", "ListBundles", "Canceled", 3),
        of("unknown", "unknown", "Unimplemented", 2),
        "grpc_server_handling_seconds_count{grpc_service=\"api.Registry\",\
         grpc_method=\"GetPackage\"} 3"
            .to_owned(),
        "unlade_server_running_calls 0".to_owned(),
    ];
    running.wait_for_metrics(&lines.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn the_bytes_of_responses_are_counted() {
    let running = Running::start(&FILES, |_| {}).await;
    running.wait_for_metrics(&["unlade_server_sent_bytes_total 0"]).await;
    let mut client = Client::with_narrow_streams(running.grpc).await;
    client.package("tea").await.unwrap();
    // The message, after a header of 5 bytes: name, channel with its name and head, default channel.
    let message = 2 + "tea".len() + 2 + 2 + "c".len() + 2 + "tea.v1".len() + 2 + "c".len();
    let line = format!("unlade_server_sent_bytes_total {}", 5 + message);
    running.wait_for_metrics(&[&line]).await;
}

#[tokio::test]
async fn metrics_name_the_catalog_and_the_state_of_its_cache() {
    let folder = TempDir::new().unwrap();
    let catalog = folder.path().join("catalog");
    fs::create_dir(&catalog).unwrap();
    fs::write(catalog.join("a"), "schema: x\n").unwrap();
    let mut options = Options::default();
    options.digest = true;
    let digest = unlade_catalog_directory::digest(&catalog, &options.limits).unwrap();
    let digest = format!("unlade_server_catalog_info{{sha256=\"{}\"}} 1", hex(&digest));
    let info = |state: &str, reason: &str| {
        format!("unlade_server_cache_info{{state=\"{state}\",reason=\"{reason}\"}} 1")
    };
    let check = async |options: &Options, state: &str, reason: &str| {
        let running = Running::start_with(&catalog, options).await;
        running.wait_for_metrics(&[&info(state, reason), &digest]).await;
    };
    check(&options, "disabled", "").await;
    options.digest = false;
    options.cache = Some(folder.path().join("cache"));
    check(&options, "written", "it does not exist").await;
    check(&options, "used", "").await;
    fs::write(folder.path().join("cache/unlade.v1"), "").unwrap();
    let reason = "it is not a complete cache of this version of unlade";
    check(&options, "written", reason).await;
    let running = Running::start_with(&catalog, &options).await;
    let request = Request::get("/metrics").body(Empty::new()).unwrap();
    let response = send(running.metrics, request).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.headers().get("content-type"), Some(&HeaderValue::from_static(kind)));
}
