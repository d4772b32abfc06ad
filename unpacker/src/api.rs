//! A client for the two requests that the unpacker needs: read a ConfigMap and replace it.
//!
//! `docs/decisions/0007-api-client.md` explains why this is not a general client.

pub(crate) mod connect;
pub(crate) mod credential;
pub(crate) mod kubeconfig;
mod retry;
mod status;

pub(crate) use connect::Connection;
pub(crate) use credential::{ACCOUNT, Access, namespace_of_pod};
pub(crate) use kubeconfig::Kubeconfig;
pub(crate) use retry::{Clock, Pace, Policy, SystemClock};

use std::time::Duration;

use unlade_config_map::ConfigMap;

/// An API server, or its replacement in a test.
pub(crate) trait Server {
    /// Sends `request`, and waits at most `timeout` for the response.
    fn call(&self, request: &Request, timeout: Duration) -> Result<Response, connect::Error>;
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path, which starts with `/`.
    pub(crate) path: String,
    /// The body as JSON. It is empty if the request has none.
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
}

/// A response.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The `Retry-After` header, if it is a number of seconds.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Why a ConfigMap was not filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// 401 or 403.
    #[error("the API server denied access to the ConfigMap {name} (status {status}): {message}")]
    Denied { name: String, status: u16, message: String },
    /// 404.
    #[error("the ConfigMap {name} does not exist, and the unpacker does not create it: {message}")]
    Missing { name: String, message: String },
    /// 409: the ConfigMap was changed between our read and our write.
    #[error("the ConfigMap {name} was changed by another client before each attempt to write it")]
    Conflict { name: String },
    /// 413, or 422 because of the size.
    #[error("the ConfigMap {name} is too large for the API server: {message}")]
    TooLarge { name: String, message: String },
    /// Other 4xx.
    #[error("the API server rejected the ConfigMap {name} (status {status}): {message}")]
    Refused { name: String, status: u16, message: String },
    /// The bundle cannot be written to the existing ConfigMap.
    #[error(transparent)]
    Fill(#[from] unlade_config_map::fill::Error),
    /// The ConfigMap has a deletion timestamp.
    #[error("the ConfigMap {name} is being deleted")]
    Deleted { name: String },
    /// 429 or 5xx.
    #[error("the API server is unavailable (status {status}): {message}")]
    Unavailable { status: u16, message: String, retry_after: Option<Duration> },
    /// The response is not the requested ConfigMap.
    #[error("the response of the API server is not the ConfigMap {name}")]
    Response {
        name: String,
        #[source]
        source: Option<unlade_config_map::object::Error>,
    },
    /// No response was received, or it could not be read.
    #[error("the request to the API server failed")]
    Connection(#[from] connect::Error),
    /// The deadline of the run passed before the request could be sent.
    #[error("no time is left to fill the ConfigMap {name}")]
    NoTime { name: String },
    /// The ConfigMap cannot be serialized.
    #[error("failed to serialise the ConfigMap {name}")]
    Json { name: String, source: serde_json::Error },
}

impl Error {
    /// Returns what the user can do about the error, if that is known.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Denied { .. } => {
                Some("grant the service account the verbs get and update on this ConfigMap")
            }
            Self::Missing { .. } => {
                Some("create it first: the unpacker keeps its owner and labels")
            }
            Self::Fill(error) => error.hint(),
            Self::Connection(connect::Error::Token { source }) => source.hint(),
            _ => None,
        }
    }
}

/// The result of [`fill()`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// The ConfigMap was written.
    Written,
    /// The ConfigMap already had the same content.
    Unchanged,
}

/// A function that merges a content into an existing ConfigMap: [`unlade_config_map::fill()`] or
/// [`unlade_config_map::fill_over`].
pub(crate) type Fill =
    fn(ConfigMap, &ConfigMap) -> Result<ConfigMap, unlade_config_map::fill::Error>;

/// Fills the existing ConfigMap that `encoded` names: reads it, merges the content into it with
/// `merge`, and writes it back if that changed it. Each attempt starts with reading. So an attempt
/// whose response was lost is recognised, and a conflict needs no special handling.
pub(crate) fn fill(
    server: &impl Server,
    encoded: &ConfigMap,
    merge: Fill,
    pace: &mut Pace<'_, impl Clock>,
) -> Result<Filled, Error> {
    loop {
        match attempt(server, encoded, merge, pace) {
            Err(error) => pace.wait(error)?,
            filled => return filled,
        }
    }
}

/// Makes one attempt of [`fill()`].
pub(crate) fn attempt(
    server: &impl Server,
    encoded: &ConfigMap,
    merge: Fill,
    pace: &Pace<'_, impl Clock>,
) -> Result<Filled, Error> {
    let name = &encoded.metadata.name;
    let path = format!("/api/v1/namespaces/{}/configmaps/{name}", encoded.metadata.namespace);
    let request = Request { method: Method::Get, path, body: Vec::new() };
    let response = status::check(name, server.call(&request, pace.timeout(name)?)?)?;
    let existing = ConfigMap::parse_json(&response.body)
        .map_err(|source| Error::Response { name: name.clone(), source: Some(source) })?;
    // Without a version, the write could overwrite the changes of other clients.
    let is_versioned = existing.metadata.rest.contains_key("resourceVersion");
    if existing.metadata.name != *name || !is_versioned {
        return Err(Error::Response { name: name.clone(), source: None });
    }
    if existing.metadata.rest.contains_key("deletionTimestamp") {
        return Err(Error::Deleted { name: name.clone() });
    }
    let Some(filled) = merged(existing, encoded, merge)? else { return Ok(Filled::Unchanged) };
    let body =
        serde_json::to_vec(&filled).map_err(|source| Error::Json { name: name.clone(), source })?;
    let request = Request { method: Method::Put, body, ..request };
    status::check(name, server.call(&request, pace.timeout(name)?)?)?;
    Ok(Filled::Written)
}

/// Returns the filled ConfigMap, or `None` if filling `existing` would change nothing, which is a
/// success even if the ConfigMap is immutable.
fn merged(
    mut existing: ConfigMap,
    encoded: &ConfigMap,
    merge: Fill,
) -> Result<Option<ConfigMap>, Error> {
    let immutable = existing.rest.remove_entry("immutable");
    if merge(existing.clone(), encoded).is_ok_and(|filled| filled == existing) {
        return Ok(None);
    }
    existing.rest.extend(immutable);
    Ok(Some(merge(existing, encoded)?))
}

#[cfg(test)]
mod tests;
