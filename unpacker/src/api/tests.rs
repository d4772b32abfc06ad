use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{ConfigMap, encode};

use super::*;

/// The response to a request, or why it did not arrive.
type Outcome = Result<Response, connect::Error>;

/// Whether an error is the expected one.
type Check = fn(&Error) -> bool;

/// Returns the given responses in order, and records the requests.
struct Script {
    responses: RefCell<VecDeque<Outcome>>,
    requests: RefCell<Vec<Request>>,
}

impl Script {
    fn new(responses: Vec<Outcome>) -> Self {
        Self { responses: RefCell::new(responses.into()), requests: RefCell::default() }
    }

    fn methods(&self) -> String {
        let letter = |request: &Request| match request.method {
            Method::Get => 'G',
            Method::Put => 'P',
        };
        self.requests.borrow().iter().map(letter).collect()
    }

    fn put(&self) -> Value {
        let requests = self.requests.borrow();
        serde_json::from_slice(&requests.last().unwrap().body).unwrap()
    }
}

impl Server for Script {
    fn call(&self, request: &Request, timeout: Duration) -> Outcome {
        assert!(!timeout.is_zero());
        self.requests.borrow_mut().push(request.clone());
        let mut responses = self.responses.borrow_mut();
        // The last response stays.
        match responses.len() {
            1 => match &responses[0] {
                Ok(response) => Ok(response.clone()),
                Err(_) => refused(),
            },
            _ => responses.pop_front().unwrap(),
        }
    }
}

/// A clock that only sleeping moves.
#[derive(Default)]
struct StillClock(Cell<Duration>);

impl Clock for StillClock {
    fn now(&self) -> Duration {
        self.0.get()
    }

    fn sleep(&self, time: Duration) {
        self.0.set(self.0.get() + time);
    }
}

#[expect(clippy::unnecessary_wraps, reason = "lists of responses also contain failures")]
fn response(status: u16, body: &Value) -> Outcome {
    Ok(Response { status, retry_after: None, body: body.to_string().into_bytes() })
}

fn status(code: u16, message: &str) -> Outcome {
    response(code, &json!({"kind": "Status", "message": message, "code": code}))
}

fn refused() -> Outcome {
    Err(connect::Error::Connect {
        address: SocketAddr::from(([127, 0, 0, 1], 1)),
        source: std::io::ErrorKind::ConnectionRefused.into(),
    })
}

/// Returns the ConfigMap of a bundle with one manifest.
fn encoded() -> ConfigMap {
    let files = vec![
        File {
            directory: Directory::Manifests,
            name: "csv.yaml".to_owned(),
            bytes: b"kind: ClusterServiceVersion\n".to_vec(),
        },
        File {
            directory: Directory::Metadata,
            name: "annotations.yaml".to_owned(),
            bytes: b"annotations:\n  com.example/colour: blue\n".to_vec(),
        },
    ];
    let content = Content::assemble(files, &Limits::default()).unwrap().content;
    let options =
        encode::Options::default().with_name("bundle".to_owned()).with_namespace("olm".to_owned());
    encode(&content, &options).unwrap().remove(0)
}

/// Returns the ConfigMap as OLM creates it.
fn empty() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "bundle", "namespace": "olm", "uid": "u-1", "resourceVersion": "7",
            "labels": {"olm.managed": "true", "team": "blue"},
            "annotations": {"example.com/owner": "us"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "CatalogSource", "name": "c", "uid": "u-0"}],
        },
    })
}

fn existing() -> Outcome {
    response(200, &empty())
}

/// Fills the ConfigMap, and returns the result and the time that it took.
fn run(script: &Script) -> (Result<Filled, Error>, Duration) {
    let clock = StillClock::default();
    let policy = Policy::default();
    let result = fill(script, &encoded(), unlade_config_map::fill, &mut Pace::new(&policy, &clock));
    (result, clock.now())
}

#[test]
fn config_map_is_read_once_and_written_once() {
    let script = Script::new(vec![existing(), response(200, &json!({}))]);
    let (result, time) = run(&script);
    assert_eq!(result.unwrap(), Filled::Written);
    assert_eq!((script.methods().as_str(), time), ("GP", Duration::ZERO));
    assert!(
        script
            .requests
            .borrow()
            .iter()
            .all(|r| r.path == "/api/v1/namespaces/olm/configmaps/bundle")
    );
}

#[test]
fn the_changes_of_other_clients_are_kept() {
    let script = Script::new(vec![existing(), response(200, &json!({}))]);
    run(&script).0.unwrap();
    let put = script.put();
    let metadata = &put["metadata"];
    assert_eq!(metadata["resourceVersion"], "7");
    assert_eq!(metadata["uid"], "u-1");
    assert_eq!(metadata["labels"]["team"], "blue");
    assert_eq!(metadata["annotations"]["example.com/owner"], "us");
    assert_eq!(metadata["annotations"]["com.example/colour"], "blue");
    assert_eq!(metadata["ownerReferences"], empty()["metadata"]["ownerReferences"]);
    assert_eq!(put["data"]["csv.yaml"], "kind: ClusterServiceVersion\n");
}

