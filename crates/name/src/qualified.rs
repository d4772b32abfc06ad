//! The keys of labels and annotations, and the values of labels.

use crate::{Error, MAX_LABEL, MAX_SUBDOMAIN, check_subdomain, is_word};

/// Checks the key of a label, such as `example.com/team` (apimachinery `IsLabelKey`).
///
/// # Errors
///
/// Returns an error that says which part of the key is wrong.
pub fn check_label_key(key: &str) -> Result<(), Error> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return Err(Error::Slashes),
        Some(("", _)) => return Err(Error::EmptyPrefix),
        Some((prefix, _)) if prefix.len() > MAX_SUBDOMAIN => return Err(Error::PrefixTooLong),
        Some((prefix, _)) if check_subdomain(prefix).is_err() => return Err(Error::Prefix),
        Some((_, name)) => name,
    };
    if name.is_empty() {
        Err(Error::EmptyName)
    } else if name.len() > MAX_LABEL {
        Err(Error::NameTooLong)
    } else if !is_value(name) {
        Err(Error::Name)
    } else {
        Ok(())
    }
}

/// Checks the key of an annotation: the rules are those of a label, but in any letter case
/// (apimachinery `ValidateAnnotations`).
///
/// # Errors
///
/// Returns an error that says which part of the key is wrong.
pub fn check_annotation_key(key: &str) -> Result<(), Error> {
    // Go converts the key to lower case before it validates it. These are the two characters
    // outside ASCII whose lower case is in ASCII.
    let key = key.replace('\u{212a}', "k").replace('\u{130}', "i").to_ascii_lowercase();
    check_label_key(&key)
}

/// Checks the value of a label (apimachinery `IsLabelValue`).
///
/// # Errors
///
/// Returns [`Error::Value`] or [`Error::ValueTooLong`].
pub fn check_label_value(value: &str) -> Result<(), Error> {
    if value.len() > MAX_LABEL {
        Err(Error::ValueTooLong)
    } else if !value.is_empty() && !is_value(value) {
        Err(Error::Value)
    } else {
        Ok(())
    }
}

fn is_value(text: &str) -> bool {
    is_word(text, u8::is_ascii_alphanumeric, b"-_.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(length: usize) -> String {
        format!("{}/a", "p".repeat(length))
    }

    #[test]
    fn keys_are_those_that_kubernetes_accepts() {
        for key in [
            "a",
            "A_b-c.D",
            "example.com/Team",
            "a.b/c",
            "kubernetes.io/a",
            &"n".repeat(63),
            &prefix(253),
        ] {
            assert_eq!(check_label_key(key), Ok(()), "{key}");
            assert_eq!(check_annotation_key(key), Ok(()), "{key}");
        }
        for (key, error) in [
            ("", Error::EmptyName),
            ("a/", Error::EmptyName),
            ("/a", Error::EmptyPrefix),
            ("a/b/c", Error::Slashes),
            ("a b", Error::Name),
            ("-a", Error::Name),
            ("a.", Error::Name),
            ("ä", Error::Name),
            ("a_b/c", Error::Prefix),
            ("a..b/c", Error::Prefix),
            (".a/c", Error::Prefix),
            ("a-/c", Error::Prefix),
            (&"n".repeat(64), Error::NameTooLong),
            (&prefix(254), Error::PrefixTooLong),
        ] {
            assert_eq!(check_label_key(key), Err(error), "{key}");
            assert_eq!(check_annotation_key(key), Err(error), "{key}");
        }
    }

    #[test]
    fn only_annotations_may_have_capitals_in_their_prefix() {
        assert_eq!(check_label_key("Example.COM/Name"), Err(Error::Prefix));
        assert_eq!(check_annotation_key("Example.COM/Name"), Ok(()));
        assert_eq!(check_label_key("\u{212a}elvin"), Err(Error::Name));
        assert_eq!(check_annotation_key("\u{212a}elvin"), Ok(()));
    }

    #[test]
    fn values_are_those_that_kubernetes_accepts() {
        for value in ["", "x", "Blue_1.x-y", &"a".repeat(63)] {
            assert_eq!(check_label_value(value), Ok(()), "{value}");
        }
        for value in ["-a", "a_", "a/b", "a b", "ä"] {
            assert_eq!(check_label_value(value), Err(Error::Value), "{value}");
        }
        assert_eq!(check_label_value(&"a".repeat(64)), Err(Error::ValueTooLong));
    }
}
