//! Private entry points for fuzzing. They are not part of the API.

use http_body_util::{BodyExt as _, Full};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::{Bytes, Service as _, http::Request};

use crate::Server;

/// Handles a call without a connection: `path` names the method, and `body` has the messages, each
/// with its length before it. Returns the size of the response in bytes: 0 if the path is invalid.
pub fn call(server: &Server, path: &str, body: &[u8]) -> usize {
    let request = Request::post(path).header("content-type", "application/grpc");
    let Ok(request) = request.body(Body::new(Full::new(Bytes::copy_from_slice(body)))) else {
        return 0;
    };
    let (_serving, is_serving) = watch::channel(true);
    let (Ok(runtime), Ok(mut routes)) =
        (Builder::new_current_thread().build(), server.routes(is_serving))
    else {
        return 0;
    };
    runtime.block_on(async {
        let Ok(response) = routes.call(request).await;
        let mut body = response.into_body();
        let mut size = 0;
        // A client reads the response in parts, too, so they are not kept.
        while let Some(Ok(frame)) = body.frame().await {
            size += frame.data_ref().map_or(0, Bytes::len);
        }
        size
    })
}
