//! [`ImageReference`]: parses references of images as the kubelet does.

use std::fmt;
use std::str::FromStr;

use unlade_text::excerpt;

use crate::{MAX_SUBDOMAIN, is_word};

#[cfg(test)]
mod tests;

/// The maximum length of a repository's path, in bytes (distribution/reference
/// `RepositoryNameTotalLengthMax`).
const MAX_REPOSITORY: usize = 255;
/// The maximum length of a tag, in bytes.
const MAX_TAG: usize = 128;

/// The registry of a reference without one.
pub const DEFAULT_REGISTRY: &str = "docker.io";
/// The former name of [`DEFAULT_REGISTRY`].
pub const FORMER_DEFAULT_REGISTRY: &str = "index.docker.io";
/// The host that serves the API of [`DEFAULT_REGISTRY`].
const DEFAULT_HOST: &str = "registry-1.docker.io";
/// The tag of a reference without a tag and a digest.
pub const DEFAULT_TAG: &str = "latest";

/// The reference of an image: `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`.
///
/// The grammar is that of github.com/distribution/reference 0.6.0, which the kubelet uses for the
/// images of a pod (`ParseNormalizedNamed`), with one difference: a registry that is neither a DNS
/// name nor an address, such as `my_host:5000`, is an error. That library treats it as a part of
/// the repository.
///
/// ```
/// use unlade_name::ImageReference;
///
/// let image: ImageReference = "etcd:3.6".parse()?;
/// assert_eq!((image.registry(), image.repository()), ("docker.io", "library/etcd"));
/// assert_eq!(image.normalized(), "docker.io/library/etcd:3.6");
/// # Ok::<(), unlade_name::image::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageReference {
    text: String,
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// The error of an invalid image reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reference:?} is not a valid image reference: {problem}")]
pub struct Error {
    /// The text, or its beginning.
    pub reference: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// The text is a URL.
    #[error("it must not begin with the scheme {scheme}://")]
    Scheme {
        /// The scheme, such as `https`.
        scheme: String,
    },
    /// The text contains whitespace, such as a line break, or a control character.
    #[error("it contains whitespace or a control character")]
    Space,
    /// The text has 64 hex digits, as the ids of images in container engines do.
    #[error("it is the ID of an image on one machine, not an image reference")]
    Identifier,
    /// The registry is neither a DNS name nor an address.
    #[error("its registry {registry:?} is not a host with an optional port")]
    Registry {
        /// The text before the first slash.
        registry: String,
    },
    /// The repository has uppercase letters.
    #[error("its repository {repository:?} has uppercase letters")]
    UpperCase {
        /// The repository.
        repository: String,
    },
    /// The repository is invalid.
    #[error(
        "its repository {repository:?} may only have lowercase letters and digits, with a single '.', '_', '__' or dashes between them, and '/' between its parts"
    )]
    Repository {
        /// The repository.
        repository: String,
    },
    /// The repository is too long.
    #[error("its repository is {length} bytes long; at most {MAX_REPOSITORY} are allowed")]
    TooLong {
        /// The length of the repository, in bytes.
        length: usize,
    },
    /// The tag is invalid.
    #[error(
        "its tag {tag:?} may only have up to {MAX_TAG} letters, digits, '_', '.' and '-', and must not begin with '.' or '-'"
    )]
    Tag {
        /// The tag.
        tag: String,
    },
    /// The digest is invalid.
    #[error(
        "its digest {digest:?} must be sha256:, sha384: or sha512:, followed by 64, 96 or 128 lowercase hex digits respectively"
    )]
    Digest {
        /// The digest.
        digest: String,
    },
}

impl ImageReference {
    /// Parses a reference.
    ///
    /// # Errors
    ///
    /// Returns an error if the reference is invalid. The message names the part that is.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|problem| Error { reference: excerpt::shorten(text), problem })
    }

    /// Returns the text exactly as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the name of the registry: its host with its port, if it has one. Returns
    /// [`DEFAULT_REGISTRY`] if the text does not name a registry.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the host, with its port if it has one, that serves the API of the registry.
    /// It differs from [`ImageReference::registry`] for [`DEFAULT_REGISTRY`] only.
    pub fn host(&self) -> &str {
        if self.registry == DEFAULT_REGISTRY { DEFAULT_HOST } else { &self.registry }
    }

    /// Returns the path of the repository in its registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag, if there is one. A tag is ignored if there is also a digest.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest, such as `sha256:` and 64 hex digits, if there is one.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns the reference with the registry, the repository and the tag that Docker adds, so
    /// that two references of the same image are equal (distribution/reference `TagNameOnly`).
    pub fn normalized(&self) -> String {
        let mut text = format!("{}/{}", self.registry, self.repository);
        let default = self.digest.is_none().then_some(DEFAULT_TAG);
        for (separator, part) in [(':', self.tag().or(default)), ('@', self.digest())] {
            if let Some(part) = part {
                text.push(separator);
                text.push_str(part);
            }
        }
        text
    }

    /// Checks whether the reference has a digest, which identifies the content. Otherwise it refers
    /// to a tag, which is `latest` by default.
    pub fn is_digest(&self) -> bool {
        self.digest.is_some()
    }
}

