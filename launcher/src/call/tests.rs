use std::cell::Cell;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::{Event, Step};

fn refused(code: u16, reason: &str) -> kube::Error {
    let status = kube::core::Status::failure("no", reason).with_code(code);
    kube::Error::Api(Box::new(status))
}

fn missing(kind: &str) -> kube::Error {
    let status = serde_json::from_value(serde_json::json!({
        "code": 404, "reason": "NotFound", "message": format!("{kind} \"olm\" not found"), "details": {"kind": kind},
    }));
    kube::Error::Api(Box::new(status.unwrap()))
}

/// Sends a request to a server that returns these responses and repeats the last one. Returns the
/// result within a minute, the number of requests and the number of reported waits.
async fn asked(
    responses: &[fn() -> kube::Result<u8>],
) -> (Result<Reply<u8>, Failure>, usize, usize) {
    let n_waits = AtomicUsize::new(0);
    let count_waits = |event: Event| {
        let is_waiting = matches!(event.step, Step::Waiting { .. });
        n_waits.fetch_add(usize::from(is_waiting), Ordering::Relaxed);
    };
    let report = Report::start(&count_waits);
    let n_asked = Cell::new(0);
    let retrier = Retrier::new(&report, Duration::from_mins(1));
    let request = || {
        let response = responses[n_asked.get().min(responses.len() - 1)];
        n_asked.set(n_asked.get() + 1);
        async move { response() }
    };
    let result = retrier.send("read it", request).await;
    (result, n_asked.get(), n_waits.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn requests_are_retried_while_the_server_is_unreachable() {
    let busy: fn() -> kube::Result<u8> = || Err(refused(503, "ServiceUnavailable"));
    let denied: fn() -> kube::Result<u8> = || Err(refused(403, "Forbidden"));
    let fine: fn() -> kube::Result<u8> = || Ok(1);

    let (result, n_asked, n_reported) = asked(&[busy, busy, busy, fine]).await;
    assert!(matches!(result, Ok(Reply::Done(1))), "{result:?}");
    assert_eq!((n_asked, n_reported), (4, 1), "the same problem is reported once");

    let (result, n_asked, _) = asked(&[busy]).await;
    assert_eq!(result.unwrap_err().reason, Reason::ApiUnreachable);
    assert!((20..200).contains(&n_asked), "{n_asked} in a minute");

    let (result, n_asked, _) = asked(&[denied, fine]).await;
    assert_eq!(result.unwrap_err().reason, Reason::Forbidden);
    assert_eq!(n_asked, 1);

    let (result, ..) = asked(&[busy, denied, denied, fine]).await;
    assert!(
        matches!(result, Ok(Reply::Done(1))),
        "a server that starts knows no rules: {result:?}"
    );
    let (result, ..) = asked(&[busy, denied]).await;
    assert_eq!(result.unwrap_err().reason, Reason::Forbidden);
}

#[tokio::test(start_paused = true)]
async fn requests_to_a_hanging_server_are_retried() {
    let report = Report::unobserved();
    let retrier = Retrier::new(&report, Duration::from_mins(2));
    let n_asked = Cell::new(0);
    let request = || {
        n_asked.set(n_asked.get() + 1);
        std::future::pending::<kube::Result<u8>>()
    };
    let failure = retrier.send("read it", request).await.unwrap_err();
    assert_eq!(failure.reason, Reason::ApiUnreachable);
    assert_eq!(n_asked.get(), 4);
    assert!(Instant::now() < retrier.until + LEAST, "the last response is not waited for longer");
}

#[tokio::test(start_paused = true)]
async fn replies_about_the_object_are_not_failures() {
    let exists: fn() -> kube::Result<u8> = || Err(refused(409, "AlreadyExists"));
    let changed: fn() -> kube::Result<u8> = || Err(refused(409, "Conflict"));
    let gone: fn() -> kube::Result<u8> = || Err(missing("configmaps"));
    let no_namespace: fn() -> kube::Result<u8> = || Err(missing("namespaces"));
    assert!(matches!(asked(&[exists]).await.0, Ok(Reply::Exists)));
    assert!(matches!(asked(&[changed]).await.0, Ok(Reply::Changed)));
    assert!(matches!(asked(&[gone]).await.0, Ok(Reply::Missing)));
    let quota: fn() -> kube::Result<u8> = || {
        let kube::Error::Api(mut status) = refused(409, "Conflict") else { panic!() };
        status.message = "Operation cannot be fulfilled on resourcequotas \"q\": changed".into();
        Err(kube::Error::Api(status))
    };
    let fine: fn() -> kube::Result<u8> = || Ok(1);
    assert!(matches!(asked(&[quota, quota, fine]).await.0, Ok(Reply::Done(1))));
    assert_eq!(asked(&[no_namespace]).await.0.unwrap_err().reason, Reason::Namespace);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_the_server_requests_is_bounded() {
    let busy = |seconds: u32| {
        let details = serde_json::json!({"retryAfterSeconds": seconds});
        let status = serde_json::from_value(serde_json::json!({
            "code": 429, "reason": "TooManyRequests", "message": "busy", "details": details,
        }));
        kube::Error::Api(Box::new(status.unwrap()))
    };
    for (asked, waited) in [(0, 0), (7, 7), (30, 30), (3600, 30)] {
        let report = Report::unobserved();
        let retrier = Retrier::new(&report, Duration::from_mins(2));
        let n_asked = Cell::new(0);
        let request = || {
            n_asked.set(n_asked.get() + 1);
            let response = if n_asked.get() == 1 { Err(busy(asked)) } else { Ok(1) };
            async move { response }
        };
        retrier.send("read it", request).await.unwrap();
        assert_eq!(report.elapsed().as_secs(), waited, "where {asked} s were asked for");
    }
}
