//! The server under load and under attack, behind real clients: many streams, slow readers, broken
//! frames, and a signal. docs/reliability.md says what is guaranteed.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

#[path = "load/frame.rs"]
mod frame;
#[expect(dead_code, reason = "shared with the tests of the memory")]
#[path = "load/running.rs"]
mod running;

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{self, Instant, sleep, timeout};
use tonic::Code;
use unlade_server::Options;
use unlade_server::message::GetBundleRequest;

use crate::frame::{Frame, HEADERS_OF_GET_BUNDLE, HEADERS_OF_LIST_BUNDLES, PREFACE, kind};
use crate::running::{Running, WAIT, catalog, count, within};

/// The number of bundles. A stream of all of them is larger than the buffers of a connection.
const N_BUNDLES: usize = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_limit_are_refused_and_later_ones_are_not() {
    let running = Running::start(&catalog(N_BUNDLES), |options| options.calls = 2).await;
    let mut client = running.narrow_client().await;
    let mut running_calls = Vec::new();
    for _ in 0..2 {
        running_calls.push(client.list_bundles().await.unwrap());
    }
    let refused = client.package("tea").await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    running.check_health().await;
    drop(running_calls);
    // The server learns of the cancelled calls a little later.
    timeout(WAIT, async { while client.package("tea").await.is_err() {} }).await.unwrap();
}

#[tokio::test]
async fn limits_can_be_larger_than_what_can_be_counted() {
    let change = |options: &mut Options| {
        (options.connections, options.calls) = (usize::MAX, usize::MAX);
    };
    let running = Running::start(&catalog(1), change).await;
    assert_eq!(running.client().await.package("tea").await.unwrap().name, "tea");
}

/// Returns a catalog with one bundle that is larger than the windows of a narrow client.
fn large_bundle() -> String {
    let large = format!("properties: [{{type: large, value: '{}'}}, ", "x".repeat(300_000));
    catalog(1).replace("properties: [", &large)
}

