//! [`from_config`]: creates the client for a [`Launcher`](crate::Launcher). [`observe`] is its part
//! that recognises whether the server is an API server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::RETRY_AFTER;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use tracing::{Instrument, Span, debug, debug_span, field};
use unlade_text::excerpt;

use crate::Reason;

mod error;
#[cfg(test)]
mod tests;

pub(crate) use error::classify_request_error;

/// The maximum number of bytes to read of an error response. The rest is ignored.
const MAX_ERROR_BODY: usize = 1 << 20;

/// Creates a client as [`Launcher::new`](crate::Launcher::new) requires it: one that does not retry
/// requests, wrapped by [`observe`]. Messages name the server by its URL.
///
/// # Errors
///
/// Returns an error if kube rejects the configuration.
pub fn from_config(mut config: kube::Config) -> kube::Result<kube::Client> {
    config.default_retry = false;
    let server = config.cluster_url.to_string();
    let client = kube::Client::try_from(config)?;
    Ok(observe(client, server.trim_end_matches('/')))
}

/// Wraps a client. Use this function if the client was built with [`kube::client::ClientBuilder`],
/// or if messages should name its server differently; otherwise, use [`from_config`]. The new
/// client differs from it in three ways:
///
/// - As long as no API server has ever responded to this client or its clones, a failed request is
///   not retried, whatever the cause: a wrong address, or a cluster that is down. For an API server
///   that has responded before, the launcher waits.
/// - `Retry-After` is kept: kube drops the headers of a response, so the number of seconds moves
///   into the `details` of its Status, where [`Launcher`](crate::Launcher) finds it.
/// - Each request has a `tracing` span at the level `DEBUG`, with method, path and status. Neither
///   headers nor bodies are logged.
///
/// `server` names the server in messages, such as `https://10.0.0.1:6443 (context "prod")`.
///
/// The client should be created with [`Config::default_retry`](kube::Config::default_retry) off;
/// see [`Launcher::new`](crate::Launcher::new).
pub fn observe(client: kube::Client, server: &str) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let observer = Arc::new(Observer { server: server.to_owned(), has_answered: false.into() });
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, observer) = (client.clone(), observer.clone());
        let span = span(&request);
        async move { observer.send(&client, request).await }.instrument(span)
    });
    kube::Client::new(service, namespace)
}

/// The error of a request while no API server has ever responded.
#[derive(Debug, thiserror::Error)]
#[error("failed to reach the API server {server}: {cause}")]
struct Unreached {
    server: String,
    cause: String,
    /// Whether the server has a certificate that is not trusted.
    is_untrusted: bool,
}

#[derive(Debug)]
struct Observer {
    server: String,
    /// Whether an API server has ever responded, even with an error.
    has_answered: AtomicBool,
}

impl Observer {
    async fn send(
        &self,
        client: &kube::Client,
        request: Request<Body>,
    ) -> kube::Result<Response<Body>> {
        let response = match client.send(request).await {
            Ok(response) => response,
            Err(error) => {
                debug!(error = %root(&error), "request failed");
                return Err(self.unreached(error));
            }
        };
        let status = response.status();
        Span::current().record("status", status.as_u16());
        debug!(status = status.as_u16(), "received a response");
        if status.is_success() {
            self.has_answered.store(true, Ordering::Relaxed);
            return Ok(response);
        }
        let (mut head, body) = response.into_parts();
        let body = beginning(body).await.map_err(|error| self.unreached(error))?;
        let response = serde_json::from_str(&body).unwrap_or(Value::Null);
        if is_of_api_server(status, &head.headers, &response) {
            self.has_answered.store(true, Ordering::Relaxed);
        } else if !self.has_answered.load(Ordering::Relaxed) {
            return Err(self.not_an_api_server(status, &body));
        }
        let body = match retry_after(&head.headers) {
            Some(seconds) => with_retry_after(response, status, &body, seconds),
            None => body,
        };
        // The header has the length of the original body.
        head.headers.remove(http::header::CONTENT_LENGTH);
        Ok(Response::from_parts(head, Body::from(body.into_bytes())))
    }

