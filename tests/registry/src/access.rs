//! The authentication that a registry requires (distribution, `token.md`).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use unlade_name::ImageReference;

use crate::push::{Credentials, Error, MOST_ANSWER};

/// A token server's answer; older ones say `access_token`.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// The `Authorization` that the challenge in `WWW-Authenticate` asks for; none without one that
/// can be met.
pub(crate) fn authorization(
    agent: &ureq::Agent,
    challenge: &str,
    image: &ImageReference,
    credentials: Option<&Credentials>,
) -> Result<Option<String>, Error> {
    let basic = credentials.map(|Credentials { user, password }| {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
    });
    let Some(("Bearer", parameters)) = challenge.split_once(' ') else { return Ok(basic) };
    let Some(realm) = parameter(parameters, "realm") else { return Ok(None) };
    let mut request =
        agent.get(realm).query("scope", format!("repository:{}:pull,push", image.repository()));
    if let Some(service) = parameter(parameters, "service") {
        request = request.query("service", service);
    }
    if let Some(basic) = basic {
        request = request.header("Authorization", basic);
    }
    let what = || format!("a token at {realm}");
    let mut answer = request.call().map_err(Error::http(what()))?;
    if answer.status() != 200 {
        return Err(Error::Refused { what: what(), status: answer.status().to_string() });
    }
    let bytes = answer.body_mut().with_config().limit(MOST_ANSWER).read_to_vec();
    let bytes = bytes.map_err(Error::http(what()))?;
    let token: Token = serde_json::from_slice(&bytes)
        .map_err(|_| Error::Refused { what: what(), status: "no token".to_owned() })?;
    Ok(token.token.or(token.access_token).map(|token| format!("Bearer {token}")))
}

/// The value of `key="value"`.
fn parameter<'a>(parameters: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = parameters.split_once(&format!("{key}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn parameters_of_a_challenge_are_found() {
        let challenge = r#"realm="https://a.example/token",service="a.example",scope="x,y""#;
        assert_eq!(parameter(challenge, "realm"), Some("https://a.example/token"));
        assert_eq!(parameter(challenge, "service"), Some("a.example"));
        assert_eq!(parameter(challenge, "error"), None);
    }
}
