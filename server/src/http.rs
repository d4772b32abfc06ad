//! Serves HTTP/1.1, for what is not gRPC.

use std::time::Duration;

use axum::Router;
use futures::{StreamExt as _, future};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::connection::{self, Cut};

/// The maximum size of the head of a request, and of what is written to a connection at a time, in
/// bytes. Bodies of requests are not read.
const MAX_HEAD: usize = 64 << 10;

/// The time in which a client must send the head of a request, also of the next one on the same
/// connection. The first bytes must arrive [earlier](connection). The server sends no pings over
/// HTTP/1.1.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time after which a connection ends, even if the client still reads. Without it, clients that
/// do not read could occupy all connections.
const LIFETIME: Duration = Duration::from_mins(10);

/// Handles requests until `stopped` ends, and then until the running requests have ended. It
/// accepts `limit` connections at a time, which all end with `cut`.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limit: usize,
    stopped: impl Future<Output = ()>,
    cut: Cut,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.max_buf_size(MAX_HEAD).max_header_size(MAX_HEAD);
    let service = TowerToHyperService::new(router);
    let graceful = GracefulShutdown::new();
    let connections = connection::accept(listener, limit, cut.clone());
    connections
        .take_until(stopped)
        .filter_map(|connection| future::ready(connection.ok()))
        .for_each(|connection| {
            let serving = builder.serve_connection(TokioIo::new(connection), service.clone());
            let serving = timeout(LIFETIME, graceful.watch(serving));
            // A connection that fails does not affect the others.
            tokio::spawn(future::select(Box::pin(serving), cut.clone()));
            future::ready(())
        })
        .await;
    graceful.shutdown().await;
}
