//! [`Served`]: the server behind HTTP on localhost.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};

use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;

use crate::Server;

/// Where a server listens.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    address: SocketAddr,
}

impl Served {
    pub(crate) fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        // Nothing stops the thread when the test ends; it ends with the process.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(listen(server, listener));
        });
        Self { address }
    }

    /// Returns the URL of the server, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a kubeconfig for this server. Its only context is `test`.
    pub fn kubeconfig(&self) -> String {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "namespace": "default"}}],
            "clusters": [{"name": "test", "cluster": {"server": self.url()}}],
        })
        .to_string()
    }
}

async fn listen(server: Server, listener: TcpListener) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let server = server.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let server = server.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                Ok::<_, Infallible>(server.respond(&head, &body).await)
            }
        });
        // A client may disconnect at any time.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
