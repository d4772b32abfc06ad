//! Private entry points for fuzzing. They are not part of the API.

use std::path::Path;

use unlade_name::ImageReference;
use ureq::http::header::{CONTENT_RANGE, WWW_AUTHENTICATE};
use ureq::http::{HeaderMap, HeaderValue};

use crate::access::{Challenge, challenge, parse_token};
use crate::client::{resolve, start_of};
use crate::configuration::Rules;
use crate::credential;
use crate::error::words;
use crate::tls::Tls;

/// Reads the challenges of a registry, one on each line. Returns the realm of the token server, if
/// it names one.
pub fn challenges(lines: &[u8]) -> Option<String> {
    let mut headers = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(WWW_AUTHENTICATE, value);
        }
    }
    match challenge(&headers)? {
        Challenge::Bearer { realm, .. } => Some(realm),
        Challenge::Basic => None,
    }
}

/// Reads the response of a token server, and its message if it is an error.
pub fn token(body: &[u8]) -> Result<(), String> {
    let words = words(body);
    parse_token(body).map(drop).map_err(|problem| format!("{problem} {words}"))
}

/// Reads the first byte of a partial response.
pub fn range(value: &[u8]) -> Option<u64> {
    let value = HeaderValue::from_bytes(value).ok()?;
    start_of(&HeaderMap::from_iter([(CONTENT_RANGE, value)]))
}

/// Resolves a redirect.
pub fn redirect(location: &str) -> Option<String> {
    resolve("https://registry.example:5000/v2/a/blobs/x", location)
}

/// Reads a file with credentials, and the output of a credential helper. Returns the file that is
/// exported for `image`, if the first file contains a password for it.
pub fn credentials(bytes: &[u8], image: &ImageReference) -> Option<String> {
    credential::read_all(bytes, image)
}

/// Reads a registries.conf, and returns the places of `image`.
pub fn places(text: &str, image: &ImageReference) -> Result<Vec<ImageReference>, String> {
    let mut rules = Rules::default();
    let found =
        rules.parse(text, Path::new("registries.conf")).and_then(|()| rules.endpoints(image));
    let places = found.map_err(|error| unlade_text::chain(&error))?;
    Ok(places.into_iter().map(|endpoint| endpoint.image).collect())
}

/// Reads the certificates for `registry` in `directory`.
pub fn certificates(directory: &Path, registry: &str) -> Result<(), String> {
    let tls = Tls { directories: vec![directory.to_owned()], ..Tls::default() };
    tls.configs(registry, false).map(drop).map_err(|error| unlade_text::chain(&error))
}
