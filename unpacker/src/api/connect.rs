//! One HTTP exchange with one address.
//!
//! The address is an IP from the beginning and no name is ever looked up: glibc's resolver would
//! load libraries out of the file system that it runs in, which may be a hostile bundle's
//! (`docs/decisions/0006-no-name-resolution.md`). Proxies are not known here.

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

/// Most bytes of an answer. A ConfigMap holds 1 MiB of values and 256 KiB of annotations; JSON
/// may take six bytes for each of them.
const ANSWER: usize = 8 << 20;

/// The way to the API server. Every request has its own connection: two are made for a bundle.
#[derive(Debug)]
pub(crate) struct Connection {
    runtime: Runtime,
    address: SocketAddr,
    host: String,
    base: String,
    token: Token,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("{address} cannot be connected to")]
    Connect { address: SocketAddr, source: io::Error },
    #[error("{address} did not answer within {:.1} s", timeout.as_secs_f64())]
    Timeout { address: SocketAddr, timeout: Duration },
    #[error("{address} is not trusted")]
    Untrusted { address: SocketAddr, source: rustls::Error },
    #[error("TLS with {address} failed")]
    Tls { address: SocketAddr, source: io::Error },
    #[error("the exchange with {address} broke off")]
    Http { address: SocketAddr, source: hyper::Error },
    #[error("the answer of {address} is larger than {ANSWER} bytes")]
    AnswerSize { address: SocketAddr },
    #[error("the request cannot be made")]
    Request { source: hyper::http::Error },
    #[error("the token cannot be read")]
    Token { source: super::credential::Error },
}

impl Error {
    /// Whether another try may help.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Timeout { .. } | Self::Tls { .. } | Self::Http { .. } => {
                true
            }
            Self::Untrusted { .. }
            | Self::AnswerSize { .. }
            | Self::Request { .. }
            | Self::Token { .. } => false,
        }
    }
}

impl Connection {
    /// A connection that `access` describes.
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
        // The whole request is written at once; waiting for more gains nothing.
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
            let body = Limited::new(body, ANSWER).collect().await.map_err(|error| {
                match error.downcast::<hyper::Error>() {
                    Ok(source) => failed(*source),
                    Err(error) => {
                        debug_assert!(error.is::<LengthLimitError>());
                        Error::AnswerSize { address }
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
        // The connection moves the bytes while the exchange waits for them. It ends first when
        // the server closes; what it has read is then there for the exchange.
        poll_fn(|context| {
            let answer = exchange.as_mut().poll(context);
            if answer.is_ready() || !open || connection.as_mut().poll(context).is_pending() {
                return answer;
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

/// A certificate that is not right stays so; a handshake that broke off may not.
fn tls_error(address: SocketAddr, source: io::Error) -> Error {
    let cause = source.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(cause @ rustls::Error::InvalidCertificate(_)) => {
            Error::Untrusted { address, source: cause.clone() }
        }
        _ => Error::Tls { address, source },
    }
}
