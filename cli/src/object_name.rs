//! Validates the names of Kubernetes objects and images, and derives valid names.

use unlade_launcher::MAX_NAME_LENGTH;
use unlade_name::{MAX_LABEL, MAX_SUBDOMAIN, check_label, check_subdomain};
use unlade_oci::{Source, reference};

/// Why a name is invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// The name is not one of Kubernetes.
    #[error(transparent)]
    Name(#[from] unlade_name::Error),
    /// The name has a kind other than ConfigMap, such as `pod/a`.
    #[error("expected NAME or configmap/NAME")]
    Kind,
    /// The image is a file on this machine, such as `oci-archive:bundle.tar`.
    #[error(
        "the nodes pull the image, so it cannot be a file or directory on this machine; if this is \
         the name of an image, use docker.io/library/{0}"
    )]
    LocalImage(String),
}

/// Checks the name of an object (DNS subdomain).
pub(crate) fn parse(text: &str) -> Result<String, Error> {
    check_subdomain(text)?;
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

/// Checks the name of a namespace (DNS label).
pub(crate) fn parse_namespace(text: &str) -> Result<String, Error> {
    check_label(text, MAX_LABEL)?;
    Ok(text.to_owned())
}

/// Checks the name that a launch gives its ConfigMap, Jobs and labels.
pub(crate) fn parse_launch(text: &str) -> Result<String, Error> {
    check_label(text, MAX_NAME_LENGTH)?;
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
        .take(MAX_SUBDOMAIN)
        .collect();
    let labels = legal.split('.').map(|label| label.trim_matches('-'));
    let name = labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(".");
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_objects_and_images_of_this_machine_are_refused() {
        assert_eq!(parse("etcdoperator.v0.9.4").as_deref(), Ok("etcdoperator.v0.9.4"));
        assert_eq!(parse("a_b"), Err(unlade_name::Error::Subdomain.into()));
        for text in ["a.b", "configmap/a.b", "configmaps/a.b", "cm/a.b"] {
            assert_eq!(parse_config_map(text).as_deref(), Ok("a.b"), "{text}");
        }
        assert_eq!(parse_config_map("pod/a"), Err(Error::Kind));
        assert_eq!(parse_config_map("configmap/a/b"), Err(unlade_name::Error::Subdomain.into()));
        for text in ["oci:a", "oci-archive:a.tar", "docker-archive:a:b", "oci:a:@x"] {
            assert_eq!(parse_image(text), Err(Error::LocalImage(text.to_owned())), "{text}");
        }
        for text in ["a/b:1", "docker:27", "docker://a/b", "docker.io/library/oci:a", "./a"] {
            assert_eq!(parse_image(text).as_deref(), Ok(text));
        }
        assert_eq!(parse_namespace("a.b"), Err(unlade_name::Error::Label.into()));
        assert_eq!(parse_namespace(&"a".repeat(64)), Err(unlade_name::Error::TooLong(63).into()));
        assert_eq!(parse_launch("a.b"), Err(unlade_name::Error::Label.into()));
        assert_eq!(parse_launch(&"a".repeat(53)), Err(unlade_name::Error::TooLong(52).into()));
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
