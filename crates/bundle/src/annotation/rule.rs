//! The rules for annotations: those of Kubernetes, and the reserved keys.

use std::collections::BTreeMap;

use super::Error;

/// The maximum size of all annotations of an object, keys and values, in bytes (apimachinery
/// `TotalAnnotationSizeLimitB`).
pub const SIZE: usize = 256 << 10;

/// The maximum length of the part of a key after the slash, in bytes (apimachinery `IsLabelKey`).
const NAME_LENGTH: usize = 63;
/// The maximum length of the part of a key before the slash, in bytes (apimachinery
/// `IsDNS1123Subdomain`).
const PREFIX_LENGTH: usize = 253;

/// Whether `key` is reserved for Kubernetes, OLM or unlade.
///
/// Reserved prefixes are `kubernetes.io/`, `k8s.io/` and their subdomains, `olm.`, and
/// [`PREFIX`](super::PREFIX), in any letter case. These annotations change what a cluster does with
/// the ConfigMap, so they are never copied from a bundle.
pub fn is_reserved(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if key.starts_with(super::PREFIX) || key.starts_with("olm.") {
        return true;
    }
    let Some((prefix, _)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"].iter().any(|domain| {
        prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Returns the reason why Kubernetes rejects an annotation with this key, or `None` if the key is
/// legal (apimachinery `ValidateAnnotations`: the rules for a label key, but in any letter case).
pub(crate) fn name_problem(key: &str) -> Option<&'static str> {
    // Go converts the key to lower case before it validates it. These are the two characters
    // outside ASCII whose lower case is in ASCII.
    let key = key.replace('\u{212a}', "k").replace('\u{130}', "i").to_ascii_lowercase();
    let name = match key.split_once('/') {
        None => key.as_str(),
        Some((_, name)) if name.contains('/') => return Some("it has more than one '/'"),
        Some(("", _)) => return Some("its prefix is empty"),
        Some((prefix, _)) if prefix.len() > PREFIX_LENGTH => {
            return Some("its prefix is longer than 253 characters");
        }
        Some((prefix, _)) if !prefix.split('.').all(is_label) => {
            return Some("its prefix is not a DNS subdomain");
        }
        Some((_, name)) => name,
    };
    if name.is_empty() {
        Some("its name is empty")
    } else if name.len() > NAME_LENGTH {
        Some("its name is longer than 63 characters")
    } else if !is_alphanumeric_with(name, |byte| matches!(byte, b'-' | b'_' | b'.')) {
        Some("its name must consist of letters and digits, with '-', '_' or '.' between them")
    } else {
        None
    }
}

/// Checks that Kubernetes accepts the total size of `annotations` on one object.
///
/// # Errors
///
/// Returns [`Error::TooLarge`] if their [`size`] exceeds [`SIZE`].
pub fn check_size(annotations: &BTreeMap<String, String>) -> Result<(), Error> {
    let size = size(annotations);
    if size > SIZE { Err(Error::TooLarge { size }) } else { Ok(()) }
}

/// Returns the size of the keys and values of `annotations` in bytes, as Kubernetes counts it.
pub fn size(annotations: &BTreeMap<String, String>) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// Whether `label` is a DNS label in lower case. As in Go, the length is not checked.
fn is_label(label: &str) -> bool {
    is_alphanumeric_with(label, |byte| byte == b'-')
}

/// Whether `text` consists of letters and digits, with bytes that `inner` allows between them.
fn is_alphanumeric_with(text: &str, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|&byte| byte.is_ascii_alphanumeric() || inner(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_platform_are_reserved() {
        for key in [
            "unlade.dev/digest",
            "olm.sourceImage",
            "olm.x/y",
            "kubernetes.io/a",
            "pod-security.kubernetes.io/enforce",
            "kubectl.Kubernetes.IO/last-applied-configuration",
            "k8s.io/a",
            "batch.k8s.io/a",
            "K8S.io/",
        ] {
            assert!(is_reserved(key), "{key}");
        }
        for key in [
            "operators.operatorframework.io.bundle.package.v1",
            "com.redhat.openshift.versions",
            "notk8s.io/a",
            "mykubernetes.io/a",
            "kubernetes.io",
            "unlade.dev",
            "olmx/a",
        ] {
            assert!(!is_reserved(key), "{key}");
        }
    }

    #[test]
    fn keys_that_kubernetes_refuses_have_a_problem() {
        let prefix = |length: usize| format!("{}/a", "p".repeat(length));
        for key in [
            "a",
            "A_b-c.D",
            "Example.COM/Name",
            "a.b/c",
            "\u{212a}elvin",
            &"n".repeat(63),
            &prefix(253),
        ] {
            assert_eq!(name_problem(key), None, "{key}");
        }
        for key in [
            "",
            "a/",
            "/a",
            "a/b/c",
            "a b",
            "-a",
            "a.",
            "ä",
            "a_b/c",
            "a..b/c",
            ".a/c",
            "a-/c",
            &"n".repeat(64),
            &prefix(254),
        ] {
            assert!(name_problem(key).is_some(), "{key}");
        }
    }
}
