//! Limits the number of running calls and the size of their messages, because each call holds one.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::{self, Next};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// The services whose calls are not counted: they are cheap, and a server that is busy is healthy.
const UNCOUNTED: &str = "/grpc.health.v1.Health/";

/// The maximum size of all messages that clients have not yet received, in bytes.
const MAX_HELD: usize = 128 << 20;

/// A part of a response, which holds the permit of its call and one for each byte: the connection
/// keeps it until the client has room for it, which can be after the end of the body.
struct Held {
    bytes: Bytes,
    _call: Arc<OwnedSemaphorePermit>,
    _room: OwnedSemaphorePermit,
}

#[derive(Clone)]
struct Limits {
    calls: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Refuses calls for which `calls` has no permit, and ends those with a message for which there is
/// no room. A call runs until its client has received the whole response.
pub(crate) fn limit(services: Router, calls: Arc<Semaphore>) -> Router {
    let limits = Limits { calls, room: Arc::new(Semaphore::new(MAX_HELD)) };
    services.layer(middleware::from_fn_with_state(limits, run))
}

async fn run(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    if request.uri().path().starts_with(UNCOUNTED) {
        return next.run(request).await;
    }
    let Limits { calls, room } = limits;
    let Ok(call) = calls.try_acquire_owned() else {
        return Status::resource_exhausted("the server has too many running calls").into_http();
    };
    let call = Arc::new(call);
    let response = next.run(request).await;
    response.map(|body| {
        // The closure owns the permit of the call too, and the body owns the closure.
        Body::new(body.map_frame(move |frame| {
            let bytes = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(trailers) => return trailers,
            };
            let n_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            match Arc::clone(&room).try_acquire_many_owned(n_bytes) {
                Ok(room) => {
                    let held = Held { bytes, _call: Arc::clone(&call), _room: room };
                    Frame::data(Bytes::from_owner(held))
                }
                Err(_) => refusal(),
            }
        }))
    })
}

/// Returns the end of a response whose next message has no room.
fn refusal() -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    let status = Status::resource_exhausted("too many responses have not been received");
    // The text is valid in a header.
    _ = status.add_header(&mut trailers);
    Frame::trailers(trailers)
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn messages_that_are_not_received_have_a_limited_size() {
        let services = Router::new().fallback(async || vec![0; MAX_HELD / 2]);
        let services = limit(services, Arc::new(Semaphore::new(10)));
        let next = async || {
            let response = services.clone().oneshot(Request::new(Body::empty())).await.unwrap();
            let frame = response.into_body().frame().await.unwrap().unwrap();
            frame.into_data().map_err(|frame| frame.into_trailers().unwrap())
        };
        let held = [next().await.unwrap(), next().await.unwrap()];
        assert_eq!(next().await.unwrap_err()["grpc-status"], "8");
        drop(held);
        assert_eq!(next().await.unwrap().len(), MAX_HELD / 2);
    }
}
