//! The metrics for Prometheus.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

#[path = "http/port.rs"]
mod port;
#[expect(dead_code, reason = "shared with the tests under load")]
#[path = "load/running.rs"]
mod running;

use std::{fs, mem};

use futures::future::join_all;
use http_body_util::Empty;
use hyper::Request;
use hyper::header::HeaderValue;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tonic::Code;
use unlade_server::Options;
use unlade_text::hex;

use crate::port::{FILES, Running, send};
use crate::running::{Client, catalog, count, within};

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
async fn metrics_are_served_until_the_last_call_has_ended() {
    let mut running = Running::start(&[("a", &catalog(2_000))], |_| {}).await;
    let mut client = Client::with_narrow_streams(running.grpc).await;
    let mut stream = client.list_bundles().await.unwrap();
    mem::replace(&mut running.stop, oneshot::channel().0).send(()).unwrap();
    let refused = async { while TcpStream::connect(running.http).await.is_ok() {} };
    within(refused).await;
    running.wait_for_metrics(&["unlade_server_running_calls 1"]).await;
    assert_eq!(count(&mut stream).await.unwrap(), 2_000);
    within(running.serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(running.metrics).await.is_err());
}

#[tokio::test]
async fn requests_to_the_http_api_are_counted_by_code() {
    let running = Running::start(&FILES, |_| {}).await;
    for path in ["/api/v1/all", "/api/v1/metas", "/api/v1/metas?limit=1", "/api/v2"] {
        running.request(path, &[]).await;
    }
    let lines = [(200, 2), (400, 1), (404, 1)]
        .map(|(code, n)| format!("http_requests_total{{code=\"{code}\"}} {n}"));
    running.wait_for_metrics(&lines.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn the_bytes_of_responses_are_counted() {
    let running = Running::start(&FILES, |_| {}).await;
    running.wait_for_metrics(&["unlade_server_sent_bytes_total 0"]).await;
    let mut client = Client::with_narrow_streams(running.grpc).await;
    client.package("tea").await.unwrap();
    // The message, after a header of 5 bytes: name, channel with its name and head, default
    // channel.
    let message = 2 + "tea".len() + 2 + 2 + "c".len() + 2 + "tea.v1".len() + 2 + "c".len();
    let line = format!("unlade_server_sent_bytes_total {}", 5 + message);
    running.wait_for_metrics(&[&line]).await;
}

#[tokio::test]
async fn metrics_name_the_catalog_and_the_state_of_its_cache() {
    let directory = TempDir::new().unwrap();
    let catalog = directory.path().join("catalog");
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
    options.cache = Some(directory.path().join("cache"));
    check(&options, "written", "it does not exist").await;
    check(&options, "used", "").await;
    fs::write(directory.path().join("cache/unlade.v1"), "").unwrap();
    let reason = "it is not a complete cache of this version of unlade";
    check(&options, "written", reason).await;
    let running = Running::start_with(&catalog, &options).await;
    let request = Request::get("/metrics").body(Empty::new()).unwrap();
    let response = send(running.metrics, request).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.headers().get("content-type"), Some(&HeaderValue::from_static(kind)));
}
