//! [`Tolerated`]: a taint that a pod tolerates, in the notation of `kubectl taint`.

use std::str::FromStr;

use k8s_openapi::api::core::v1::Toleration;

/// `KEY=VALUE:EFFECT`, `KEY:EFFECT`, `KEY=VALUE`, `KEY`, `:EFFECT`, or `*` for all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tolerated(pub(crate) Toleration);

/// Why a text is not a [`Tolerated`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "expected KEY[=VALUE][:EFFECT], with NoSchedule, PreferNoSchedule or NoExecute as effect, or *"
)]
pub(crate) struct Error;

impl FromStr for Tolerated {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let exists = || Some("Exists".to_owned());
        if text == "*" {
            return Ok(Self(Toleration { operator: exists(), ..Toleration::default() }));
        }
        let (taint, effect) = match text.split_once(':') {
            Some((taint, effect @ ("NoSchedule" | "PreferNoSchedule" | "NoExecute"))) => {
                (taint, Some(effect.to_owned()))
            }
            Some(_) => return Err(Error),
            None => (text, None),
        };
        let (key, value) = match taint.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (taint, None),
        };
        if key.is_empty() && (value.is_some() || effect.is_none()) {
            return Err(Error);
        }
        Ok(Self(Toleration {
            key: Some(key.to_owned()).filter(|key| !key.is_empty()),
            operator: if value.is_some() { Some("Equal".to_owned()) } else { exists() },
            value,
            effect,
            toleration_seconds: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_have_the_notation_of_taints() {
        for (text, key, operator, value, effect) in [
            ("a=b:NoSchedule", Some("a"), "Equal", Some("b"), Some("NoSchedule")),
            ("a:NoExecute", Some("a"), "Exists", None, Some("NoExecute")),
            ("a=b", Some("a"), "Equal", Some("b"), None),
            ("a=", Some("a"), "Equal", Some(""), None),
            ("a", Some("a"), "Exists", None, None),
            (":NoSchedule", None, "Exists", None, Some("NoSchedule")),
            ("*", None, "Exists", None, None),
        ] {
            let Tolerated(toleration) = text.parse().unwrap();
            assert_eq!(toleration.key.as_deref(), key, "{text}");
            assert_eq!(toleration.operator.as_deref(), Some(operator), "{text}");
            assert_eq!(toleration.value.as_deref(), value, "{text}");
            assert_eq!(toleration.effect.as_deref(), effect, "{text}");
        }
        for text in ["", ":", "=b", "a:Never", "a:b:NoSchedule"] {
            assert_eq!(text.parse::<Tolerated>(), Err(Error), "{text}");
        }
    }
}
