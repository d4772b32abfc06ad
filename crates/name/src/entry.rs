//! [`covers`]: decides which images an entry of a pull secret applies to.

use crate::ImageReference;
use crate::image::{DEFAULT_REGISTRY, FORMER_DEFAULT_REGISTRY};

/// Checks whether the kubelet uses an entry of a pull secret, such as `*.example/team`, for `image`
/// (pkg/credentialprovider/keyring.go). Each part of the entry's host may contain wildcards, and
/// its path is a prefix of the image's path.
///
/// ```
/// use unlade_name::{ImageReference, covers};
///
/// let image: ImageReference = "registry.example/team/etcd:1.0".parse()?;
/// assert!(covers("*.example/team", &image));
/// assert!(!covers("registry.example:5000", &image));
/// # Ok::<(), unlade_name::image::Error>(())
/// ```
pub fn covers(entry: &str, image: &ImageReference) -> bool {
    covered_length(entry, image).is_some()
}

/// Returns the length of the path in `entry`, in bytes, if the entry [covers](covers()) `image`.
/// The version of the registry's API at its start does not count.
pub fn covered_length(entry: &str, image: &ImageReference) -> Option<usize> {
    let entry =
        entry.strip_prefix("https://").or_else(|| entry.strip_prefix("http://")).unwrap_or(entry);
    let (host, path) = entry.split_once('/').unwrap_or((entry, ""));
    let path = without_api_version(path);
    let length = path.trim_end_matches('/').len();
    let registry = image.registry();
    if registry == DEFAULT_REGISTRY && host == FORMER_DEFAULT_REGISTRY && path.is_empty() {
        return Some(length);
    }
    let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let (registry, registry_port) = registry.rsplit_once(':').unwrap_or((registry, ""));
    let same_length = host.split('.').count() == registry.split('.').count();
    let mut parts = host.split('.').zip(registry.split('.'));
    let is_covered = port == registry_port
        && same_length
        && parts.all(|(glob, part)| matches(glob, part))
        && image.repository().starts_with(path);
    is_covered.then_some(length)
}

/// Removes the version of the registry's API from the start of a path, as the kubelet does in an
/// entry of a pull secret.
pub fn without_api_version(path: &str) -> &str {
    ["v1/", "v2/"].iter().find_map(|version| path.strip_prefix(version)).unwrap_or(path)
}

/// Checks whether `glob`, in which `*` matches any text, matches `text`, as Go's `filepath.Match`
/// does. Its other special characters cannot occur in the host of a URL: `?` ends a host, and Go
/// rejects `[` and `\`.
///
/// Each part between two stars is matched where it occurs first, which leaves the most room for the
/// parts after it. There is no backtracking, so the time does not grow
/// exponentially with the number of stars, which the author of a pull secret chooses.
fn matches(glob: &str, text: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else { return glob == text };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = text.strip_prefix(first).and_then(|text| text.strip_suffix(last));
    let Some(mut inner) = inner else { return false };
    middle.split('*').all(|part| match inner.split_once(part) {
        Some((_, rest)) => {
            inner = rest;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IMAGE: &str = "registry.example:5000/team/etcd:1.0";

    fn image(text: &str) -> ImageReference {
        text.parse().unwrap()
    }

    #[test]
    fn entries_cover_what_the_kubelet_uses_them_for() {
        for (entry, covered) in [
            ("registry.example:5000", true),
            ("https://registry.example:5000", true),
            ("https://registry.example:5000/v1/", true),
            ("http://registry.example:5000/v2/team", true),
            ("registry.example:5000/team/etcd", true),
            ("*.example:5000", true),
            ("reg*y.*:5000", true),
            ("*:5000", false),
            ("registry.example", false),
            ("registry.example:5001", false),
            ("registry.example:5000/other", false),
            ("sub.registry.example:5000", false),
        ] {
            assert_eq!(covers(entry, &image(IMAGE)), covered, "{entry}");
        }
    }

    /// The answers are those of Go's `filepath.Match`.
    #[test]
    fn wildcards_match_as_in_go() {
        for (glob, text, expected) in [
            ("*", "", true),
            ("*", "abc", true),
            ("**", "", true),
            ("a*", "a", true),
            ("*a", "a", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("ab*ba", "aba", false),
            ("*ab*ab*", "abab", true),
            ("*ab*ab*", "abb", false),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
            ("*a*b", "bab", true),
            ("*aab", "aaab", true),
            ("*é*", "aéa", true),
            ("", "", true),
            ("", "a", false),
            ("a", "A", false),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn many_wildcards_cost_no_more_than_their_length() {
        // A matcher that backtracks at each star would never finish.
        let text = "a".repeat(1 << 16);
        for (glob, expected) in [
            ("*a".repeat(1 << 14) + "b", false),
            ("*aa".repeat(1 << 14) + "*b*", false),
            ("*".repeat(1 << 16), true),
        ] {
            assert_eq!(matches(&glob, &text), expected, "{}", &glob[..4]);
        }
        let entry = format!("{}.example", "*a".repeat(1 << 16) + "*b");
        let image = image(&format!("{}.example/team/etcd:1.0", "a".repeat(60)));
        assert!(!covers(&entry, &image));
    }

    /// Tries every length for each star.
    fn matches_naively(glob: &[u8], text: &[u8]) -> bool {
        match glob {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|at| matches_naively(rest, &text[at..])),
            [c, rest @ ..] => text.first() == Some(c) && matches_naively(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn wildcards_match_as_with_backtracking(
            glob in "[ab*]{0,9}",
            text in "[ab]{0,9}",
        ) {
            let naive = matches_naively(glob.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches(&glob, &text), naive);
        }
    }

    #[test]
    fn images_without_a_registry_are_those_of_the_default_one() {
        let login = format!("https://{FORMER_DEFAULT_REGISTRY}/v1/");
        for (entry, covered) in [
            (login.as_str(), true),
            (FORMER_DEFAULT_REGISTRY, true),
            (DEFAULT_REGISTRY, true),
            (&format!("{DEFAULT_REGISTRY}/team"), true),
            (&format!("{DEFAULT_REGISTRY}/other"), false),
            ("registry.example", false),
        ] {
            assert_eq!(covers(entry, &image("team/etcd:1.0")), covered, "{entry}");
        }
        assert!(!covers(&login, &image(IMAGE)));
    }
}
