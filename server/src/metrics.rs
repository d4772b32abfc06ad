//! [`Metrics`]: what Prometheus can read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use http_body_util::BodyExt as _;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tokio::sync::Semaphore;
use tonic::{Code, Status};
use unlade_text::hex;

use crate::cache::CacheState;
use crate::message::DESCRIPTORS;

/// The format of the response (OpenMetrics 1.0, section "Protocol Negotiation").
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The limits of the histogram, in seconds: small messages from memory, and long streams.
const SECONDS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0];

/// The metrics of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// The methods by their paths. Other paths are counted as one method, because clients choose
    /// them.
    methods: HashMap<String, Method>,
    handled: Family<Handled, Counter>,
    seconds: Family<Method, Histogram, fn() -> Histogram>,
    requests: Family<Answered, Counter>,
    sent: Counter,
    running: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    grpc_service: Arc<String>,
    grpc_method: Arc<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Handled {
    #[prometheus(flatten)]
    method: Method,
    grpc_code: Arc<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    code: u32,
}

impl Metrics {
    /// Describes a server with this cache and this catalog.
    pub(crate) fn new(cache: &CacheState, digest: Option<&[u8; 32]>) -> Self {
        let mut registry = Registry::default();
        let handled = Family::default();
        registry.register("grpc_server_handled", "RPCs completed on the server", handled.clone());
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let seconds = Family::new_with_constructor(histogram);
        let help = "Time until the response was handed to the connection";
        registry.register_with_unit("grpc_server_handling", help, Unit::Seconds, seconds.clone());
        let requests = Family::default();
        let help = "Requests to the HTTP API whose responses have begun";
        registry.register("http_requests", help, requests.clone());
        let own = registry.sub_registry_with_prefix("unlade_server");
        let (sent, running) = (Counter::default(), Gauge::default());
        let help = "Bytes of responses to calls that were handed to connections";
        own.register_with_unit("sent", help, Unit::Bytes, sent.clone());
        let help =
            "Calls whose responses the clients have not yet received, excluding health checks";
        own.register("running_calls", help, running.clone());
        let reason = match cache {
            CacheState::Written { reason } | CacheState::Unusable { reason, .. } => &**reason,
            CacheState::Disabled | CacheState::Used => "",
        };
        let state = Info::new([
            ("state", cache.to_string()),
            ("reason", unlade_text::line(reason).to_string()),
        ]);
        own.register("cache", "The state of the cache at startup", state);
        if let Some(digest) = digest {
            let help = "The SHA-256 of the paths and the bytes of the catalog";
            own.register("catalog", help, Info::new([("sha256", hex(digest))]));
        }
        Self { registry, methods: methods(), handled, seconds, requests, sent, running }
    }

    fn method(&self, path: &str) -> Method {
        let unknown = || Arc::new("unknown".to_owned());
        let known = self.methods.get(path).cloned();
        known.unwrap_or_else(|| Method { grpc_service: unknown(), grpc_method: unknown() })
    }

    /// Returns all metrics as text. `running` is the number of running calls.
    fn encode(&self, running: usize) -> String {
        self.running.set(i64::try_from(running).unwrap_or(i64::MAX));
        let mut encoded = String::new();
        // Writing to a string cannot fail.
        _ = text::encode(&mut encoded, &self.registry);
        encoded
    }

    /// Measures the calls.
    pub(crate) fn measure(self: Arc<Self>, services: Router) -> Router {
        services.layer(middleware::from_fn_with_state(self, measure))
    }

    /// Counts the requests to the HTTP API by the codes of their responses.
    pub(crate) fn count(self: Arc<Self>, api: Router) -> Router {
        api.layer(middleware::map_response(move |response: Response| {
            let code = response.status().as_u16().into();
            self.requests.get_or_create(&Answered { code }).inc();
            std::future::ready(response)
        }))
    }

    /// Serves the metrics under `/metrics`. `calls` has a permit for each call that may
    /// still start, and `limit` is the maximum number of running calls.
    pub(crate) fn router(self: Arc<Self>, calls: Arc<Semaphore>, limit: usize) -> Router {
        let encode = async move || {
            let running = limit.saturating_sub(calls.available_permits());
            ([(CONTENT_TYPE, OPEN_METRICS)], self.encode(running))
        };
        Router::new().route("/metrics", get(encode))
    }
}

/// Returns the methods of all services by their paths.
fn methods() -> HashMap<String, Method> {
    let sets = [
        DESCRIPTORS,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    let mut methods = HashMap::new();
    // The descriptors are part of the program.
    let files = sets.into_iter().filter_map(|set| FileDescriptorSet::decode(set).ok());
    for file in files.flat_map(|set| set.file) {
        for service in &file.service {
            let name = Arc::new(format!("{}.{}", file.package(), service.name()));
            for method in &service.method {
                let path = format!("/{name}/{}", method.name());
                let grpc_method = Arc::new(method.name().to_owned());
                methods.insert(path, Method { grpc_service: Arc::clone(&name), grpc_method });
            }
        }
    }
    methods
}

/// Returns the name of a code, as the metrics of other gRPC servers have it: that of Go.
fn name(code: Code) -> String {
    match code {
        Code::Ok => "OK".to_owned(),
        Code::Cancelled => "Canceled".to_owned(),
        code => format!("{code:?}"),
    }
}

/// A running call, which is counted when it is dropped.
struct Call {
    metrics: Arc<Metrics>,
    method: Method,
    start: Instant,
    /// The code, as soon as the response has one. Without it, the client has ended the call.
    code: Option<Code>,
}

impl Call {
    fn note(&mut self, headers: &HeaderMap) {
        let status = Status::from_header_map(headers);
        self.code = status.map(|status| status.code()).or(self.code);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.metrics.seconds.get_or_create(&self.method).observe(seconds);
        let grpc_code = Arc::new(name(self.code.unwrap_or(Code::Cancelled)));
        let handled = Handled { method: self.method.clone(), grpc_code };
        self.metrics.handled.get_or_create(&handled).inc();
    }
}

async fn measure(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let method = metrics.method(request.uri().path());
    let mut call = Call { metrics, method, start: Instant::now(), code: None };
    let response = next.run(request).await;
    // A response without a body has its status in the headers.
    call.note(response.headers());
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            if let Some(bytes) = frame.data_ref() {
                call.metrics.sent.inc_by(bytes.len() as u64);
            } else if let Some(trailers) = frame.trailers_ref() {
                call.note(trailers);
            }
            frame
        }))
    })
}
