//! The API server, as far as the unpacker needs it: read one ConfigMap, replace one ConfigMap.
//!
//! Why this is no general client: `docs/decisions/0007-api-client.md`.

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

/// Something that answers requests: the API server, or a test's stand-in.
pub(crate) trait Server {
    /// Sends `request` and waits for the answer, at most `timeout`.
    fn call(&self, request: &Request, timeout: Duration) -> Result<Response, connect::Error>;
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path, beginning with `/`.
    pub(crate) path: String,
    /// JSON, empty for none.
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The `Retry-After` header, if it was a number of seconds.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Why a ConfigMap was not filled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// 401 or 403.
    #[error("the API server denies access to ConfigMap {name} (status {status}): {message}")]
    Denied { name: String, status: u16, message: String },
    /// 404.
    #[error("ConfigMap {name} does not exist, and is never created here: {message}")]
    Missing { name: String, message: String },
    /// 409: somebody else wrote it between our reading and our writing.
    #[error("ConfigMap {name} was changed by others each time that it was to be written")]
    Conflict { name: String },
    /// 413, or 422 because of the size.
    #[error("ConfigMap {name} is too large for the API server: {message}")]
    TooLarge { name: String, message: String },
    /// Other 4xx.
    #[error("the API server refuses ConfigMap {name} (status {status}): {message}")]
    Refused { name: String, status: u16, message: String },
    /// The ConfigMap that is there does not take the bundle.
    #[error(transparent)]
    Fill(#[from] unlade_config_map::fill::Error),
    /// It has a deletion timestamp.
    #[error("ConfigMap {name} is being deleted")]
    Deleted { name: String },
    /// 429 or 5xx.
    #[error("the API server cannot answer now (status {status}): {message}")]
    Unavailable { status: u16, message: String, retry_after: Option<Duration> },
    /// An answer that is no ConfigMap.
    #[error("the API server's answer is not ConfigMap {name}")]
    Answer {
        name: String,
        #[source]
        source: Option<unlade_config_map::object::Error>,
    },
    /// There was no answer.
    #[error("no answer from the API server")]
    Connection(#[from] connect::Error),
    /// The object does not become JSON.
    #[error("ConfigMap {name} cannot be written as JSON")]
    Json { name: String, source: serde_json::Error },
}

impl Error {
    /// What may help, where that is known.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Denied { .. } => {
                Some("the service account needs the verbs get and update on this ConfigMap's name")
            }
            Self::Missing { .. } => Some("create it first; its owner and labels are then kept"),
            Self::Fill(error) => error.hint(),
            Self::Connection(connect::Error::Token { source }) => source.hint(),
            _ => None,
        }
    }
}

/// What [`fill`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// It wrote the ConfigMap.
    Written,
    /// The same content was there already.
    Unchanged,
}

/// How a content is put into what is there: [`unlade_config_map::fill()`] or
/// [`unlade_config_map::fill_over`].
pub(crate) type Fill =
    fn(ConfigMap, &ConfigMap) -> Result<ConfigMap, unlade_config_map::fill::Error>;

/// Fills the existing ConfigMap that `encoded` names: reads it, puts the content in, writes it
/// back if that changed it. Every try begins with reading, so that one whose answer was lost is
/// recognised, and so that a conflict needs no special care.
pub(crate) fn fill(
    server: &impl Server,
    encoded: &ConfigMap,
    put: Fill,
    pace: &mut Pace<'_, impl Clock>,
) -> Result<Filled, Error> {
    loop {
        match attempt(server, encoded, put, pace) {
            Err(error) => pace.wait(error)?,
            filled => return filled,
        }
    }
}

/// One try of [`fill()`].
pub(crate) fn attempt(
    server: &impl Server,
    encoded: &ConfigMap,
    put: Fill,
    pace: &Pace<'_, impl Clock>,
) -> Result<Filled, Error> {
    let name = &encoded.metadata.name;
    let path = format!("/api/v1/namespaces/{}/configmaps/{name}", encoded.metadata.namespace);
    let request = Request { method: Method::Get, path, body: Vec::new() };
    let response = status::check(name, server.call(&request, pace.timeout())?)?;
    let existing = ConfigMap::parse_json(&response.body)
        .map_err(|source| Error::Answer { name: name.clone(), source: Some(source) })?;
    // Without a version the write would not notice those of others.
    let is_versioned = existing.metadata.rest.contains_key("resourceVersion");
    if existing.metadata.name != *name || !is_versioned {
        return Err(Error::Answer { name: name.clone(), source: None });
    }
    if existing.metadata.rest.contains_key("deletionTimestamp") {
        return Err(Error::Deleted { name: name.clone() });
    }
    if holds(&existing, encoded, put) {
        return Ok(Filled::Unchanged);
    }
    let filled = put(existing, encoded)?;
    let body =
        serde_json::to_vec(&filled).map_err(|source| Error::Json { name: name.clone(), source })?;
    let request = Request { method: Method::Put, body, ..request };
    status::check(name, server.call(&request, pace.timeout())?)?;
    Ok(Filled::Written)
}

/// Whether filling `existing` would change nothing. That is a success for an immutable ConfigMap
/// too.
fn holds(existing: &ConfigMap, encoded: &ConfigMap, put: Fill) -> bool {
    let mut existing = existing.clone();
    existing.rest.remove("immutable");
    put(existing.clone(), encoded).is_ok_and(|filled| filled == existing)
}

#[cfg(test)]
mod tests;
