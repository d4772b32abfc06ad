//! Validates names of Kubernetes objects before they become part of a URL.

/// Checks whether `name` is a valid name of a namespace (a DNS label of RFC 1123).
pub(crate) fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_part(name)
}

/// Checks whether `name` is a valid name of a ConfigMap (a DNS subdomain of RFC 1123, whose parts
/// Kubernetes does not limit to 63 bytes).
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_part)
}

fn is_part(part: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let hyphen_outside = part.starts_with('-') || part.ends_with('-');
    !part.is_empty() && part.bytes().all(is_legal) && !hyphen_outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for (name, label, subdomain) in [
            ("a", true, true),
            ("a-1", true, true),
            ("1a", true, true),
            ("a.b-c.d", false, true),
            (long.as_str(), false, true),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a.", false, false),
            (".a", false, false),
            ("a..b", false, false),
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
            assert_eq!((is_label(name), is_subdomain(name)), (label, subdomain), "{name:?}");
        }
        assert!(!is_subdomain(&"a".repeat(254)));
    }
}
