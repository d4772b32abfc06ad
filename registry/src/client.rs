//! [`Client`]: requests to one repository, with authentication, redirects, retries and limits.

mod upload;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use unlade_name::ImageReference;
use ureq::http::header::{AUTHORIZATION, CONTENT_RANGE, LOCATION};
use ureq::http::{HeaderMap, Method, Response, StatusCode, Uri, request};
use ureq::{Agent, Body, ResponseExt as _};

use crate::access::{self, Access};
use crate::cache::Repository;
use crate::configuration::Endpoint;
use crate::connection::Connection;
use crate::error::words;
use crate::limit::{REDIRECTS, RESPONSE};
use crate::request::Request;
use crate::retry::{Retry, is_transient, requested_pause};
use crate::{Error, Limits, Options, Progress};

/// A place of an image, to which no request was sent yet.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    /// Whether any certificate, and a registry without TLS, is accepted there.
    is_insecure: bool,
    connection: Connection,
}

impl Target {
    pub(crate) fn new(endpoint: &Endpoint, options: &Options) -> Result<Self, Error> {
        let is_insecure = endpoint.insecure || options.tls.insecure;
        let connection = options.connections.connect(&endpoint.image, is_insecure, options)?;
        Ok(Self { endpoint: endpoint.clone(), is_insecure, connection })
    }
}

/// The client of one repository.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
    /// The URL of the registry, such as `https://registry.example:5000`.
    base: String,
    pub(crate) image: ImageReference,
    pub(crate) limits: Limits,
    /// The place for the blobs of the repository.
    pub(crate) cache: Option<Repository>,
    pub(crate) progress: Option<Progress>,
    access: Access,
    authorization: Mutex<Authorization>,
}

/// What the client sends once the registry has asked for credentials.
#[derive(Debug, Default)]
struct Authorization {
    /// The value of the header `Authorization`.
    value: Option<SecretString>,
    /// How many times the client has tried to log in.
    logins: usize,
    /// Why the last login failed, for the threads that waited for it.
    failure: Option<Arc<Error>>,
}

impl Client {
    /// Returns the client for `target`, after it is known whether the registry has TLS. `actions`
    /// are those that a token must allow, such as `pull`.
    pub(crate) fn open(
        target: &Target,
        actions: &'static str,
        options: &Options,
    ) -> Result<Self, Error> {
        let Target { endpoint, is_insecure, connection } = target;
        let base = connection.determine_base(&options.limits)?;
        let image = endpoint.image.clone();
        let auth = endpoint.auth(&options.auth);
        let is_unverified = options.plain_http || *is_insecure;
        let cache = options.cache.as_ref().map(|cache| cache.repository(&image, is_unverified));
        Ok(Self {
            connection: connection.clone(),
            base,
            image,
            limits: options.limits.clone(),
            cache,
            progress: options.progress.clone(),
            access: Access { actions, auth, origin: Mutex::default() },
            authorization: Mutex::default(),
        })
    }