#[tokio::test(flavor = "multi_thread")]
async fn large_responses_that_are_not_read_count_as_calls() {
    let running = Running::start(&large_bundle(), |options| options.calls = 2).await;
    let mut client = running.narrow_client().await;
    let unread = [client.begin_bundle().await.unwrap(), client.begin_bundle().await.unwrap()];
    let refused = running.client().await.package("tea").await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    drop(unread);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_that_only_the_connection_still_holds_count_as_calls() {
    let running = Running::start(&large_bundle(), |options| options.calls = 2).await;
    let mut client = running.client().await;
    let mut connection = TcpStream::connect(running.address).await.unwrap();
    // The windows have room for everything, but this client does not read.
    let settings = Frame { length: 6, kind: kind::SETTINGS, flags: 0, stream: 0 };
    let update = Frame { length: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream: 0 };
    let size = &[0, 4, 0x7f, 0xff, 0xff, 0xff];
    let windows = [PREFACE, &settings.bytes(), size, &update.bytes(), &[0x7f, 0, 0, 0]].concat();
    connection.write_all(&windows).await.unwrap();
    let message = frame::message(&GetBundleRequest {
        pkg_name: "tea".to_owned(),
        channel_name: "c".to_owned(),
        csv_name: "b0".to_owned(),
    });
    // The first responses fill the buffers of the system.
    for n in 0..250 {
        frame::send_call(&mut connection, 2 * n + 1, HEADERS_OF_GET_BUNDLE, &message).await;
        let mut is_refused = true;
        for _ in 0..50 {
            is_refused = client.package("tea").await.is_err();
            if !is_refused {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        if is_refused {
            // The calls end when the client reads.
            let read = async { while connection.read(&mut [0; 4096]).await.unwrap() > 0 {} };
            let answered = async { while client.package("tea").await.is_err() {} };
            tokio::select! {
                () = read => panic!("the connection was closed"),
                () = within(answered) => return,
            }
        }
    }
    panic!("75 MB of responses wait for a client, and do not count");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_wait_for_a_free_one() {
    let running = Running::start(&catalog(1), |options| options.connections = 2).await;
    let mut clients = vec![running.client().await, running.client().await];
    for client in &mut clients {
        client.package("tea").await.unwrap();
    }
    let waiting = async { running.client().await.package("tea").await.unwrap() };
    let mut waiting = Box::pin(waiting);
    // The third one is not answered while the others are used.
    let used = async {
        for _ in 0..50 {
            for client in &mut clients {
                client.package("tea").await.unwrap();
            }
        }
    };
    tokio::select! {
        package = &mut waiting => panic!("{package:?} for the third connection"),
        () = used => {}
    }
    clients.clear();
    assert_eq!(timeout(WAIT, waiting).await.unwrap().name, "tea");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut_leave_nothing_behind() {
    let running = Running::start(&catalog(N_BUNDLES), |options| options.calls = 8).await;
    for _ in 0..40 {
        let mut connection = TcpStream::connect(running.address).await.unwrap();
        connection.write_all(PREFACE).await.unwrap();
        for stream in [1, 3, 5, 7] {
            frame::send_call(&mut connection, stream, HEADERS_OF_LIST_BUNDLES, &[0; 5]).await;
        }
        // The response begins, and the client disappears.
        timeout(WAIT, frame::skip_to(&mut connection, kind::HEADERS)).await.unwrap();
    }
    // 160 calls have begun, and 8 at a time are possible.
    let mut client = running.client().await;
    let list = async {
        loop {
            if let Ok(mut stream) = client.list_bundles().await {
                break count(&mut stream).await.unwrap();
            }
        }
    };
    assert_eq!(timeout(WAIT, list).await.unwrap(), N_BUNDLES);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_too_large_or_not_messages_are_refused() {
    let running = Running::start(&catalog(1), |_| {}).await;
    let mut client = running.client().await;
    let error = client.package(&"x".repeat(65 << 10)).await.unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange, "{error}");
    let error = client.raw("Registry/GetPackage", &[0xff; 100]).await.unwrap_err();
    assert_eq!(error.code(), Code::Internal, "{error}");
    let error = client.raw("Registry/NoSuchMethod", b"").await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented, "{error}");
    // The connection remains.
    assert_eq!(client.package("tea").await.unwrap().name, "tea");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_frames_end_only_their_connection() {
    let running = Running::start(&catalog(1), |_| {}).await;
    let mut client = running.client().await;
    let flags = frame::END_HEADERS;
    let header = |length: u32, kind: u8, stream: u32| Frame { length, kind, flags, stream };
    let cases: [(&str, Vec<u8>); 9] = [
        ("HTTP/1.1", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        ("noise", vec![0xa5; 4_096]),
        ("a frame of 16 MiB", frame::after_preface(header(0xff_ffff, kind::DATA, 1), &[0; 64])),
        ("data without a stream", frame::after_preface(header(4, kind::DATA, 1), b"abcd")),
        (
            "headers that are no HPACK",
            frame::after_preface(header(4, kind::HEADERS, 1), &[0xff; 4]),
        ),
        ("settings on a stream", frame::after_preface(header(6, kind::SETTINGS, 1), &[0; 6])),
        ("a ping of 3 bytes", frame::after_preface(header(3, kind::PING, 0), &[0; 3])),
        ("a window of 0", frame::after_preface(header(4, kind::WINDOW_UPDATE, 0), &[0; 4])),
        ("a continuation of nothing", frame::after_preface(header(1, kind::CONTINUATION, 1), &[0])),
    ];
    for (what, bytes) in cases {
        let mut connection = TcpStream::connect(running.address).await.unwrap();
        connection.write_all(&bytes).await.unwrap();
        let mut response = Vec::new();
        // The server closes the connection: it ends, or is reset.
        let end = timeout(WAIT, connection.read_to_end(&mut response)).await;
        assert!(end.is_ok(), "{what}: the connection remains open");
        assert_eq!(client.package("tea").await.unwrap().name, "tea", "{what}");
    }
}

#[tokio::test]
async fn a_client_that_sends_nothing_is_disconnected() {
    let running = Running::start(&catalog(1), |_| {}).await;
    let mut connection = TcpStream::connect(running.address).await.unwrap();
    connection.write_all(PREFACE.get(..20).unwrap()).await.unwrap();
    // Time passes at once while all tasks wait.
    time::pause();
    sleep(Duration::from_secs(10)).await;
    time::resume();
    let mut response = Vec::new();
    // The server closes the connection: it ends, or is reset.
    _ = within(connection.read_to_end(&mut response)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn running_calls_end_when_the_server_stops_and_new_ones_do_not_begin() {
    let running = Running::start(&catalog(N_BUNDLES), |_| {}).await;
    let mut client = running.narrow_client().await;
    let mut stream = client.list_bundles().await.unwrap();
    assert!(within(stream.message()).await.unwrap().is_some());
    let serving = running.stop();
    assert_eq!(1 + count(&mut stream).await.unwrap(), N_BUNDLES);
    timeout(WAIT, serving).await.unwrap().unwrap().unwrap();
    assert!(client.package("tea").await.is_err());
}

#[tokio::test]
async fn a_reader_that_stops_is_cut_at_the_end_of_the_grace_period() {
    let grace = Duration::from_secs(20);
    let running = Running::start(&catalog(N_BUNDLES), |options| options.grace = grace).await;
    let mut stream = running.narrow_client().await.list_bundles().await.unwrap();
    assert!(within(stream.message()).await.unwrap().is_some());
    // Time passes at once while all tasks wait, so the server has exactly its grace period.
    time::pause();
    let stopped = Instant::now();
    within(running.stop()).await.unwrap().unwrap();
    let elapsed = stopped.elapsed();
    time::resume();
    // The clock of tokio has a resolution of one millisecond.
    assert!((grace..grace + Duration::from_millis(10)).contains(&elapsed), "{elapsed:?}");
    assert!(count(&mut stream).await.is_err(), "the call was not cut");
}
