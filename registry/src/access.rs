//! Authentication, as a registry asks for it (distribution-spec; `token.md` and `oauth.md` of the
//! CNCF registry).

use std::sync::{Mutex, PoisonError};

use http_auth::{ChallengeParser, ChallengeRef};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use ureq::http::header::WWW_AUTHENTICATE;
use ureq::http::{HeaderMap, StatusCode};

use crate::Error;
use crate::client::{Client, read_body, resolve};
use crate::credential::{Auth, Credentials, Found, Identity};
use crate::limit::RESPONSE;

/// What a client needs for a registry that requires credentials.
#[derive(Debug)]
pub(crate) struct Access {
    /// What a token must allow: `pull` or `pull,push`.
    pub(crate) actions: &'static str,
    pub(crate) auth: Auth,
    /// Where the credentials were found, for messages.
    pub(crate) origin: Mutex<Option<String>>,
}

/// A token server's response; older ones say `access_token`.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// A challenge that a client can meet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Bearer { realm: String, service: Option<String> },
    Basic,
}

/// Returns the value of `Authorization` that the challenge in `headers` asks for. Returns `None` if
/// it cannot be met, so that the registry denies access.
pub(crate) fn authorize(
    client: &Client,
    access: &Access,
    headers: &HeaderMap,
) -> Result<Option<SecretString>, Error> {
    let Some(challenge) = challenge(headers) else { return Ok(None) };
    let registry = client.image.registry();
    let found = access.auth.find(&client.image, &client.limits);
    let found =
        found.map_err(|source| Error::Credentials { registry: registry.to_owned(), source })?;
    let identity = found.map(|Found { identity, origin }| {
        *access.origin.lock().unwrap_or_else(PoisonError::into_inner) = Some(origin);
        identity
    });
    match (challenge, identity) {
        (Challenge::Basic, Some(Identity::Password(credentials))) => Ok(Some(basic(&credentials))),
        (Challenge::Basic, _) => Ok(None),
        (Challenge::Bearer { realm, service }, identity) => {
            let scope = format!("repository:{}:{}", client.image.repository(), access.actions);
            let token =
                request_token(client, &realm, service.as_deref(), &scope, identity.as_ref())?;
            Ok(Some(format!("Bearer {}", token.expose_secret()).into()))
        }
    }
}

/// Returns the challenge to meet: a token is better than a password with each request.
pub(crate) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let mut is_basic = false;
    for challenge in values.flat_map(|value| ChallengeParser::new(value).map_while(Result::ok)) {
        if challenge.scheme.eq_ignore_ascii_case("Basic") {
            is_basic = true;
        }
        let is_bearer = challenge.scheme.eq_ignore_ascii_case("Bearer");
        if let Some(realm) = parameter(&challenge, "realm").filter(|_| is_bearer) {
            return Some(Challenge::Bearer { realm, service: parameter(&challenge, "service") });
        }
    }
    is_basic.then_some(Challenge::Basic)
}

fn parameter(challenge: &ChallengeRef<'_>, key: &str) -> Option<String> {
    let found = challenge.params.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
    found.map(|(_, value)| value.to_unescaped())
}

/// Requests a token from the server that the registry names. Its redirects are not followed.
fn request_token(
    client: &Client,
    realm: &str,
    service: Option<&str>,
    scope: &str,
    identity: Option<&Identity>,
) -> Result<SecretString, Error> {
    // The address without its query, which can contain anything.
    let what = format!("a token at {}", realm.split(['?', '#']).next().unwrap_or_default());
    let is_absolute = resolve(realm, realm).is_some();
    if !is_absolute {
        return Err(Error::Invalid {
            what: "the challenge of the registry".to_owned(),
            problem: "its realm is not an HTTP address".to_owned(),
        });
    }
    client.check(realm, &what)?;
    let time = Some(client.limits.patience);
    // The registry can be its own token server, and then requires its certificate here too.
    let agent = client.agent_for(realm);
    let mut response = client.retry(|| {
        let response = if let Some(Identity::Token(token)) = identity {
            let form = [
                ("grant_type", "refresh_token"),
                ("service", service.unwrap_or_default()),
                ("client_id", "unlade"),
                ("scope", scope),
                ("refresh_token", token.expose_secret()),
            ];
            let request = agent.post(realm);
            request.config().timeout_recv_body(time).build().send_form(form)
        } else {
            let mut request = agent.get(realm).query("scope", scope);
            if let Some(service) = service {
                request = request.query("service", service);
            }
            if let Some(Identity::Password(credentials)) = identity {
                request = request.header("Authorization", basic(credentials).expose_secret());
            }
            request.config().timeout_recv_body(time).build().call()
        };
        response.map_err(Error::http(what.clone()))
    })?;
    let body = read_body(&mut response, RESPONSE, &what)?;
    if response.status() != StatusCode::OK {
        return Err(client.refusal(response.status(), &body, what));
    }
    parse_token(&body).map_err(|problem| Error::Invalid { what, problem: problem.to_owned() })
}

/// Returns the token in the response of a token server, or what is wrong with the response.
pub(crate) fn parse_token(body: &[u8]) -> Result<SecretString, &'static str> {
    // The error's own message may quote the token.
    let token: Token = serde_json::from_slice(body).map_err(|_| "it is not a token")?;
    let token = token.token.or(token.access_token).filter(|token| !token.is_empty());
    let token = token.ok_or("it does not contain a token")?;
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("its token contains invalid characters");
    }
    Ok(token.into())
}

fn basic(credentials: &Credentials) -> SecretString {
    format!("Basic {}", credentials.encode()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&'static str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, ureq::http::HeaderValue::from_static(value));
        }
        challenge(&headers)
    }

    #[test]
    fn a_token_is_preferred_to_a_password() {
        let realm = "https://a.example/token".to_owned();
        let bearer = Challenge::Bearer { realm, service: Some("a.example".to_owned()) };
        let value = r#"Bearer realm="https://a.example/token",service="a.example",scope="x,y""#;
        assert_eq!(of(&[value]).as_ref(), Some(&bearer));
        assert_eq!(of(&[r#"Basic realm="a""#, value]).as_ref(), Some(&bearer));
        assert_eq!(of(&[r#"basic realm="a""#]), Some(Challenge::Basic));
        for none in [&[][..], &[""], &["Bearer"], &["Negotiate"], &[r#"Bearer service="x""#]] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }
}
