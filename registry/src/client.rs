//! [`Client`]: requests to one repository, with authentication, redirects, retries and limits.

use std::cell::RefCell;
use std::io::Read;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use secrecy::{ExposeSecret, SecretString};
use unlade_name::ImageReference;
use ureq::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE,
};
use ureq::http::{HeaderMap, Request, Response, StatusCode, Uri};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy, SendBody};

use crate::access::{self, Access};
use crate::address::Guard;
use crate::error::words;
use crate::limit::{ANSWER, HEADERS, REDIRECTS};
use crate::retry::{Retry, asked_pause, is_transient};
use crate::{Error, Limits, Options};

/// The client of one repository.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) agent: Agent,
    pub(crate) image: ImageReference,
    pub(crate) limits: Limits,
    pub(crate) guard: Guard,
    /// The address of the registry, such as `https://registry.example:5000`.
    base: String,
    access: Access,
    /// The value of the header `Authorization`, once the registry has asked for it.
    authorization: RefCell<Option<SecretString>>,
}

/// A request without a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    pub(crate) url: &'a str,
    /// What is requested, for messages.
    pub(crate) what: &'a str,
    pub(crate) accept: &'static str,
    /// The first byte to return.
    pub(crate) from: u64,
    /// The size of the answer, as far as it is known, in bytes.
    pub(crate) size: u64,
}