#[test]
fn same_content_is_not_written_again_even_if_immutable() {
    let script = Script::new(vec![existing(), response(200, &json!({}))]);
    run(&script).0.unwrap();
    let mut filled = script.put();
    for immutable in [Value::Null, json!(true)] {
        filled["immutable"] = immutable;
        let script = Script::new(vec![response(200, &filled)]);
        assert_eq!(run(&script).0.unwrap(), Filled::Unchanged);
        assert_eq!(script.methods(), "G");
    }
}

#[test]
fn immutable_config_map_with_something_else_is_an_error_before_any_write() {
    let mut other = empty();
    other["immutable"] = json!(true);
    let script = Script::new(vec![response(200, &other)]);
    assert!(matches!(run(&script).0, Err(Error::Fill(_))));
    assert_eq!(script.methods(), "G");
}

#[test]
fn conflict_is_read_again_at_once() {
    let mut newer = empty();
    newer["metadata"]["resourceVersion"] = json!("8");
    let script = Script::new(vec![
        existing(),
        status(409, "the object has been modified"),
        response(200, &newer),
        response(200, &json!({})),
    ]);
    let (result, time) = run(&script);
    assert_eq!(result.unwrap(), Filled::Written);
    assert_eq!((script.methods().as_str(), time), ("GPGP", Duration::ZERO));
    assert_eq!(script.put()["metadata"]["resourceVersion"], "8");
}

#[test]
fn lost_response_of_a_write_is_recognised() {
    let script = Script::new(vec![existing(), response(200, &json!({}))]);
    run(&script).0.unwrap();
    let filled = script.put();
    let script = Script::new(vec![existing(), refused(), response(200, &filled)]);
    assert_eq!(run(&script).0.unwrap(), Filled::Unchanged);
    assert_eq!(script.methods(), "GPG");
}

#[test]
fn temporary_failures_are_tried_again() {
    for failure in [
        || status(429, "slow down"),
        || status(500, "etcd leader changed"),
        || status(503, "starting"),
        || status(504, "timeout"),
        refused,
    ] {
        let script = Script::new(vec![
            failure(),
            failure(),
            existing(),
            failure(),
            existing(),
            status(200, ""),
        ]);
        let (result, time) = run(&script);
        assert_eq!(result.unwrap(), Filled::Written);
        assert_eq!(script.methods(), "GGGPGP");
        assert!(time >= Duration::from_millis(100 + 200 + 400), "{time:?}");
        assert!(time <= Duration::from_millis(200 + 400 + 800), "{time:?}");
    }
}

#[test]
fn temporary_failure_ends_with_the_deadline() {
    for failure in [|| status(500, "broken"), refused] {
        let script = Script::new(vec![failure()]);
        let (result, time) = run(&script);
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. } | Error::Connection(_)), "{error:?}");
        assert!(time < Duration::from_mins(2) && time > Duration::from_secs(100), "{time:?}");
        // Backed off: about 5 tries until 6 s, then one in 5 to 10 s.
        assert!((15..32).contains(&script.requests.borrow().len()), "{}", script.methods());
    }
}

#[test]
fn retry_after_is_honoured_within_bounds() {
    let asked = |seconds| {
        Ok(Response {
            status: 429,
            retry_after: Some(Duration::from_secs(seconds)),
            body: Vec::new(),
        })
    };
    for (seconds, waited) in [(3, 3), (3_000_000, 30), (u64::MAX, 30)] {
        let script = Script::new(vec![asked(seconds), existing(), status(200, "")]);
        let (result, time) = run(&script);
        assert_eq!(result.unwrap(), Filled::Written);
        assert_eq!(time, Duration::from_secs(waited));
    }
    let body = json!({"message": "m", "details": {"retryAfterSeconds": 4}});
    let script = Script::new(vec![response(503, &body), existing(), status(200, "")]);
    assert_eq!(run(&script).1, Duration::from_secs(4));
}

#[test]
fn denial_is_a_late_role_for_ten_seconds() {
    for code in [401, 403] {
        let mut responses: Vec<_> = (0..5).map(|_| status(code, "no")).collect();
        responses.extend([existing(), status(200, "")]);
        assert_eq!(run(&Script::new(responses)).0.unwrap(), Filled::Written);

        let (result, time) = run(&Script::new(vec![status(code, "no")]));
        assert!(matches!(result, Err(Error::Denied { .. })), "{result:?}");
        assert_eq!(time, Duration::from_secs(10));
    }
}

