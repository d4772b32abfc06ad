//! Validates the names of Kubernetes objects and images, and derives valid names.

use unlade_oci::{Source, reference};

/// The maximum length of the name of an object (DNS-1123 subdomain).
const MAX_LENGTH: usize = 253;
/// The maximum length of the name of a namespace (DNS-1123 label).
const MAX_NAMESPACE_LENGTH: usize = 63;

/// The maximum length of the name of a launch. The number of a Job and the random suffix of a pod
/// are appended to it, and the result must fit into a label.
const MAX_LAUNCH_LENGTH: usize = 52;

/// Why a name is invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// The name is not a DNS-1123 subdomain.
    #[error(
        "a name consists of lowercase letters, digits, `-` and `.`; each part between dots must \
         start and end with a letter or digit"
    )]
    Subdomain,
    /// The name has another kind than ConfigMap, such as `pod/a`.
    #[error("expected NAME or configmap/NAME")]
    Kind,
    /// The image is a file on this machine, such as `oci-archive:bundle.tar`.
    #[error(
        "the nodes pull the image, so it cannot be a file or directory on this machine; if this is \
         the name of an image, write docker.io/library/{0}"
    )]
    LocalImage(String),
    /// The name of a namespace is not a DNS-1123 label.
    #[error(
        "a namespace consists of lowercase letters, digits and `-`, and starts and ends with a \
         letter or digit"
    )]
    Label,
    /// The name of a launch is not a DNS-1123 label.
    #[error(
        "the name of a launch consists of lowercase letters, digits and `-`, and starts and ends \
         with a letter or digit"
    )]
    LaunchLabel,
    /// The name is longer than Kubernetes allows.
    #[error("longer than {0} characters")]
    TooLong(usize),
}

/// Checks the name of an object by the rule of the API server (DNS-1123 subdomain).
pub(crate) fn parse(text: &str) -> Result<String, Error> {
    if !text.split('.').all(is_label) {
        return Err(Error::Subdomain);
    }
    if text.len() > MAX_LENGTH {
        return Err(Error::TooLong(MAX_LENGTH));
    }
    Ok(text.to_owned())
}

/// Checks the name of a ConfigMap. It may start with its kind, as `-o name` prints it.
pub(crate) fn parse_config_map(text: &str) -> Result<String, Error> {
    match text.split_once('/') {
        None => parse(text),
        Some(("configmap" | "configmaps" | "cm", name)) => parse(name),
        Some(_) => Err(Error::Kind),
    }
}

/// Checks that `unlade unpack` would not read the image as a file on this machine.
///
/// The launcher checks the rest of the reference.
pub(crate) fn parse_image(text: &str) -> Result<String, Error> {
    match text.parse() {
        Ok(Source::Image(_)) | Err(reference::Error::Select { .. }) => {
            Err(Error::LocalImage(text.to_owned()))
        }
        _ => Ok(text.to_owned()),
    }
}

/// Checks the name of a namespace (DNS-1123 label).
pub(crate) fn parse_namespace(text: &str) -> Result<String, Error> {
    if !is_label(text) {
        return Err(Error::Label);
    }
    if text.len() > MAX_NAMESPACE_LENGTH {
        return Err(Error::TooLong(MAX_NAMESPACE_LENGTH));
    }
    Ok(text.to_owned())
}

/// Checks the name that a launch gives its ConfigMap, Jobs and labels.
pub(crate) fn parse_launch(text: &str) -> Result<String, Error> {
    if !is_label(text) {
        return Err(Error::LaunchLabel);
    }
    if text.len() > MAX_LAUNCH_LENGTH {
        return Err(Error::TooLong(MAX_LAUNCH_LENGTH));
    }
    Ok(text.to_owned())
}

/// Changes `text` into a valid name. Returns `None` if no character of it can be kept.
///
/// Most names of ClusterServiceVersions, such as `etcdoperator.v0.9.4`, are valid and do not
/// change.
pub(crate) fn from_text(text: &str) -> Option<String> {
    let legal: String = text
        .chars()
        .map(|character| match character.to_ascii_lowercase() {
            kept @ ('a'..='z' | '0'..='9' | '.' | '-') => kept,
            _ => '-',
        })
        .take(MAX_LENGTH)
        .collect();
    let labels = legal.split('.').map(|label| label.trim_matches('-'));
    let name = labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(".");
    Some(name).filter(|name| !name.is_empty())
}

fn is_label(text: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && is_edge(text.as_bytes().first())
        && is_edge(text.as_bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        for name in ["a", "etcdoperator.v0.9.4", "0.1", &"a".repeat(MAX_LENGTH)] {
            assert_eq!(parse(name).as_deref(), Ok(name));
        }
        for name in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "a.-b", "é"] {
            assert_eq!(parse(name), Err(Error::Subdomain), "{name}");
        }
        for text in ["a.b", "configmap/a.b", "configmaps/a.b", "cm/a.b"] {
            assert_eq!(parse_config_map(text).as_deref(), Ok("a.b"), "{text}");
        }
        assert_eq!(parse_config_map("pod/a"), Err(Error::Kind));
        assert_eq!(parse_config_map("configmap/a/b"), Err(Error::Subdomain));
        for text in ["oci:a", "oci-archive:a.tar", "docker-archive:a:b", "oci:a:@x"] {
            assert_eq!(parse_image(text), Err(Error::LocalImage(text.to_owned())), "{text}");
        }
        for text in ["a/b:1", "docker:27", "docker://a/b", "docker.io/library/oci:a", "./a"] {
            assert_eq!(parse_image(text).as_deref(), Ok(text));
        }
        assert_eq!(parse(&"a".repeat(MAX_LENGTH + 1)), Err(Error::TooLong(MAX_LENGTH)));
        assert_eq!(parse_namespace("a.b"), Err(Error::Label));
        assert_eq!(parse_namespace(&"a".repeat(64)), Err(Error::TooLong(MAX_NAMESPACE_LENGTH)));
        assert_eq!(parse_launch("a.b"), Err(Error::LaunchLabel));
        assert_eq!(parse_launch(&"a".repeat(53)), Err(Error::TooLong(MAX_LAUNCH_LENGTH)));
    }

    #[test]
    fn any_text_becomes_a_valid_name_or_none() {
        for (text, name) in [
            ("etcdoperator.v0.9.4", Some("etcdoperator.v0.9.4")),
            ("Operator_X v1.0+b", Some("operator-x-v1.0-b")),
            ("-.a.-", Some("a")),
            ("é日", None),
            ("", None),
            ("...", None),
        ] {
            assert_eq!(from_text(text).as_deref(), name, "{text}");
        }
        let long = from_text(&"a-.".repeat(200)).unwrap();
        assert_eq!(parse(&long).as_deref(), Ok(long.as_str()));
    }
}
