//! The memory of the server under load and under attack. Each test measures the whole process, so
//! they have a program of their own, and run one after another.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

#[expect(dead_code, reason = "shared with the other tests under load")]
#[path = "load/frame.rs"]
mod frame;
#[expect(dead_code, reason = "shared with the other tests under load")]
#[path = "load/running.rs"]
mod running;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, iter};

use futures::future::{join_all, try_join_all};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use unlade_server::{OpmCacheError, Options, Server};

use crate::frame::{Frame, HEADERS_OF_LIST_BUNDLES, PREFACE, kind};
use crate::running::{Running, WAIT, catalog, count};

/// The number of bundles. A stream of all of them is larger than the window of a narrow stream.
const N_BUNDLES: usize = 2_000;

/// The type of a frame that resets a stream.
const RESET: u8 = 3;

/// Each test holds this lock, so that they run one after another.
static LOCK: Mutex<()> = Mutex::const_new(());

/// Returns the memory of this process, in bytes.
fn resident() -> usize {
    memory("VmRSS:")
}

fn memory(field: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Returns the frames of a call that is reset at once.
fn reset(n: u32) -> Vec<u8> {
    let stream = 2 * n + 1;
    let length = u32::try_from(HEADERS_OF_LIST_BUNDLES.len()).unwrap();
    let headers = Frame { length, kind: kind::HEADERS, flags: frame::END_HEADERS, stream };
    let reset = Frame { length: 4, kind: RESET, flags: 0, stream };
    [headers.bytes().as_slice(), HEADERS_OF_LIST_BUNDLES, &reset.bytes(), &[0, 0, 0, 8]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_streams_at_a_time_are_all_complete() {
    let _lock = LOCK.lock().await;
    let running = Running::start(&catalog(N_BUNDLES), |_| {}).await;
    // Each connection has 250 calls at a time.
    let clients = join_all((0..4).map(|_| running.client_with_narrow_streams())).await;
    let calls = clients.iter().flat_map(|client| (0..250).map(|_| client.clone()));
    let streams =
        join_all(calls.map(|mut client| async move { client.list_bundles().await })).await;
    let mut streams: Vec<_> = streams.into_iter().map(Result::unwrap).collect();
    assert_eq!(streams.len(), 1_000);
    // All calls have begun, and none has ended.
    let counts = try_join_all(streams.iter_mut().map(count)).await.unwrap();
    assert!(counts.iter().all(|count| *count == N_BUNDLES), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_stop_take_little_memory_and_do_not_stop_others() {
    let _lock = LOCK.lock().await;
    let large = format!("properties: [{{type: large, value: '{}'}}, ", "x".repeat(1_000));
    let catalog = catalog(N_BUNDLES).replace("properties: [", &large);
    let running = Running::start(&catalog, |_| {}).await;
    let clients = join_all((0..4).map(|_| running.narrow_client())).await;
    let before = resident();
    let mut stopped = Vec::new();
    for client in &clients {
        let calls = (0..200).map(|_| client.clone()).map(|mut client| async move {
            // Only the headers are received: the first streams fill the window of the connection.
            client.list_bundles().await.unwrap()
        });
        stopped.extend(join_all(calls).await);
    }
    // The responses have 1.7 GB. Client and server are in this process.
    let grown = resident().saturating_sub(before);
    assert!(grown < 150 << 20, "{} MiB for {} streams", grown >> 20, stopped.len());
    let package = running.client().await.package("tea").await.unwrap();
    assert_eq!(package.name, "tea");
    drop(stopped);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_a_large_bundle_that_stop_take_little_memory() {
    let _lock = LOCK.lock().await;
    let large = format!("properties: [{{type: large, value: '{}'}}, ", "x".repeat(2 << 20));
    let running = Running::start(&catalog(1).replace("properties: [", &large), |_| {}).await;
    let client = running.narrow_client().await;
    let before = resident();
    let calls = (0..200).map(|_| client.clone()).map(|mut client| async move {
        // Only the headers are received: the first streams fill the window of the connection.
        client.begin_bundle().await.unwrap()
    });
    let stopped = join_all(calls).await;
    // The responses have 400 MB.
    let grown = resident().saturating_sub(before);
    assert!(grown < 150 << 20, "{} MiB for {} streams", grown >> 20, stopped.len());
    drop(stopped);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_whose_message_is_too_large_is_refused_when_it_is_requested() {
    let _lock = LOCK.lock().await;
    // Each character needs six bytes in the ClusterServiceVersion, which the message repeats as an
    // object.
    let metadata = format!(
        "properties: [{{type: olm.csv.metadata, value: {{description: '{}'}}}}, ",
        "<".repeat(2 << 20)
    );
    let running = Running::start(&catalog(1).replace("properties: [", &metadata), |_| {}).await;
    let mut client = running.client().await;
    let status = match client.begin_bundle().await {
        Ok(mut messages) => messages.message().await.unwrap_err(),
        Err(status) => status,
    };
    assert!(status.message().contains("is larger than 16777216 bytes"), "{status}");
    assert_eq!(client.package("tea").await.unwrap().name, "tea");
}

/// Returns a catalog with many entries in one channel, and the name of the channel.
fn with_long_channel() -> (String, String) {
    let long = "c".repeat(256 << 10);
    let api = "properties: [{type: olm.gvk, value: {group: '', version: '', kind: Tea}}, ";
    let catalog = catalog(N_BUNDLES)
        .replace("defaultChannel: c}", &format!("defaultChannel: {long}}}"))
        .replace("name: c,", &format!("name: {long},"))
        .replace("replaces: ", "skips: [x], replaces: ")
        .replace("properties: [", api);
    (catalog, long)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_name_of_a_channel_is_not_repeated_for_each_entry() {
    let _lock = LOCK.lock().await;
    let (catalog, long) = with_long_channel();
    let before = resident();
    let running = Running::start(&catalog, |_| {}).await;
    // One copy for each entry would take 500 MiB.
    let check = |what: &str| {
        let grown = resident().saturating_sub(before);
        assert!(grown < 150 << 20, "{what}: {} MiB", grown >> 20);
    };
    check("loading");
    let mut client = running.narrow_client().await;
    assert_eq!(client.package("tea").await.unwrap().default_channel_name, long);
    let replacing = client.begin_replacing("x").await.unwrap();
    check("the entries that replace a bundle");
    let providing = client.begin_providing().await.unwrap();
    check("the entries that provide an API");
    drop((replacing, providing));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_metas_is_not_copied_for_each_call() {
    let _lock = LOCK.lock().await;
    // The list has 16 bytes for each meta.
    let catalog = catalog(1) + &"---\n{schema: a}\n".repeat(100_000);
    let running = Running::start(&catalog, |_| {}).await;
    let client = running.narrow_client().await;
    let before = resident();
    let calls = (0..200).map(|_| client.clone());
    let streams = join_all(calls.map(|mut client| async move {
        // Only the headers are received.
        client.begin_others("a").await.unwrap()
    }));
    let streams = streams.await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 100 << 20, "{} MiB for {} streams", grown >> 20, streams.len());
    drop(streams);
}

#[tokio::test]
async fn a_cache_for_opm_that_cannot_be_written_takes_little_memory() {
    let _lock = LOCK.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let [catalog, cache] = ["catalog", "cache"].map(|name| directory.path().join(name));
    fs::create_dir(&catalog).unwrap();
    fs::write(catalog.join("catalog.yaml"), with_long_channel().0).unwrap();
    let server = Server::load(&catalog, &Options::default()).unwrap();
    // The maximum begins with the memory of now.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = resident();
    let error = server.write_opm_cache(&catalog, &cache).unwrap_err();
    assert!(matches!(error, OpmCacheError::Name(_)), "{error}");
    // One copy of the name for each entry would take 500 MiB.
    let grown = memory("VmHWM:").saturating_sub(before);
    assert!(grown < 50 << 20, "{} MiB", grown >> 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_an_end_and_rapid_resets_end_their_connection() {
    let _lock = LOCK.lock().await;
    let running = Running::start(&catalog(1), |_| {}).await;
    let continuation = Frame { length: 16_000, kind: kind::CONTINUATION, flags: 0, stream: 1 };
    let part = [continuation.bytes().as_slice(), &vec![0; 16_000]].concat();
    let begin = Frame { length: 0, kind: kind::HEADERS, flags: 0, stream: 1 }.bytes().to_vec();
    // 320 MB, and a million streams.
    let endless = iter::once(begin).chain(iter::repeat_n(part, 20_000));
    let resets = (0..1_000_u32).map(|n| (1_000 * n..1_000 * (n + 1)).flat_map(reset).collect());
    let attacks: [(_, Box<dyn Iterator<Item = Vec<u8>>>); 2] =
        [("continuations", Box::new(endless)), ("resets", Box::new(resets))];
    for (what, parts) in attacks {
        let before = resident();
        let mut connection = TcpStream::connect(running.address).await.unwrap();
        connection.write_all(PREFACE).await.unwrap();
        let (mut reading, mut writing) = connection.split();
        let write = async {
            for part in parts {
                // Writing fails once the server has closed the connection.
                if writing.write_all(&part).await.is_err() {
                    break;
                }
            }
        };
        let mut response = Vec::new();
        let both = async { tokio::join!(write, reading.read_to_end(&mut response)) };
        let end = timeout(WAIT, both).await;
        assert!(end.is_ok(), "{what}: the connection remains open");
        let grown = resident().saturating_sub(before);
        assert!(grown < 64 << 20, "{what}: {} MiB", grown >> 20);
    }
    assert_eq!(running.client().await.package("tea").await.unwrap().name, "tea");
}

/// Client and server are in this process. The memory after the first two minutes is that of a
/// server which has seen every kind of call.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "slow: it runs for ten minutes"]
async fn ten_minutes_of_mixed_calls_leave_the_memory_flat() {
    let _lock = LOCK.lock().await;
    let running = Arc::new(Running::start(&catalog(N_BUNDLES), |_| {}).await);
    let n_rounds = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..16 {
        let (running, n_rounds) = (Arc::clone(&running), Arc::clone(&n_rounds));
        clients.spawn(async move {
            loop {
                // Connections begin and end, too.
                let mut client = running.client().await;
                for _ in 0..10 {
                    let mut bundles = client.list_bundles().await.unwrap();
                    assert_eq!(count(&mut bundles).await.unwrap(), N_BUNDLES);
                    assert_eq!(client.package("tea").await.unwrap().name, "tea");
                    client.package("coffee").await.unwrap_err();
                    // These calls end before their responses are read.
                    drop(client.list_bundles().await.unwrap());
                    drop(client.begin_bundle().await.unwrap());
                    n_rounds.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    let mut minute = interval(Duration::from_mins(1));
    minute.tick().await;
    let mut samples = Vec::new();
    for _ in 0..10 {
        tokio::select! {
            _ = minute.tick() => samples.push(resident() >> 20),
            Some(ended) = clients.join_next() => panic!("a client has failed: {ended:?}"),
        }
    }
    clients.shutdown().await;
    println!("{} rounds, MiB after each minute: {samples:?}", n_rounds.load(Ordering::Relaxed));
    assert!(samples.iter().skip(2).all(|sample| *sample <= samples[1] + 16), "{samples:?}");
}