    /// Returns the error as it is, unless the server has never responded.
    fn unreached(&self, error: kube::Error) -> kube::Error {
        let failure = classify_request_error(&error, "connect");
        if self.has_answered.load(Ordering::Relaxed) || failure.reason != Reason::ApiUnreachable {
            return error;
        }
        kube::Error::Service(Box::new(Unreached {
            server: self.server.clone(),
            cause: root(&error),
            is_untrusted: !failure.is_transient,
        }))
    }

    fn not_an_api_server(&self, status: StatusCode, body: &str) -> kube::Error {
        let words: Vec<_> = body.split_whitespace().collect();
        let words = words.join(" ");
        let words = excerpt::shorten(&words);
        kube::Error::Service(Box::new(Unreached {
            server: self.server.clone(),
            cause: format!("the response {status} does not come from an API server: {words:?}"),
            is_untrusted: false,
        }))
    }
}

/// Reads an error response, up to [`MAX_ERROR_BODY`] bytes.
async fn beginning(mut body: Body) -> kube::Result<String> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ERROR_BODY
        && let Some(frame) = body.frame().await
    {
        let data = frame?.into_data().unwrap_or_default();
        bytes.extend_from_slice(data.get(..MAX_ERROR_BODY - bytes.len()).unwrap_or(&data));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn span(request: &Request<Body>) -> Span {
    let (method, uri) = (request.method(), request.uri());
    let query = uri.query().unwrap_or_default();
    debug_span!("request", %method, path = uri.path(), query, status = field::Empty)
}

/// Checks whether an error response comes from an API server, and not from something in its place
/// or in front of it. It does if it is a Status, or has the header that the audit of the API server
/// adds to every response. An overloaded API server responds with 429 and plain text.
fn is_of_api_server(status: StatusCode, headers: &HeaderMap, response: &Value) -> bool {
    response.get("kind").and_then(Value::as_str) == Some("Status")
        || headers.contains_key("audit-id")
        || matches!(
            status,
            // A proxy that authenticates users in front of an API server sends no Status.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
        )
}

/// Returns the seconds of a `Retry-After`. Kubernetes never sends a date.
fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the Status of a response, which may be plain text, with the time to wait in its details.
fn with_retry_after(response: Value, status: StatusCode, body: &str, seconds: u32) -> String {
    let mut response = match response {
        Value::Object(response) if response.contains_key("kind") => response,
        _ => {
            let reason = status.canonical_reason().unwrap_or_default().replace(' ', "");
            let made = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure",
                "code": status.as_u16(), "reason": reason, "message": body.trim(),
            });
            made.as_object().cloned().unwrap_or_default()
        }
    };
    let details = response.entry("details").or_insert(Value::Null);
    if !details.is_object() {
        *details = json!({});
    }
    if let Some(details) = details.as_object_mut() {
        details.insert("retryAfterSeconds".to_owned(), json!(seconds));
    }
    Value::Object(response).to_string()
}

/// Returns the innermost cause. The outer errors only repeat that a connection failed.
fn root(error: &kube::Error) -> String {
    let mut root: &(dyn std::error::Error + 'static) = error;
    while let Some(cause) = error_source(root) {
        root = cause;
    }
    // The first limits connections in kube's client, and the second requests in a layer around it.
    if root.is::<tokio::time::error::Elapsed>() || root.is::<tower::timeout::error::Elapsed>() {
        return "no response in time".to_owned();
    }
    match root.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "connection refused".to_owned()
        }
        Some(error) if error.raw_os_error().is_some() => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
        _ => root.to_string(),
    }
}

/// Returns the cause of an error. An I/O error does not report the error that it wraps as its
/// source.
fn error_source<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e (dyn std::error::Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|wrapped| wrapped as _).or_else(|| error.source())
}
