//! Classification of pull secrets that are of no use.
//!
//! The kubelet silently ignores secrets of other types and secrets without an entry for the
//! registry. The only visible effect is that the registry denies access.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;

use super::bound::quoted;
use super::{Evidence, Failure, Reason};
use unlade_name::ImageReference;
use unlade_name::image::{DEFAULT_REGISTRY, FORMER_DEFAULT_REGISTRY};

/// The types that the kubelet accepts, and the keys of their entries.
const TYPES: [(&str, &str); 2] = [
    ("kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
    ("kubernetes.io/dockercfg", ".dockercfg"),
];

/// The maximum size of a secret, in bytes (`MaxSecretSize` of the API server).
const MAX_SECRET: usize = 1 << 20;

type Auths = BTreeMap<String, serde_json::Value>;

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: Auths,
}

/// The registries for which a pull secret has entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullSecretEntries(Vec<String>);

/// Returns why the pull secret `name` is of no use for `image`: the secret does not exist (`secret`
/// is `None`), has the wrong type, is malformed, or has no entry for the registry. Only the
/// registry can tell whether the credentials are valid.
pub fn classify_pull_secret(
    name: &str,
    secret: Option<&Secret>,
    image: &ImageReference,
) -> Option<Failure> {
    let entries = match PullSecretEntries::read(name, secret) {
        Ok(entries) if entries.cover(image) => return None,
        Ok(entries) => entries,
        Err(failure) => return Some(failure),
    };
    let entries = quoted(&entries.0.join(", "));
    let image = image.as_str();
    Some(unusable(name, &format!("has no entry for image {image}, only for {entries}")))
}

impl PullSecretEntries {
    /// Reads the pull secret `name`, as the kubelet does.
    ///
    /// # Errors
    ///
    /// Returns an error if the secret does not exist (`secret` is `None`), has the wrong type, is
    /// malformed or is empty.
    pub fn read(name: &str, secret: Option<&Secret>) -> Result<Self, Failure> {
        let Some(secret) = secret else {
            let message = format!("pull secret {name} does not exist");
            return Err(Failure::new(Reason::NoPullSecret, message).with_evidence(evidence(name)));
        };
        Self::parse(secret).map_err(|problem| unusable(name, &problem))
    }

    /// Checks whether the kubelet finds credentials for `image` in the secret.
    pub fn cover(&self, image: &ImageReference) -> bool {
        self.0.iter().any(|entry| covers(entry, image))
    }

    fn parse(secret: &Secret) -> Result<Self, String> {
        let kind = secret.type_.as_deref().unwrap_or("Opaque");
        let Some((_, key)) = TYPES.into_iter().find(|(name, _)| *name == kind) else {
            return Err(format!("is of type {kind}, not kubernetes.io/dockerconfigjson"));
        };
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        let Some(bytes) = bytes.map(|bytes| bytes.0.as_slice()).filter(|bytes| !bytes.is_empty())
        else {
            return Err(format!("has no key {key}"));
        };
        if bytes.len() > MAX_SECRET {
            return Err(format!("is larger than {MAX_SECRET} bytes"));
        }
        let auths = if key == ".dockercfg" {
            serde_json::from_slice::<Auths>(bytes)
        } else {
            serde_json::from_slice::<Config>(bytes).map(|config| config.auths)
        };
        match auths {
            // The error's own message may quote the secret.
            Err(error) => Err(format!(
                "does not contain registry credentials as JSON (line {})",
                error.line()
            )),
            Ok(auths) if auths.is_empty() => Err("has no entries".to_owned()),
            Ok(auths) => Ok(Self(auths.into_keys().collect())),
        }
    }
}

/// Checks whether the kubelet uses an entry for `image` (pkg/credentialprovider/keyring.go). Each
/// part of the entry's host may contain wildcards, and its path is a prefix of the image's path.
fn covers(entry: &str, image: &ImageReference) -> bool {
    let entry =
        entry.strip_prefix("https://").or_else(|| entry.strip_prefix("http://")).unwrap_or(entry);
    let (host, path) = entry.split_once('/').unwrap_or((entry, ""));
    let path = ["v1/", "v2/"].iter().find_map(|version| path.strip_prefix(version)).unwrap_or(path);
    let registry = image.registry();
    if registry == DEFAULT_REGISTRY && host == FORMER_DEFAULT_REGISTRY && path.is_empty() {
        return true;
    }
    let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let (registry, registry_port) = registry.rsplit_once(':').unwrap_or((registry, ""));
    let same_length = host.split('.').count() == registry.split('.').count();
    let mut parts = host.split('.').zip(registry.split('.'));
    port == registry_port
        && same_length
        && parts.all(|(glob, part)| matches(glob, part))
        && image.repository().starts_with(path)
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

fn unusable(name: &str, problem: &str) -> Failure {
    let failure = Failure::new(Reason::BadPullSecret, format!("pull secret {name} {problem}"));
    failure.with_evidence(evidence(name)).bounded()
}

fn evidence(name: &str) -> Evidence {
    Evidence::of_object(format!("secret/{name}"))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;
    use proptest::prelude::*;

    use super::*;

    const IMAGE: &str = "registry.example:5000/team/etcd:1.0";

    fn image(text: &str) -> ImageReference {
        text.parse().unwrap()
    }

    fn secret(kind: &str, key: &str, text: &str) -> Secret {
        Secret {
            type_: Some(kind.to_owned()),
            data: Some([(key.to_owned(), ByteString(text.into()))].into()),
            ..Secret::default()
        }
    }

    fn reason(kind: &str, key: &str, text: &str) -> Option<Reason> {
        let secret = secret(kind, key, text);
        classify_pull_secret("pull", Some(&secret), &image(IMAGE)).map(|failure| failure.reason)
    }

    #[test]
    fn missing_secret_has_another_reason_than_an_unusable_one() {
        let missing = classify_pull_secret("pull", None, &image(IMAGE)).unwrap();
        assert_eq!(missing.reason, Reason::NoPullSecret);
        let [(json, json_key), (old, old_key)] = TYPES;
        let auths = r#"{"auths": {"registry.example:5000": {"auth": "YTpi"}}}"#;
        let entries = r#"{"registry.example:5000": {"auth": "YTpi"}}"#;
        assert_eq!(reason(json, json_key, auths), None);
        assert_eq!(reason(old, old_key, entries), None);
        for (kind, key, text) in [
            ("Opaque", json_key, auths),
            (json, old_key, auths),
            (json, json_key, ""),
            (json, json_key, "{"),
            (json, json_key, "{}"),
            (json, json_key, entries),
            (json, json_key, r#"{"auths": {"registry.example": {}}}"#),
            (old, old_key, "[]"),
        ] {
            assert_eq!(reason(kind, key, text), Some(Reason::BadPullSecret), "{kind} {text}");
        }
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

    #[test]
    fn failure_says_nothing_of_the_credentials() {
        let text = r#"{"auths": {"other.example": {"auth": "c2VjcmV0"}}, "oops": "c2VjcmV0"#;
        for text in [text, &text.replace(", \"oops\": \"c2VjcmV0", "}")] {
            let secret = secret(TYPES[0].0, TYPES[0].1, text);
            let failure = classify_pull_secret("pull", Some(&secret), &image(IMAGE)).unwrap();
            assert!(!serde_json::to_string(&failure).unwrap().contains("c2VjcmV0"), "{failure:?}");
        }
    }
}
