//! Limits the number of running calls, because each holds a message.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// The services whose calls are not counted: they are cheap, and a server that is busy is healthy.
const UNCOUNTED: &str = "/grpc.health.v1.Health/";

/// A part of a response, which holds the permit of its call: the connection keeps it until the
/// client has room for it, which can be after the end of the body.
struct Held {
    bytes: Bytes,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Refuses calls for which `calls` has no permit. A call runs until its client has received the
/// whole response.
pub(crate) fn limit(services: Router, calls: Arc<Semaphore>) -> Router {
    services.layer(middleware::from_fn_with_state(calls, run))
}

async fn run(State(calls): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    if request.uri().path().starts_with(UNCOUNTED) {
        return next.run(request).await;
    }
    let Ok(permit) = calls.try_acquire_owned() else {
        return Status::resource_exhausted("the server has too many running calls").into_http();
    };
    let permit = Arc::new(permit);
    let response = next.run(request).await;
    response.map(|body| {
        // The closure owns the permit too, and the body owns the closure.
        Body::new(body.map_frame(move |frame| {
            frame.map_data(|bytes| Bytes::from_owner(Held { bytes, _permit: Arc::clone(&permit) }))
        }))
    })
}
