//! Classification of pull secrets that are of no use.
//!
//! The kubelet silently ignores secrets of other types and secrets without an entry for the
//! registry. The only visible effect is that the registry denies access.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;
use serde_json::Value;
use unlade_yaml::base64;

use super::bound::quoted;
use super::{Evidence, Failure, ObjectRef, Reason};
use unlade_name::ImageReference;

/// The types that the kubelet accepts, and the keys of their entries.
const TYPES: [(&str, &str); 2] = [
    ("kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
    ("kubernetes.io/dockercfg", ".dockercfg"),
];

/// The maximum size of a secret, in bytes (`MaxSecretSize` of the API server).
const MAX_SECRET: usize = 1 << 20;

/// The fields of an entry that the kubelet reads. All of them are text.
const FIELDS: [&str; 4] = [AUTH, "username", "password", "email"];
const AUTH: &str = "auth";

type Entry = BTreeMap<String, Value>;
type Auths = BTreeMap<String, Option<Entry>>;

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
    Some(unusable(name, &format!("has no entry for the image {image}, only for {entries}")))
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
            let message = format!("the pull secret {name} does not exist");
            return Err(Failure::new(Reason::NoPullSecret, message).with_evidence(evidence(name)));
        };
        Self::parse(secret).map_err(|problem| unusable(name, &problem))
    }

    /// Checks whether the kubelet finds credentials for `image` in the secret.
    pub fn cover(&self, image: &ImageReference) -> bool {
        self.0.iter().any(|entry| unlade_name::covers(entry, image))
    }

    fn parse(secret: &Secret) -> Result<Self, String> {
        let (key, bytes) = find_value(secret)?;
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
            Ok(auths) => match auths.iter().find(|(_, entry)| !is_valid(entry.as_ref())) {
                Some((key, _)) => Err(format!("has an invalid entry for {}", quoted(key))),
                None => Ok(Self(auths.into_keys().collect())),
            },
        }
    }
}

/// Checks an entry as the kubelet does, which refuses a secret with an invalid entry
/// (k8s.io/kubernetes `pkg/credentialprovider/config.go`).
fn is_valid(entry: Option<&Entry>) -> bool {
    entry.into_iter().flatten().all(|(key, value)| {
        let Some(field) = FIELDS.iter().find(|name| key.eq_ignore_ascii_case(name)) else {
            return true;
        };
        match value {
            Value::Null => true,
            Value::String(text) => *field != AUTH || text.is_empty() || is_login(text),
            _ => false,
        }
    })
}

/// Checks whether `text` is the base64 of a user and a password, with padding or without it.
fn is_login(text: &str) -> bool {
    // Line breaks do not count towards the length that padding completes.
    let mut text = text.replace(['\r', '\n'], "");
    if !text.trim_end().ends_with('=') {
        text.extend(std::iter::repeat_n('=', text.len().wrapping_neg() % 4));
    }
    base64::decode(text).is_ok_and(|login| login.contains(&b':'))
}

/// Returns the content of the pull secret `name` as the JSON of a file of docker (`config.json`).
/// It contains passwords.
///
/// # Errors
///
/// Returns the errors of [`PullSecretEntries::read`].
pub fn read_pull_secret(name: &str, secret: Option<&Secret>) -> Result<String, Failure> {
    PullSecretEntries::read(name, secret)?;
    let unread = |problem: &str| unusable(name, problem);
    let (key, bytes) = secret
        .map_or_else(|| Err(String::new()), find_value)
        .map_err(|problem| unread(&problem))?;
    let text = std::str::from_utf8(bytes).map_err(|_| unread("is not UTF-8"))?;
    Ok(if key == ".dockercfg" { format!(r#"{{"auths":{text}}}"#) } else { text.to_owned() })
}

/// Finds the value of a pull secret, and its key. The error says what is wrong with the secret.
fn find_value(secret: &Secret) -> Result<(&'static str, &[u8]), String> {
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
    Ok((key, bytes))
}

fn unusable(name: &str, problem: &str) -> Failure {
    let failure = Failure::new(Reason::BadPullSecret, format!("the pull secret {name} {problem}"));
    failure.with_evidence(evidence(name)).bounded()
}

fn evidence(name: &str) -> Evidence {
    Evidence::of_object(ObjectRef::secret(name))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

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

    /// The results of the kubelet's own types (Kubernetes 1.36).
    #[test]
    fn a_secret_with_an_invalid_entry_is_refused_as_by_the_kubelet() {
        let (kind, key) = TYPES[0];
        let reason = |entry: &str| {
            let entries = format!(r#"{{"registry.example:5000":{{}},"other.example":{entry}}}"#);
            reason(kind, key, &format!(r#"{{"auths":{entries}}}"#))
        };
        for entry in [
            "null",
            "{}",
            r#"{"auth":""}"#,
            r#"{"auth":null,"username":null}"#,
            r#"{"auth":"YTpiYw=="}"#,
            r#"{"auth":"YTpiYw"}"#,
            r#"{"auth":"YT\npi"}"#,
            r#"{"auth":"YTpiYx=="}"#,
            r#"{"other":1}"#,
        ] {
            assert_eq!(reason(entry), None, "{entry}");
        }
        for entry in [
            "1",
            "[]",
            r#"{"auth":1}"#,
            r#"{"email":{}}"#,
            r#"{"auth":"YTpiYw="}"#,
            r#"{"auth":"YTpi Yw"}"#,
            r#"{"auth":"YWI="}"#,
            r#"{"Auth":"!"}"#,
        ] {
            assert_eq!(reason(entry), Some(Reason::BadPullSecret), "{entry}");
        }
    }

    #[test]
    fn both_types_of_secrets_are_read_as_a_file_of_docker() {
        let [(json, json_key), (old, old_key)] = TYPES;
        let auths = r#"{"auths":{"registry.example":{"auth":"YTpi"}}}"#;
        let entries = r#"{"registry.example":{"auth":"YTpi"}}"#;
        for (kind, key, text) in [(json, json_key, auths), (old, old_key, entries)] {
            assert_eq!(read_pull_secret("pull", Some(&secret(kind, key, text))).unwrap(), auths);
        }
        assert_eq!(read_pull_secret("pull", None).unwrap_err().reason, Reason::NoPullSecret);
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
