//! [`Server`]: an in-memory API server that implements what the launcher needs. A closure takes the
//! place of the Job controller and of the pods.
//!
//! [`Server::client`] connects to it within the process, where tokio's time can be paused.
//! [`Server::serve`] puts it behind HTTP, so that requests go through kube's whole client stack, as
//! they do for users.
//!
//! ```
//! use unlade_api_server::{Disturbance, Server};
//!
//! let served = Server::new(|server, job| server.fill(job))
//!     .disturbed(|request| {
//!         (request.nth == 0).then(|| Disturbance::status(503, "ServiceUnavailable", "not ready"))
//!     })
//!     .serve();
//! assert!(served.url().starts_with("http://127.0.0.1:"));
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test harness: what fails here fails the test"
)]

mod disturbance;
mod http_server;
mod response;
mod state;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use http::{Method, Request, request::Parts};
use hyper::body::Bytes;
use kube::client::Body;
use serde_json::Value;

use self::response::Response;
pub use self::{
    disturbance::{Arrival, Canned, Disturbance},
    http_server::Served,
    state::{State, bundles},
};

type OnJob = Box<dyn FnMut(&mut State, &Value) + Send>;
type Disturb = Box<dyn FnMut(&Arrival<'_>) -> Option<Disturbance> + Send>;

/// How long the tests wait for an expected request. This is generous, since machines are busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// The server, and the kinds that it denies. Clones share everything but the denied kinds.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Mutex<Shared>>,
    denied: &'static [&'static str],
}

struct Shared {
    state: State,
    on_job: OnJob,
    disturb: Disturb,
    requests: Vec<Recorded>,
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// When it arrived.
    pub at: Instant,
    /// The HTTP method.
    pub method: Method,
    /// The path with the query.
    pub path: String,
}

impl Server {
    /// Creates a server that calls `on_job` with each Job that was created.
    pub fn new(on_job: impl FnMut(&mut State, &Value) + Send + 'static) -> Self {
        let shared = Shared {
            state: State::default(),
            on_job: Box::new(on_job),
            disturb: Box::new(|_| None),
            requests: Vec::new(),
        };
        Self { shared: Arc::new(Mutex::new(shared)), denied: &[] }
    }

    /// Returns the same server, which denies these kinds to requests through the returned value.
    #[must_use]
    pub fn without(self, kinds: &'static [&'static str]) -> Self {
        Self { denied: kinds, ..self }
    }

    /// Returns the same server, where `disturb` decides which requests are not answered as usual.
    #[must_use]
    pub fn disturbed(
        self,
        disturb: impl FnMut(&Arrival<'_>) -> Option<Disturbance> + Send + 'static,
    ) -> Self {
        self.lock().disturb = Box::new(disturb);
        self
    }

    /// Returns the same server, where a quota allows this number of objects of each of these kinds.
    /// As on a real server, creating an object that exists is rejected because of a full quota.
    #[must_use]
    pub fn with_quota(self, n: usize, kinds: &[&str]) -> Self {
        for kind in kinds {
            self.lock().state.limit(kind, n);
        }
        self
    }

    /// Returns a client within this process, without kube's own layers.
    pub fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                Ok::<_, Infallible>(server.respond(&head, &body).await)
            }
        });
        kube::Client::new(service, "default")
    }

    /// Listens on localhost until the process ends.
    pub fn serve(&self) -> Served {
        Served::start(self.clone())
    }

    /// Stores an object.
    pub fn put(&self, kind: &str, object: Value) {
        self.lock().state.put(kind, object);
    }

    /// Fills the ConfigMap of the only Job whose name has this prefix, as its pod would.
    pub fn fill(&self, prefix: &str) {
        self.lock().state.fill_of(prefix);
    }

    /// Returns the number of objects of a kind.
    pub fn count(&self, kind: &str) -> usize {
        self.lock().state.count(kind)
    }

    /// Returns the only object of a kind whose name has this suffix.
    pub fn object(&self, kind: &str, suffix: &str) -> Value {
        self.lock().state.object(kind, suffix)
    }

    /// Returns the objects of a kind whose name has this suffix.
    pub fn objects(&self, kind: &str, suffix: &str) -> Vec<Value> {
        self.lock().state.objects(kind, suffix)
    }

    /// Returns the requests so far, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.lock().requests.clone()
    }

    /// Waits until `n` requests have arrived for which `is_meant` is true.
    ///
    /// # Panics
    ///
    /// Panics if they have not arrived within two minutes.
    pub fn wait_for(&self, n: usize, is_meant: impl Fn(&Recorded) -> bool) {
        let end = Instant::now() + PATIENCE;
        while self.requests().iter().filter(|request| is_meant(request)).count() < n {
            assert!(Instant::now() < end, "missing among {:#?}", self.requests());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    /// Returns the response to a request. It never returns if the disturbance withholds the
    /// response.
    async fn respond(&self, head: &Parts, body: &Bytes) -> Response {
        let disturbance = self.record(head);
        match disturbance {
            None => self.carry_out(head, body),
            Some(Disturbance::Respond(response)) => response.into(),
            Some(Disturbance::RespondAfterDoing(response)) => {
                self.carry_out(head, body);
                response.into()
            }
            Some(Disturbance::Delay(time)) => {
                let (server, head, body) = (self.clone(), head.clone(), body.clone());
                let late = tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    server.carry_out(&head, &body)
                });
                late.await.unwrap()
            }
            Some(Disturbance::Hang) => std::future::pending().await,
            Some(Disturbance::HangAfterDoing) => {
                self.carry_out(head, body);
                std::future::pending().await
            }
        }
    }

    fn record(&self, head: &Parts) -> Option<Disturbance> {
        let shared = &mut *self.lock();
        let path = head.uri.path_and_query().unwrap().to_string();
        let nth = shared.requests.len();
        let disturbance = (shared.disturb)(&Arrival { nth, method: &head.method, path: &path });
        shared.requests.push(Recorded { at: Instant::now(), method: head.method.clone(), path });
        disturbance
    }

    /// Responds as the state requires, without a disturbance.
    fn carry_out(&self, head: &Parts, body: &[u8]) -> Response {
        let Shared { state, on_job, .. } = &mut *self.lock();
        state.respond(head, body, self.denied, on_job)
    }
}