    /// Returns the URL of something in the repository, such as `manifests/latest`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.base, self.image.repository())
    }

    /// Returns the URL of the API itself.
    pub(crate) fn root(&self) -> String {
        format!("{}/v2/", self.base)
    }

    /// Sends a request, logs in if the registry asks for it, and retries transient failures. The
    /// last response is returned, whatever its status is.
    pub(crate) fn send(&self, request: &Request<'_>) -> Result<Response<Body>, Error> {
        let logins = self.logins();
        let response = self.retry(|| self.follow(request))?;
        if response.status() != StatusCode::UNAUTHORIZED
            || !self.is_registry(&response.get_uri().to_string())
        {
            return Ok(response);
        }
        self.log_in(response.headers(), logins)?;
        self.retry(|| self.follow(request))
    }

    /// Requests something that the registry should have. Returns the response if it has one of the
    /// `statuses`, else the error that it means.
    pub(crate) fn fetch(
        &self,
        request: &Request<'_>,
        statuses: &[u16],
    ) -> Result<Response<Body>, Error> {
        let response = self.send(request)?;
        if response.status() == StatusCode::NOT_FOUND {
            let (what, registry) = (request.what.to_owned(), self.image.registry().to_owned());
            return Err(Error::Missing { what, registry });
        }
        self.expect(response, statuses, request.what)
    }

    /// Sends a request until it succeeds, fails permanently, or reaches the limit of retries.
    pub(crate) fn retry(
        &self,
        mut send: impl FnMut() -> Result<Response<Body>, Error>,
    ) -> Result<Response<Body>, Error> {
        let mut retry = Retry::new(&self.limits);
        loop {
            let result = send();
            let requested = match &result {
                Ok(response) if is_transient(response.status()) => {
                    requested_pause(response.headers())
                }
                Err(error) if error.is_transient() => None,
                _ => return result,
            };
            if !retry.pause(requested) {
                return result;
            }
        }
    }

    /// Returns the file or the helper with the credentials for the registry, for messages.
    pub(crate) fn credentials_origin(&self) -> Option<String> {
        self.access.origin.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many times the client has tried to log in.
    pub(crate) fn logins(&self) -> usize {
        self.authorization().logins
    }

    /// Logs in as the challenge of the registry asks, unless another thread has tried to since
    /// [`logins`](Self::logins) returned `logins`. Other requests wait meanwhile.
    pub(crate) fn log_in(&self, headers: &HeaderMap, logins: usize) -> Result<(), Error> {
        let mut authorization = self.authorization();
        if authorization.logins == logins {
            authorization.logins += 1;
            authorization.failure = None;
            match access::authorize(self, &self.access, headers) {
                Ok(Some(value)) => authorization.value = Some(value),
                Ok(None) => {}
                Err(error) => authorization.failure = Some(Arc::new(error)),
            }
        }
        match &authorization.failure {
            Some(failure) => Err(Error::Shared(Arc::clone(failure))),
            None => Ok(()),
        }
    }

    fn authorization(&self) -> MutexGuard<'_, Authorization> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and follows redirects.
    fn follow(&self, request: &Request<'_>) -> Result<Response<Body>, Error> {
        let mut url = request.url.to_owned();
        for _ in 0..=REDIRECTS {
            let response = self.send_once(request, &url)?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let location = location.and_then(|location| resolve(&url, location));
            url = location.ok_or_else(|| Error::Invalid {
                what: request.what.to_owned(),
                problem: "it redirects to an invalid address".to_owned(),
            })?;
            self.check(&url, request.what)?;
        }
        Err(Error::Invalid {
            what: request.what.to_owned(),
            problem: format!("it redirects more than {REDIRECTS} times"),
        })
    }

    /// Checks an address that the registry names.
    pub(crate) fn check(&self, url: &str, what: &str) -> Result<(), Error> {
        let uri = url.parse().unwrap_or_default();
        let forbidden = |source| Error::Forbidden { what: what.to_owned(), source };
        self.connection.guard.check_literal(&uri).map_err(forbidden)
    }

    /// Checks whether `url` is at the registry, which receives the credentials. Other hosts do not.
    fn is_registry(&self, url: &str) -> bool {
        is_same_origin(&self.base, url)
    }

    fn send_once(&self, request: &Request<'_>, url: &str) -> Result<Response<Body>, Error> {
        let what = || request.what.to_owned();
        let time = self.limits.time_for(request.size);
        let request = request.add_headers(self.authorized(&request.method, url)).body(());
        let request = request.map_err(|error| Error::http(what())(error.into()))?;
        let agent = self.agent_for(url);
        let request = agent.configure_request(request);
        agent.run(request.timeout_recv_body(Some(time)).build()).map_err(Error::http(what()))
    }

    /// Returns the agent for `url`. Only the one for the registry itself presents the certificate
    /// of the client.
    pub(crate) fn agent_for(&self, url: &str) -> &Agent {
        if self.is_registry(url) { &self.connection.agent } else { &self.connection.others }
    }

    /// Begins a request, with the credentials if it is for the registry itself.
    fn authorized(&self, method: &Method, url: &str) -> request::Builder {
        let request = request::Builder::new().method(method).uri(url);
        match self.authorization().value.as_ref().filter(|_| self.is_registry(url)) {
            Some(value) => request.header(AUTHORIZATION, value.expose_secret()),
            None => request,
        }
    }

    /// Returns `response` if it has one of the `statuses`, else the error that it means: the
    /// registry refused the request, for example because the repository for a push does not exist.
    pub(crate) fn expect(
        &self,
        mut response: Response<Body>,
        statuses: &[u16],
        what: &str,
    ) -> Result<Response<Body>, Error> {
        let found = response.status();
        if statuses.contains(&found.as_u16()) {
            return Ok(response);
        }
        let body = read_body(&mut response, RESPONSE, what).unwrap_or_default();
        Err(self.refusal(found, &body, what.to_owned()))
    }

    /// Returns the error for a response with this status: access was denied, or the request was
    /// refused.
    pub(crate) fn refusal(&self, found: StatusCode, body: &[u8], what: String) -> Error {
        let status = format!("{found} {}", words(body)).trim().to_owned();
        if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&found) {
            let (registry, credentials) =
                (self.image.registry().to_owned(), self.credentials_origin());
            return Error::Denied { what, registry, status, credentials };
        }
        Error::Refused { what, status }
    }
}

