//! Sends HTTP requests to one address.
//!
//! The address is an IP address, and names are never resolved: glibc's resolver would load
//! libraries from the file system of the container, which may belong to a hostile bundle
//! (`docs/decisions/0006-no-name-resolution.md`). Proxies are not supported.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT,
};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;

use super::credential::{Access, Tls, Token};
use super::{Method, Request, Response, Server};

/// The maximum size of a response, in bytes. A ConfigMap contains up to 1 MiB of values and 256 KiB
/// of annotations, and JSON may need six bytes for each byte.
const MAX_RESPONSE_SIZE: usize = 8 << 20;

/// A client for the API server. Each request has its own connection, because a bundle needs only
/// two requests.
#[derive(Debug)]
pub(crate) struct Connection {
    runtime: Runtime,
    address: SocketAddr,
    host: String,
    base: String,
    token: Token,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// Why the API server did not respond.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("failed to connect to {address}")]
    Connect { address: SocketAddr, source: io::Error },
    #[error("{address} did not respond within {:.1} s", timeout.as_secs_f64())]
    Timeout { address: SocketAddr, timeout: Duration },
    #[error("the certificate of {address} is not trusted")]
    Untrusted { address: SocketAddr, source: rustls::Error },
    #[error("failed to complete the TLS handshake with {address}")]
    Tls { address: SocketAddr, source: io::Error },
    #[error("failed to send the HTTP request to {address}")]
    Http { address: SocketAddr, source: hyper::Error },
    #[error("the response of {address} is larger than {MAX_RESPONSE_SIZE} bytes")]
    ResponseSize { address: SocketAddr },
    #[error("failed to build the request")]
    Request { source: hyper::http::Error },
    #[error("failed to read the token")]
    Token { source: super::credential::Error },
}

impl Error {
    /// Checks whether another attempt may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Timeout { .. } | Self::Tls { .. } | Self::Http { .. } => {
                true
            }
            Self::Untrusted { .. }
            | Self::ResponseSize { .. }
            | Self::Request { .. }
            | Self::Token { .. } => false,
        }
    }
}

impl Connection {
    /// Creates a client for the server that `access` describes. Does not connect yet.
    pub(crate) fn new(access: Access) -> io::Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let Access { address, host, base, token, tls } = access;
        let tls = tls.map(|Tls { config, name }| (config, name));
        Ok(Self { runtime, address, host, base, token, tls })
    }

    async fn exchange(&self, request: &Request, token: Option<&str>) -> Result<Response, Error> {
        let address = self.address;
        let stream = TcpStream::connect(address)
            .await
            .map_err(|source| Error::Connect { address, source })?;
        // The whole request is written at once, so Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
        let request = self.prepare(request, token).map_err(|source| Error::Request { source })?;
        match &self.tls {
            None => self.send(TokioIo::new(stream), request).await,
            Some((config, name)) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let stream = connector
                    .connect(name.clone(), stream)
                    .await
                    .map_err(|source| tls_error(address, source))?;
                self.send(TokioIo::new(stream), request).await
            }
        }
    }

    fn prepare(
        &self,
        request: &Request,
        token: Option<&str>,
    ) -> Result<hyper::Request<Full<Bytes>>, hyper::http::Error> {
        let method = match request.method {
            Method::Get => hyper::Method::GET,
            Method::Put => hyper::Method::PUT,
        };
        let mut builder = hyper::Request::builder()
            .method(method)
            .uri(format!("{}{}", self.base, request.path))
            .header(HOST, &self.host)
            .header(USER_AGENT, concat!("unlade-unpacker/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json")
            .header(CONNECTION, "close");
        if !request.body.is_empty() {
            builder = builder.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = token {
            let mut value = hyper::header::HeaderValue::try_from(format!("Bearer {token}"))?;
            value.set_sensitive(true);
            builder = builder.header(AUTHORIZATION, value);
        }
        builder.body(Full::new(Bytes::from(request.body.clone())))
    }

    async fn send<I>(&self, io: I, request: hyper::Request<Full<Bytes>>) -> Result<Response, Error>
    where
        I: hyper::rt::Read + hyper::rt::Write + Unpin,
    {
        let address = self.address;
        let failed = |source| Error::Http { address, source };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(io).await.map_err(failed)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(failed)?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MAX_RESPONSE_SIZE).collect().await.map_err(|error| {
                match error.downcast::<hyper::Error>() {
                    Ok(source) => failed(*source),
                    Err(error) => {
                        debug_assert!(error.is::<LengthLimitError>());
                        Error::ResponseSize { address }
                    }
                }
            })?;
            let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            Ok(Response {
                status: head.status.as_u16(),
                retry_after: seconds.and_then(|s| s.parse().ok()).map(Duration::from_secs),
                body: body.to_bytes().into(),
            })
        };
        let mut exchange = pin!(exchange);
        let mut connection = pin!(connection);
        let mut open = true;
        // The connection transfers the bytes that the exchange waits for, so both are polled. If
        // the server closes the connection, it ends first, and the exchange reads what is buffered.
        poll_fn(|context| {
            let response = exchange.as_mut().poll(context);
            if response.is_ready() || !open || connection.as_mut().poll(context).is_pending() {
                return response;
            }
            open = false;
            exchange.as_mut().poll(context)
        })
        .await
    }
}

impl Server for Connection {
    fn call(&self, request: &Request, timeout: Duration) -> Result<Response, Error> {
        let token = self.token.read().map_err(|source| Error::Token { source })?;
        self.runtime.block_on(async {
            let exchange = self.exchange(request, token.as_deref());
            tokio::time::timeout(timeout, exchange)
                .await
                .unwrap_or(Err(Error::Timeout { address: self.address, timeout }))
        })
    }
}

/// Distinguishes an invalid certificate, which is permanent, from other failures of the handshake,
/// which may be temporary.
fn tls_error(address: SocketAddr, source: io::Error) -> Error {
    let cause = source.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(cause @ rustls::Error::InvalidCertificate(_)) => {
            Error::Untrusted { address, source: cause.clone() }
        }
        _ => Error::Tls { address, source },
    }
}
