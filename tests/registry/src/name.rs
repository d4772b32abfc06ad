//! The name of an image in a registry.

use std::fmt;
use std::str::FromStr;

/// An image in a registry: `HOST[:PORT]/REPOSITORY[:TAG]`.
///
/// Unlike in Docker, the host has no default, so that an image is only pushed where the name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The host, with an optional port after a colon.
    pub registry: String,
    /// The repository, such as `bundles/etcd`.
    pub repository: String,
    /// The tag; `latest` by default.
    pub tag: String,
}

/// A text that is not the name of an image in a registry.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not of the form HOST[:PORT]/REPOSITORY[:TAG]")]
pub struct NameError {
    /// The text.
    pub text: String,
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let error = || NameError { text: text.to_owned() };
        let (registry, path) = text.split_once('/').ok_or_else(error)?;
        let (repository, tag) = path.rsplit_once(':').unwrap_or((path, "latest"));
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        // The grammar of the distribution spec; what is in it needs no escape in a URL.
        let is_part = |part: &str| {
            let ends = [part.bytes().next(), part.bytes().last()];
            ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
                && part.bytes().all(|byte| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)
                })
        };
        let is_tag = (1..=128).contains(&tag.len())
            && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if registry.is_empty() || !registry.bytes().all(is_host) {
            return Err(error());
        }
        if !repository.split('/').all(is_part) || !is_tag {
            return Err(error());
        }
        let [registry, repository, tag] = [registry, repository, tag].map(str::to_owned);
        Ok(Self { registry, repository, tag })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}", self.registry, self.repository, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (text, full) in [
            ("localhost:5000/a/b:v1", "localhost:5000/a/b:v1"),
            ("10.0.0.1/a-b.c_d", "10.0.0.1/a-b.c_d:latest"),
        ] {
            assert_eq!(text.parse::<Name>().unwrap().to_string(), full);
        }
        for text in
            ["", "etcd:v1", "host/", "host/A", "host/a:", "host/a//b", "host/a?x=1", "h/-a", "@/a"]
        {
            assert!(text.parse::<Name>().is_err(), "{text}");
        }
    }
}
