//! [`Limited`]: limits the number of running calls, because each holds a message.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};

/// The services whose calls are not counted: they are cheap, and a server that is busy is healthy.
const UNCOUNTED: &str = "/grpc.health.v1.Health/";

/// Refuses calls beyond a number. A call runs until its client has received the whole response.
#[derive(Debug, Clone)]
pub(crate) struct Limited<S> {
    inner: S,
    calls: Arc<Semaphore>,
}

/// A part of a response, which holds the permit of its call: the connection keeps it until the client
/// has room for it, which can be after the end of the body.
struct Held {
    bytes: Bytes,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<S> Limited<S> {
    pub(crate) fn new(inner: S, calls: Arc<Semaphore>) -> Self {
        Self { inner, calls }
    }
}

impl<S> Service<Request<Body>> for Limited<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.uri().path().starts_with(UNCOUNTED) {
            return self.inner.call(request).boxed();
        }
        let Ok(permit) = Arc::clone(&self.calls).try_acquire_owned() else {
            let status = Status::resource_exhausted("the server has too many running calls");
            return std::future::ready(Ok(status.into_http())).boxed();
        };
        let response = self.inner.call(request);
        let permit = Arc::new(permit);
        let hold = |response: Response<Body>| {
            // The closure owns the permit too, and the body owns the closure.
            response.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    frame.map_data(|bytes| {
                        Bytes::from_owner(Held { bytes, _permit: Arc::clone(&permit) })
                    })
                }))
            })
        };
        response.map(|response| response.map(hold)).boxed()
    }
}
