//! [`ImageReference`]: the name of an image, as the kubelet reads it.

use std::fmt;

#[cfg(test)]
mod tests;

/// Most bytes in the path of a repository (distribution/reference `RepositoryNameTotalLengthMax`).
const REPOSITORY_LENGTH: usize = 255;
/// Most bytes in a host: those of a DNS name.
const HOST_LENGTH: usize = 253;
/// Most bytes in a tag.
const TAG_LENGTH: usize = 128;
/// Most bytes of a reference in a message.
const QUOTED: usize = 200;

/// The registry of a reference that names none, and what it was called before.
pub(crate) const DEFAULT_REGISTRY: &str = "docker.io";
pub(crate) const FORMER_DEFAULT_REGISTRY: &str = "index.docker.io";

/// The name of an image: `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`.
///
/// The grammar is that of github.com/distribution/reference 0.6.0, by which the kubelet reads the
/// names in a pod (`ParseNormalizedNamed`), with one difference: a registry that no DNS name or
/// address can be, such as `my_host:5000`, is refused where that library takes it for a part of the
/// repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageReference {
    text: String,
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// A text is no reference of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reference:?} is no image reference: {problem}")]
pub struct Error {
    /// The text, or its beginning.
    pub reference: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Nothing at all.
    #[error("it is empty")]
    Empty,
    /// A URL.
    #[error("it begins with the scheme {scheme}://, which is to be left out")]
    Scheme {
        /// Such as `https`.
        scheme: String,
    },
    /// White space, such as a line's end, or a control character.
    #[error("it has a space or a character that can't be seen")]
    Space,
    /// 64 hex digits, by which container engines know an image's id.
    #[error("64 hex digits are the id of an image on one machine, not its name")]
    Identifier,
    /// The registry is neither a DNS name nor an address.
    #[error("its registry {registry:?} is no host with an optional port")]
    Registry {
        /// What stands before the first slash.
        registry: String,
    },
    /// A repository in capitals.
    #[error("its repository {repository:?} has upper-case letters")]
    UpperCase {
        /// The repository.
        repository: String,
    },
    /// The repository is none.
    #[error(
        "its repository {repository:?} is not made of lower-case letters and digits, with single \
         '.', '_', '__' or dashes between them, and '/' between its parts"
    )]
    Repository {
        /// The repository.
        repository: String,
    },
    /// The repository is too long.
    #[error("its repository is {length} bytes long; {REPOSITORY_LENGTH} are allowed")]
    TooLong {
        /// Its bytes.
        length: usize,
    },
    /// The tag is none.
    #[error(
        "its tag {tag:?} is not made of up to {TAG_LENGTH} letters, digits, '_', '.' and '-', the \
         first no '.' or '-'"
    )]
    Tag {
        /// The tag.
        tag: String,
    },
    /// The digest is none.
    #[error(
        "its digest {digest:?} is not sha256: and 64, sha384: and 96 or sha512: and 128 lower-case \
         hex digits"
    )]
    Digest {
        /// The digest.
        digest: String,
    },
}

impl ImageReference {
    /// Reads a reference.
    ///
    /// # Errors
    ///
    /// If the text is none; the message says which part of it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|problem| Error { reference: quoted(text), problem })
    }

    /// The text, exactly as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host of the registry with its port, if it has one; the default registry where the text
    /// names none.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path of the repository in its registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, if there is one. It has no meaning beside a digest.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, such as `sha256:` and 64 hex digits, if there is one.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Whether it names its content: with a digest. Else a tag is meant, `latest` if none is named.
    pub fn is_digest(&self) -> bool {
        self.digest.is_some()
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
        return Err(Problem::Scheme { scheme: quoted(scheme) });
    }
    if text.len() == 64 && text.bytes().all(is_lower_hex) {
        return Err(Problem::Identifier);
    }
    let (registry, rest) = split_registry(text);
    if !is_registry(registry) {
        return Err(Problem::Registry { registry: quoted(registry) });
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
        return Err(Problem::UpperCase { repository: quoted(path) });
    }
    if !path.split('/').all(is_component) {
        return Err(Problem::Repository { repository: quoted(path) });
    }
    let is_short = registry == DEFAULT_REGISTRY && !path.contains('/');
    let repository = if is_short { format!("library/{path}") } else { path.to_owned() };
    if repository.len() > REPOSITORY_LENGTH {
        return Err(Problem::TooLong { length: repository.len() });
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(Problem::Tag { tag: quoted(tag) });
    }
    if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
        return Err(Problem::Digest { digest: quoted(digest) });
    }
    Ok(ImageReference {
        text: text.to_owned(),
        registry: registry.to_owned(),
        repository,
        tag: tag.map(str::to_owned),
        digest: digest.map(str::to_owned),
    })
}

/// The registry and the rest. What stands before the first slash is a registry if it can't be a
/// part of a repository's path or is `localhost` (`splitDockerDomain`).
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
        // The colons of an IPv6 address are within brackets.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (registry, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| !host.is_empty() && host.bytes().all(|b| is_hex(b) || b == b':'));
    let is_name = host.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
    });
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    host.len() <= HOST_LENGTH && (is_address || is_name) && port.is_none_or(is_port)
}

/// Letters and digits, with `.`, `_`, `__` or any number of dashes between.
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
    tag.len() <= TAG_LENGTH
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

/// What of a text is shown in a message.
fn quoted(text: &str) -> String {
    if text.len() <= QUOTED {
        return text.to_owned();
    }
    let mut beginning = text.get(..text.floor_char_boundary(QUOTED)).unwrap_or_default().to_owned();
    beginning.push('…');
    beginning
}