/// Checks whether two URLs have the same scheme, host and port, which lead to the same server (RFC
/// 6454, section 4). A URL with a user name has no origin here, because it contains credentials of
/// its own.
fn is_same_origin(a: &str, b: &str) -> bool {
    let parse = |url: &str| url.parse::<Uri>().ok();
    let (Some(a), Some(b)) = (parse(a), parse(b)) else { return false };
    let origin = |uri: &Uri| {
        let default = match uri.scheme_str()? {
            "https" => 443,
            "http" => 80,
            _ => return None,
        };
        let has_user = uri.authority()?.as_str().contains('@');
        let host = uri.host()?.to_ascii_lowercase();
        (!has_user).then_some((default, host, uri.port_u16().unwrap_or(default)))
    };
    origin(&a).is_some_and(|a| origin(&b) == Some(a))
}

/// Reads the body of a response, which has at most `limit` bytes.
pub(crate) fn read_body(
    response: &mut Response<Body>,
    limit: u64,
    what: &str,
) -> Result<Vec<u8>, Error> {
    response.body_mut().with_config().limit(limit).read_to_vec().map_err(|error| match error {
        ureq::Error::BodyExceedsLimit(limit) => Error::TooLarge { what: what.to_owned(), limit },
        error => Error::http(what.to_owned())(error),
    })
}

/// Returns the URL that `location` names in a response from `url`.
pub(crate) fn resolve(url: &str, location: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?;
    let absolute = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{}{location}", uri.authority()?)
    } else {
        location.to_owned()
    };
    let parsed: Uri = absolute.parse().ok()?;
    // A user name in an address would be sent as credentials.
    let has_user = parsed.authority()?.as_str().contains('@');
    (["http", "https"].contains(&parsed.scheme_str()?) && !has_user).then_some(absolute)
}

/// Returns the first byte of a partial response, in bytes from the beginning.
pub(crate) fn start_of(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_for_the_scheme_the_host_and_the_port_of_the_registry() {
        let https = "https://registry.example";
        for (base, url, expected) in [
            (https, "https://registry.example/v2/", true),
            (https, "https://registry.example:443/upload?state=x", true),
            (https, "https://registry.example:/v2/", true),
            (https, "HTTPS://Registry.EXAMPLE/v2/", true),
            ("https://registry.example:443", "https://registry.example/v2/", true),
            ("http://localhost:5000", "http://LOCALHOST:5000/v2/", true),
            ("http://127.0.0.1", "http://127.0.0.1:80/v2/", true),
            ("https://[fd00::1]:5000", "https://[FD00::1]:5000/v2/", true),
            (https, "http://registry.example/v2/", false),
            (https, "http://registry.example:443/v2/", false),
            (https, "https://registry.example:80/v2/", false),
            (https, "https://registry.example:5000/v2/", false),
            ("https://registry.example:5000", "https://registry.example/v2/", false),
            (https, "https://registry.example.evil.example/v2/", false),
            (https, "https://evil.example/registry.example/", false),
            (https, "https://registry.example@evil.example/", false),
            (https, "https://registry.example:443@evil.example/", false),
            (https, "https://user:password@registry.example/v2/", false),
            (https, "https://registry.example./v2/", false),
            (https, "//registry.example/v2/", false),
            (https, "/v2/", false),
            (https, "", false),
        ] {
            assert_eq!(is_same_origin(base, url), expected, "{base} {url}");
        }
    }
}
