//! Names of Kubernetes objects and of images.

use unlade_oci::{Source, reference};

/// Longest name of an object (DNS-1123 subdomain).
const LONGEST: usize = 253;
/// Longest name of a namespace (DNS-1123 label).
const LONGEST_NAMESPACE: usize = 63;

/// Longest name of what a launch makes: a Job's number, and a pod's random part, have to fit behind
/// it into a label.
const LONGEST_LAUNCH: usize = 52;

/// Why a text is no name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// A character that names do not hold, or one at the wrong place.
    #[error(
        "a name has lower case letters, digits, `-` and `.`, and starts and ends with a letter or \
         digit, also beside each `.`"
    )]
    Subdomain,
    /// An object of another kind than ConfigMap, such as `pod/a`.
    #[error("expected NAME or configmap/NAME")]
    Kind,
    /// An image on this machine, such as `oci-archive:bundle.tar`.
    #[error(
        "the nodes pull the image, so it cannot be a file or directory on this machine; write \
         docker.io/library/{0} if that is its name"
    )]
    LocalImage(String),
    /// The same for namespaces.
    #[error(
        "a namespace has lower case letters, digits and `-`, and starts and ends with a letter or \
         digit"
    )]
    Label,
    /// The same for what becomes a label's value.
    #[error(
        "here a name has lower case letters, digits and `-`, and starts and ends with a letter or \
         digit"
    )]
    LaunchLabel,
    /// Longer than Kubernetes takes.
    #[error("longer than {0} characters")]
    TooLong(usize),
}

/// Checks the name of an object by the rule of the API server (DNS-1123 subdomain).
pub(crate) fn parse(text: &str) -> Result<String, Error> {
    if !text.split('.').all(is_label) {
        return Err(Error::Subdomain);
    }
    if text.len() > LONGEST {
        return Err(Error::TooLong(LONGEST));
    }
    Ok(text.to_owned())
}

/// Checks the name of a ConfigMap, which may have its kind before it, as `-o name` prints it.
pub(crate) fn parse_config_map(text: &str) -> Result<String, Error> {
    match text.split_once('/') {
        None => parse(text),
        Some(("configmap" | "configmaps" | "cm", name)) => parse(name),
        Some(_) => Err(Error::Kind),
    }
}

/// Checks that an image is not one that only `unlade unpack` reads, by the rule that `unpack` uses.
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
    if text.len() > LONGEST_NAMESPACE {
        return Err(Error::TooLong(LONGEST_NAMESPACE));
    }
    Ok(text.to_owned())
}

/// Checks the name that a launch gives its ConfigMap, Jobs and labels.
pub(crate) fn parse_launch(text: &str) -> Result<String, Error> {
    if !is_label(text) {
        return Err(Error::LaunchLabel);
    }
    if text.len() > LONGEST_LAUNCH {
        return Err(Error::TooLong(LONGEST_LAUNCH));
    }
    Ok(text.to_owned())
}

/// `text` made a legal name; none if nothing of it can be kept.
///
/// The names of most ClusterServiceVersions (`etcdoperator.v0.9.4`) are legal and stay as they are.
pub(crate) fn from_text(text: &str) -> Option<String> {
    let legal: String = text
        .chars()
        .map(|character| match character.to_ascii_lowercase() {
            kept @ ('a'..='z' | '0'..='9' | '.' | '-') => kept,
            _ => '-',
        })
        .take(LONGEST)
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
        for name in ["a", "etcdoperator.v0.9.4", "0.1", &"a".repeat(LONGEST)] {
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
        assert_eq!(parse(&"a".repeat(LONGEST + 1)), Err(Error::TooLong(LONGEST)));
        assert_eq!(parse_namespace("a.b"), Err(Error::Label));
        assert_eq!(parse_namespace(&"a".repeat(64)), Err(Error::TooLong(LONGEST_NAMESPACE)));
        assert_eq!(parse_launch("a.b"), Err(Error::LaunchLabel));
        assert_eq!(parse_launch(&"a".repeat(53)), Err(Error::TooLong(LONGEST_LAUNCH)));
    }

    #[test]
    fn any_text_becomes_a_legal_name_or_none() {
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
