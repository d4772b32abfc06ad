//! [`Client`]: requests to one repository, with authentication, redirects, retries and limits.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use unlade_name::ImageReference;
use ureq::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE,
};
use ureq::http::{HeaderMap, Request, Response, StatusCode, Uri};
use ureq::{Agent, Body, SendBody};

use crate::access::{self, Access};
use crate::cache::Repository;
use crate::configuration::Endpoint;
use crate::connection::Connection;
use crate::error::words;
use crate::limit::{ANSWER, REDIRECTS};
use crate::retry::{Retry, asked_pause, is_transient};
use crate::{Error, Limits, Options, Progress};

/// The client of one repository.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
    pub(crate) image: ImageReference,
    pub(crate) limits: Limits,
    /// The place for the blobs of the repository.
    pub(crate) cache: Option<Repository>,
    pub(crate) progress: Option<Progress>,
    access: Access,
    authorization: Mutex<Authorization>,
}

/// What the client sends once the registry has asked for a login.
#[derive(Debug, Default)]
struct Authorization {
    /// The value of the header `Authorization`.
    value: Option<SecretString>,
    /// How many times the client has tried to log in.
    logins: usize,
    /// Why the last login failed, for the threads that waited for it.
    failure: Option<Arc<Error>>,
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
        endpoint: &Endpoint,
        actions: &'static str,
        options: &Options,
    ) -> Result<Self, Error> {
        let image = endpoint.image.clone();
        let insecure = endpoint.insecure || options.tls.insecure;
        let connection = options.connections.connect(&image, insecure, options)?;
        let login = endpoint.login(&options.login);
        let is_unverified = options.plain_http || insecure;
        let cache = options.cache.as_ref().map(|cache| cache.repository(&image, is_unverified));
        Ok(Self {
            connection,
            image,
            limits: options.limits.clone(),
            cache,
            progress: options.progress.clone(),
            access: Access { actions, login, origin: Mutex::default() },
            authorization: Mutex::default(),
        })
    }

    /// Returns the address of the registry, such as `https://registry.example:5000`. If it may have
    /// no TLS, finds out whether it has.
    fn base(&self) -> String {
        let base = |scheme| format!("{scheme}://{}", self.image.host());
        let Connection { agent, is_plain, .. } = &self.connection;
        let is_plain = is_plain.get_or_init(|| {
            let answers = |scheme| agent.get(format!("{}/v2/", base(scheme))).call();
            // A timeout does not show that the registry has no TLS, so it does not count.
            let is_wrong = |error| matches!(error, ureq::Error::Io(_) | ureq::Error::Tls(_));
            answers("https").is_err_and(is_wrong) && answers("http").is_ok()
        });
        base(if *is_plain { "http" } else { "https" })
    }

    /// Returns the address of something in the repository, such as `manifests/latest`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.base(), self.image.repository())
    }

    /// Returns the address of the API itself.
    pub(crate) fn root(&self) -> String {
        format!("{}/v2/", self.base())
    }

    /// Sends a request, logs in if the registry asks for it, and tries again after a failure that
    /// can pass. The last answer is returned, whatever its status is.
    pub(crate) fn ask(&self, ask: &Ask<'_>) -> Result<Response<Body>, Error> {
        let logins = self.logins();
        let (answer, is_here) = self.retry(|| self.follow(ask))?;
        if answer.status() != StatusCode::UNAUTHORIZED || !is_here {
            return Ok(answer);
        }
        self.log_in(answer.headers(), logins)?;
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
        self.access.origin.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many times the client has tried to log in.
    pub(crate) fn logins(&self) -> usize {
        self.authorization().logins
    }

    /// Gets what the challenge of the registry asks for, unless another thread has tried so since
    /// there were `logins`. Other requests wait meanwhile.
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
        self.connection.guard.check_literal(&uri).map_err(forbidden)
    }

    /// Checks whether `url` is at the registry, which receives the login. Other hosts do not.
    fn is_here(&self, url: &str) -> bool {
        url.strip_prefix(&self.base()).is_some_and(|path| path.starts_with('/'))
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
        let agent = self.agent_for(url);
        let request = agent.configure_request(request);
        let time = self.limits.time_for(ask.size);
        agent.run(request.timeout_recv_body(Some(time)).build()).map_err(Error::http(what()))
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
        let agent = self.agent_for(url);
        let request = agent.configure_request(request);
        let request = request
            .timeout_send_body(Some(self.limits.time_for_upload(size)))
            .timeout_recv_body(Some(self.limits.patience))
            .build();
        agent.run(request).map_err(Error::http(what()))
    }

    /// Returns the agent for `url`. Only the one for the registry itself presents the certificate of
    /// the client.
    pub(crate) fn agent_for(&self, url: &str) -> &Agent {
        if self.is_here(url) { &self.connection.agent } else { &self.connection.others }
    }

    fn request(&self, method: &str, url: &str) -> ureq::http::request::Builder {
        let request = Request::builder().method(method).uri(url);
        match self.authorization().value.as_ref().filter(|_| self.is_here(url)) {
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
