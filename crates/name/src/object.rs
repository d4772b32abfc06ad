//! The names of objects and namespaces.

use crate::{Error, is_word};

/// The maximum length of a DNS label (RFC 1123), such as the name of a namespace, in bytes.
pub const MAX_LABEL: usize = 63;
/// The maximum length of a DNS subdomain (RFC 1123), such as the name of a ConfigMap, in bytes.
pub const MAX_SUBDOMAIN: usize = 253;

/// Checks that `name` is a DNS label of at most `max` bytes (apimachinery `IsDNS1123Label` with
/// [`MAX_LABEL`]).
///
/// # Errors
///
/// Returns [`Error::Label`] or [`Error::TooLong`].
pub fn check_label(name: &str, max: usize) -> Result<(), Error> {
    if !is_label(name) {
        return Err(Error::Label);
    }
    if name.len() > max { Err(Error::TooLong(max)) } else { Ok(()) }
}

/// Checks that `name` is a DNS subdomain (apimachinery `IsDNS1123Subdomain`). Kubernetes does not
/// limit its parts to [`MAX_LABEL`] bytes.
///
/// # Errors
///
/// Returns [`Error::Subdomain`] or [`Error::TooLong`].
pub fn check_subdomain(name: &str) -> Result<(), Error> {
    if !name.split('.').all(is_label) {
        return Err(Error::Subdomain);
    }
    if name.len() > MAX_SUBDOMAIN { Err(Error::TooLong(MAX_SUBDOMAIN)) } else { Ok(()) }
}

fn is_label(text: &str) -> bool {
    is_word(text, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        let (label, longer) = ("a".repeat(MAX_LABEL), "a".repeat(MAX_LABEL + 1));
        for (name, is_label, is_subdomain) in [
            ("a", true, true),
            ("a-1", true, true),
            ("1a", true, true),
            ("etcd-0-9-4", true, true),
            ("etcdoperator.v0.9.4", false, true),
            ("a.b-c.d", false, true),
            (label.as_str(), true, true),
            (longer.as_str(), false, true),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a.", false, false),
            (".a", false, false),
            ("a..b", false, false),
            ("a.-b", false, false),
            ("A", false, false),
            ("a/b", false, false),
            ("..", false, false),
            ("a?b", false, false),
            ("a#b", false, false),
            ("a%2fb", false, false),
            ("a\r\nb", false, false),
            ("a\n", false, false),
            ("a_b", false, false),
            ("é", false, false),
        ] {
            assert_eq!(check_label(name, MAX_LABEL).is_ok(), is_label, "{name:?}");
            assert_eq!(check_subdomain(name).is_ok(), is_subdomain, "{name:?}");
        }
    }

    #[test]
    fn names_that_are_too_long_are_refused_with_the_limit() {
        assert_eq!(check_label(&"a".repeat(53), 52), Err(Error::TooLong(52)));
        assert_eq!(check_subdomain(&"a".repeat(253)), Ok(()));
        assert_eq!(check_subdomain(&"a".repeat(254)), Err(Error::TooLong(253)));
    }
}
