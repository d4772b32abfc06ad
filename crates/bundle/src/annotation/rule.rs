//! The rules for annotations: their total size, and the reserved keys.

use std::collections::BTreeMap;

use super::Error;

/// The maximum size of all annotations of an object, keys and values, in bytes (apimachinery
/// `TotalAnnotationSizeLimitB`).
pub const SIZE: usize = 256 << 10;

/// Checks whether `key` is reserved for Kubernetes, OLM or unlade.
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
}