impl FromStr for ImageReference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse(text: &str) -> Result<ImageReference, Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Problem::Space);
    }
    if let Some((scheme, _)) = text.split_once("://") {
        return Err(Problem::Scheme { scheme: excerpt::shorten(scheme) });
    }
    if text.len() == 64 && text.bytes().all(is_lower_hex) {
        return Err(Problem::Identifier);
    }
    let (registry, rest) = split_registry(text);
    if !is_registry(registry) {
        return Err(Problem::Registry { registry: excerpt::shorten(registry) });
    }
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (rest, None),
    };
    let (path, tag) = match rest.split_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (rest, None),
    };
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(Problem::UpperCase { repository: excerpt::shorten(path) });
    }
    if !path.split('/').all(is_component) {
        return Err(Problem::Repository { repository: excerpt::shorten(path) });
    }
    let is_short = registry == DEFAULT_REGISTRY && !path.contains('/');
    let repository = if is_short { format!("library/{path}") } else { path.to_owned() };
    if repository.len() > MAX_REPOSITORY {
        return Err(Problem::TooLong { length: repository.len() });
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(Problem::Tag { tag: excerpt::shorten(tag) });
    }
    if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
        return Err(Problem::Digest { digest: excerpt::shorten(digest) });
    }
    Ok(ImageReference {
        text: text.to_owned(),
        registry: registry.to_owned(),
        repository,
        tag: tag.map(str::to_owned),
        digest: digest.map(str::to_owned),
    })
}

/// Splits a reference into the registry and the rest. The text before the first slash is a registry
/// if it is `localhost` or cannot be a part of a repository's path (`splitDockerDomain`).
fn split_registry(text: &str) -> (&str, &str) {
    let Some((first, rest)) = text.split_once('/') else { return (DEFAULT_REGISTRY, text) };
    let is_host = first.contains(['.', ':'])
        || first == "localhost"
        || first.bytes().any(|byte| byte.is_ascii_uppercase());
    match first {
        FORMER_DEFAULT_REGISTRY => (DEFAULT_REGISTRY, rest),
        _ if is_host => (first, rest),
        _ => (DEFAULT_REGISTRY, text),
    }
}

fn is_registry(registry: &str) -> bool {
    let (host, port) = match registry.rsplit_once(':') {
        // A colon within brackets belongs to an IPv6 address.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (registry, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| !host.is_empty() && host.bytes().all(|b| is_hex(b) || b == b':'));
    let is_name = host.split('.').all(|label| is_word(label, u8::is_ascii_alphanumeric, b"-"));
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    host.len() <= MAX_SUBDOMAIN && (is_address || is_name) && port.is_none_or(is_port)
}

/// Checks a part of a repository's path: letters and digits, separated by `.`, `_`, `__` or any
/// number of dashes.
fn is_component(component: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator = |text: &str| {
        matches!(text, "." | "_" | "__") || (!text.is_empty() && text.bytes().all(|b| b == b'-'))
    };
    let mut rest = component;
    loop {
        let letters = rest.len() - rest.trim_start_matches(is_letter).len();
        let (word, after) = rest.split_at(letters);
        if word.is_empty() {
            return false;
        }
        if after.is_empty() {
            return true;
        }
        let (separator, word) = after.split_at(after.find(is_letter).unwrap_or(after.len()));
        if !is_separator(separator) {
            return false;
        }
        rest = word;
    }
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let first = tag.bytes().next();
    tag.len() <= MAX_TAG
        && first.is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, digits)| {
        let length = match algorithm {
            "sha256" => 64,
            "sha384" => 96,
            "sha512" => 128,
            _ => return false,
        };
        digits.len() == length && digits.bytes().all(is_lower_hex)
    })
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_lower_hex(byte: u8) -> bool {
    is_hex(byte) && !byte.is_ascii_uppercase()
}