impl Client {
    /// Prepares a client. `actions` are those that a token must allow, such as `pull`.
    pub(crate) fn new(
        image: &ImageReference,
        actions: &'static str,
        options: &Options,
    ) -> Result<Self, Error> {
        let scheme = if options.plain_http { "http" } else { "https" };
        let base = format!("{scheme}://{}", image.host());
        let uri: Uri = base.parse().map_err(|_| Error::Reference { image: image.to_string() })?;
        let limits = options.limits.clone();
        let proxy = if options.plain_http { None } else { Proxy::try_from_env() };
        let guard = Guard::new(&uri, proxy.as_ref().map(Proxy::host));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // `Client::follow` follows them.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A token server without TLS would receive the password unencrypted.
            .https_only(!options.plain_http)
            .proxy(proxy)
            .tls_config(tls())
            .user_agent(concat!("unlade/", env!("CARGO_PKG_VERSION")))
            .max_response_header_size(HEADERS)
            .timeout_resolve(Some(limits.idle))
            .timeout_connect(Some(limits.idle))
            .timeout_recv_response(Some(limits.patience))
            .timeout_per_read(Some(limits.idle))
            .timeout_per_write(Some(limits.idle))
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::default(), guard.clone());
        let login = options.login.clone();
        let access = Access { actions, login, origin: RefCell::default() };
        let authorization = RefCell::new(None);
        Ok(Self { agent, image: image.clone(), limits, guard, base, access, authorization })
    }

    /// Returns the address of something in the repository, such as `manifests/latest`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.base, self.image.repository())
    }

    /// Returns the address of the API itself.
    pub(crate) fn root(&self) -> String {
        format!("{}/v2/", self.base)
    }

    /// Sends a request, logs in if the registry asks for it, and tries again after a failure that
    /// can pass. The last answer is returned, whatever its status is.
    pub(crate) fn ask(&self, ask: &Ask<'_>) -> Result<Response<Body>, Error> {
        let (answer, is_here) = self.retry(|| self.follow(ask))?;
        if answer.status() != StatusCode::UNAUTHORIZED || !is_here {
            return Ok(answer);
        }
        self.log_in(answer.headers())?;
        self.retry(|| self.follow(ask)).map(|(answer, _)| answer)
    }

    /// Sends a request until it succeeds, fails for good, or was sent too often.
    pub(crate) fn retry(
        &self,
        mut send: impl FnMut() -> Result<(Response<Body>, bool), Error>,
    ) -> Result<(Response<Body>, bool), Error> {
        let mut retry = Retry::new(&self.limits);
        loop {
            let result = send();
            let asked = match &result {
                Ok((answer, _)) if is_transient(answer.status()) => asked_pause(answer.headers()),
                Err(error) if error.is_transient() => None,
                _ => return result,
            };
            if !retry.pause(asked) {
                return result;
            }
        }
    }

    /// Returns the file or the helper with the login for the registry, for messages.
    pub(crate) fn origin_of_login(&self) -> Option<String> {
        self.access.origin.borrow().clone()
    }

    /// Gets what the challenge of the registry asks for.
    fn log_in(&self, headers: &HeaderMap) -> Result<(), Error> {
        if let Some(authorization) = access::authorize(self, &self.access, headers)? {
            self.authorization.replace(Some(authorization));
        }
        Ok(())
    }

    /// Sends a request, and follows redirects. Also returns whether the registry itself answered.
    fn follow(&self, ask: &Ask<'_>) -> Result<(Response<Body>, bool), Error> {
        let mut url = ask.url.to_owned();
        for _ in 0..=REDIRECTS {
            let answer = self.send(ask, &url)?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok((answer, self.is_here(&url)));
            }
            let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let location = location.and_then(|location| resolve(&url, location));
            url = location.ok_or_else(|| Error::Invalid {
                what: ask.what.to_owned(),
                problem: "it redirects to an invalid address".to_owned(),
            })?;
            self.check(&url, ask.what)?;
        }
        Err(Error::Invalid {
            what: ask.what.to_owned(),
            problem: format!("it redirects more than {REDIRECTS} times"),
        })
    }

    /// Checks an address that the registry names.
    pub(crate) fn check(&self, url: &str, what: &str) -> Result<(), Error> {
        let uri = url.parse().unwrap_or_default();
        let forbidden = |source| Error::Forbidden { what: what.to_owned(), source };
        self.guard.check_literal(&uri).map_err(forbidden)
    }

    /// Checks whether `url` is at the registry, which receives the login. Other hosts do not.
    fn is_here(&self, url: &str) -> bool {
        url.strip_prefix(&self.base).is_some_and(|path| path.starts_with('/'))
    }

    fn send(&self, ask: &Ask<'_>, url: &str) -> Result<Response<Body>, Error> {
        let mut request = self.request(ask.method, url);
        if !ask.accept.is_empty() {
            request = request.header(ACCEPT, ask.accept);
        }
        if ask.method == "POST" {
            // Without it, the empty body would be sent in chunks, which some registries refuse.
            request = request.header(CONTENT_LENGTH, 0);
        }
        if ask.from > 0 {
            request = request.header(RANGE, format!("bytes={}-", ask.from));
        }
        let what = || ask.what.to_owned();
        let request = request.body(()).map_err(|error| Error::http(what())(error.into()))?;
        let request = self.agent.configure_request(request);
        let time = self.limits.time_for(ask.size);
        self.agent.run(request.timeout_recv_body(Some(time)).build()).map_err(Error::http(what()))
    }

    /// Sends a request with a body, once.
    pub(crate) fn upload(
        &self,
        url: &str,
        what: &str,
        (media_type, size): (&str, u64),
        body: &mut dyn Read,
    ) -> Result<Response<Body>, Error> {
        let mut body = body;
        let request = self.request("PUT", url);
        let request = request.header(CONTENT_TYPE, media_type);
        let request = request.header(CONTENT_LENGTH, size);
        let what = || what.to_owned();
        let body = SendBody::from_reader(&mut body);
        let request = request.body(body).map_err(|error| Error::http(what())(error.into()))?;
        let request = self.agent.configure_request(request);
        let request = request
            .timeout_send_body(Some(self.limits.time_for(size)))
            .timeout_recv_body(Some(self.limits.patience))
            .build();
        self.agent.run(request).map_err(Error::http(what()))
    }

    fn request(&self, method: &str, url: &str) -> ureq::http::request::Builder {
        let request = Request::builder().method(method).uri(url);
        match self.authorization.borrow().as_ref().filter(|_| self.is_here(url)) {
            Some(value) => request.header(AUTHORIZATION, value.expose_secret()),
            None => request,
        }
    }

    /// Returns `answer` if it has one of the `statuses`, else the error that it means.
    pub(crate) fn expect(
        &self,
        mut answer: Response<Body>,
        statuses: &[u16],
        what: &str,
    ) -> Result<Response<Body>, Error> {
        let found = answer.status();
        if statuses.contains(&found.as_u16()) {
            return Ok(answer);
        }
        let what = what.to_owned();
        let registry = self.image.registry().to_owned();
        if found == StatusCode::NOT_FOUND {
            return Err(Error::Missing { what, registry });
        }
        let body = answer.body_mut().with_config().limit(ANSWER).read_to_vec().unwrap_or_default();
        let status = format!("{found} {}", words(&body)).trim().to_owned();
        if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&found) {
            let login = self.origin_of_login();
            return Err(Error::Denied { what, registry, status, login });
        }
        Err(Error::Refused { what, status })
    }
}

/// Returns the address that `location` names in an answer from `url`.
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
    // A user name in an address would be sent as a login.
    let has_user = parsed.authority()?.as_str().contains('@');
    (["http", "https"].contains(&parsed.scheme_str()?) && !has_user).then_some(absolute)
}

/// Returns the first byte of a partial answer, in bytes from the beginning.
pub(crate) fn start_of(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok()
}

/// Returns a TLS configuration that trusts the certificate authorities of this machine.
fn tls() -> TlsConfig {
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .build()
}
