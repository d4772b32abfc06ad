//! A server in this process that listens on all its ports, and requests over HTTP/1.1.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use unlade_server::{Listeners, Metas, Options, ServeError, Server};

use crate::running::{WAIT, within};

/// The files of a catalog with metas of several schemas.
pub(crate) const FILES: [(&str, &str); 3] = [
    (".c", "{schema: example.com/x, name: green, size: 1.0}"),
    (
        "a-b.yaml",
        "schema: example.com/x\npackage: tea\nname: c\ntext: <&>\n---\n{schema: olm.bundle, \
         package: tea, name: tea.v1, image: 'r.example/tea:1', properties: [{type: olm.package, \
         value: {packageName: tea, version: 1.0.0}}]}\n",
    ),
    (
        "a/x.json",
        "{\"schema\": \"olm.package\", \"name\": \"tea\", \"defaultChannel\": \"c\"}\n{\"schema\": \
         \"olm.channel\", \"package\": \"tea\", \"name\": \"c\", \"entries\": [{\"name\": \
         \"tea.v1\"}]}",
    ),
];

/// A server in this process that listens on all three ports.
pub(crate) struct Running {
    pub(crate) grpc: SocketAddr,
    pub(crate) metrics: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) serving: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    pub(crate) async fn start(files: &[(&str, &str)], change: impl FnOnce(&mut Options)) -> Self {
        let directory = TempDir::new().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut options = Options::default();
        change(&mut options);
        Self::start_with(directory.path(), &options).await
    }

    pub(crate) async fn start_with(catalog: &Path, options: &Options) -> Self {
        let server = Server::load(catalog, options).unwrap();
        let metas = Metas::load(catalog, options).unwrap();
        let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (mut listeners, metrics, http) =
            (Listeners::from(listen().await), listen().await, listen().await);
        let grpc = listeners.grpc.local_addr().unwrap();
        let addresses = (metrics.local_addr().unwrap(), http.local_addr().unwrap());
        listeners.metrics = Some(metrics);
        listeners.http = Some((http, metas));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(listeners, async {
            _ = stopped.await;
        }));
        let (metrics, http) = addresses;
        Self { grpc, metrics, http, stop, serving }
    }

    /// Sends a request to the API with these headers.
    pub(crate) async fn request(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Response<Bytes> {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(self.http, request.body(Empty::new()).unwrap()).await
    }

    /// Reads the metrics until they contain all these lines.
    pub(crate) async fn wait_for_metrics(&self, lines: &[&str]) {
        let mut text = String::new();
        let wait = async {
            loop {
                let request = Request::get("/metrics").body(Empty::new()).unwrap();
                let response = send(self.metrics, request).await;
                text = String::from_utf8(response.into_body().into()).unwrap();
                if lines.iter().all(|line| text.lines().any(|it| it == *line)) {
                    break;
                }
            }
        };
        assert!(timeout(WAIT, wait).await.is_ok(), "{lines:?} are not all in {text}");
    }
}

pub(crate) async fn send(address: SocketAddr, request: Request<Empty<Bytes>>) -> Response<Bytes> {
    let response = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
        Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
    };
    within(response).await
}