#[test]
fn a_request_that_the_deadline_cuts_short_does_not_hide_the_failure_before_it() {
    let timeout = Duration::from_millis(10);
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let cut = || Err(connect::Error::Timeout { address, timeout });
    let policy = Policy { deadline: Duration::from_millis(300), ..Policy::default() };
    for (responses, is_denied) in
        [(vec![status(401, "no"), cut(), cut()], true), (vec![cut(), cut()], false)]
    {
        let clock = StillClock::default();
        let script = Script::new(responses);
        let mut pace = Pace::new(&policy, &clock);
        let error = fill(&script, &encoded(), unlade_config_map::fill, &mut pace).unwrap_err();
        assert_eq!(matches!(error, Error::Denied { .. }), is_denied, "{error:?}");
    }
}

#[test]
fn nothing_is_requested_after_the_deadline() {
    let clock = StillClock::default();
    let policy = Policy { deadline: Duration::ZERO, ..Policy::default() };
    let script = Script::new(vec![existing()]);
    let mut pace = Pace::new(&policy, &clock);
    let error = fill(&script, &encoded(), unlade_config_map::fill, &mut pace).unwrap_err();
    assert!(matches!(error, Error::NoTime { .. }), "{error:?}");
    assert_eq!(script.methods(), "");
}

/// A server that is starting responds with 503, and then denies access until it has read its Roles.
#[test]
fn the_wait_after_a_denial_restarts_after_another_response() {
    let mut responses = vec![status(403, "no")];
    responses.extend((0..10).map(|_| status(503, "starting")));
    responses.extend((0..3).map(|_| status(403, "no")));
    responses.extend([existing(), status(200, "")]);
    let (result, time) = run(&Script::new(responses));
    assert_eq!(result.unwrap(), Filled::Written);
    assert!(time > Duration::from_secs(15), "the first denial is long ago: {time:?}");
}

#[test]
fn permanent_failures_are_not_retried() {
    let too_long = json!({
        "message": "ConfigMap is invalid: must have at most 1048576 bytes",
        "details": {"causes": [{"reason": "FieldValueTooLong", "field": ""}]},
    });
    let cases: Vec<(Outcome, Check)> = vec![
        (status(404, "not found"), |e| matches!(e, Error::Missing { .. })),
        (status(413, "large"), |e| matches!(e, Error::TooLarge { .. })),
        (response(422, &too_long), |e| matches!(e, Error::TooLarge { .. })),
        (status(422, "bad key"), |e| matches!(e, Error::Refused { status: 422, .. })),
        (status(400, "webhook"), |e| matches!(e, Error::Refused { status: 400, .. })),
        (status(403, "admission webhook \"a.b\" denied the request: no"), |e| {
            matches!(e, Error::Refused { status: 403, .. })
        }),
        (status(301, "moved"), |e| matches!(e, Error::Refused { status: 301, .. })),
        (
            Err(connect::Error::ResponseSize { address: SocketAddr::from(([127, 0, 0, 1], 1)) }),
            |e| matches!(e, Error::Connection(_)),
        ),
    ];
    for (failure, is_expected) in cases {
        let script = Script::new(vec![existing(), failure, status(500, "not reached")]);
        let (result, time) = run(&script);
        let error = result.unwrap_err();
        assert!(is_expected(&error), "{error:?}");
        assert_eq!((script.methods().as_str(), time), ("GP", Duration::ZERO));
    }
}

#[test]
fn response_that_is_not_the_config_map_is_refused() {
    let (mut other, mut versionless) = (empty(), empty());
    other["metadata"]["name"] = json!("other");
    versionless["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    for body in [other, versionless, json!({"kind": "Pod"}), json!([1]), json!("html")] {
        let result = run(&Script::new(vec![response(200, &body)])).0;
        assert!(matches!(result, Err(Error::Response { .. })), "{result:?}");
    }
    let mut dying = empty();
    dying["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let result = run(&Script::new(vec![response(200, &dying)])).0;
    assert!(matches!(result, Err(Error::Deleted { .. })), "{result:?}");
}

/// The request, not the response, decides where the ConfigMap is written.
#[test]
fn a_config_map_that_claims_another_place_is_written_where_it_was_read() {
    for version in ["9".repeat(100_000), "../../pods?a=b#c".to_owned(), "\r\nX: y".to_owned()] {
        let mut other = empty();
        other["metadata"]["namespace"] = json!("kube-system");
        other["metadata"]["selfLink"] = json!("/api/v1/namespaces/kube-system/secrets/x");
        other["metadata"]["resourceVersion"] = json!(version);
        let script = Script::new(vec![response(200, &other), response(200, &json!({}))]);
        assert_eq!(run(&script).0.unwrap(), Filled::Written);
        assert_eq!(script.requests.borrow()[1].path, "/api/v1/namespaces/olm/configmaps/bundle");
        assert_eq!(script.put()["metadata"]["resourceVersion"], version);
    }
}

#[test]
fn a_conflict_that_never_ends_ends_with_the_deadline() {
    let round = || [existing(), status(409, "the object has been modified")];
    let script = Script::new(std::iter::repeat_with(round).take(1_000).flatten().collect());
    let (result, time) = run(&script);
    assert!(matches!(result, Err(Error::Conflict { .. })), "{result:?}");
    assert!(time < Duration::from_mins(2), "{time:?}");
}
