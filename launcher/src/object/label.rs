//! The labels of our objects, and which labels and annotations a user may add.

use std::collections::BTreeMap;

use unlade_bundle::annotation;

#[cfg(test)]
mod tests;

/// By this label and [`MANAGER`] we know our objects.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub(crate) const MANAGER: &str = "unlade";
/// The label whose value is the name of the ConfigMap. OLM's network policies let pods with it
/// reach the API server, and OLM takes Jobs with one of its own hashes there for its own: those are
/// 63 digits long, longer than our names.
pub(crate) const UNPACK_REF: &str = "operatorframework.io/bundle-unpack-ref";
/// Selects all our objects.
pub(crate) const SELECTOR: &str =
    "app.kubernetes.io/managed-by=unlade,app.kubernetes.io/component=bundle-unpack";

const NAME: &str = "app.kubernetes.io/name";
const COMPONENT: &str = "app.kubernetes.io/component";

/// Keeps Istio's proxy out, as a label and, for older releases, as an annotation: a proxy that goes
/// on running would keep the Job from completing.
pub(super) const ISTIO: (&str, &str) = ("sidecar.istio.io/inject", "false");
/// Keeps Linkerd's proxy out, as an annotation.
pub(super) const LINKERD: (&str, &str) = ("linkerd.io/inject", "disabled");

/// Labels that Kubernetes sets on the pods of a Job.
const OF_JOBS: [&str; 5] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/job-completion-index",
    "controller-uid",
    "job-name",
];

/// A label or an annotation that can't be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// Kubernetes would refuse it.
    #[error("the {kind} {key:?} is not legal: {problem}")]
    Illegal {
        /// `label`, `annotation` or `node selector`.
        kind: &'static str,
        /// Its key, or the beginning of it.
        key: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is one of those by which we or others know our objects.
    #[error("the {kind} {key:?} is set by {by} and can't be given")]
    Taken {
        /// `label` or `annotation`.
        kind: &'static str,
        /// Its key.
        key: String,
        /// Who sets it.
        by: &'static str,
    },
    /// All annotations together are more than an object takes.
    #[error("the annotations are {size} bytes long, {} are allowed", annotation::SIZE)]
    TooLarge {
        /// Bytes in the keys and values.
        size: usize,
    },
}

/// The labels of every object for the ConfigMap `name`.
pub(crate) fn ours(name: &str) -> BTreeMap<String, String> {
    let labels = [
        (MANAGED_BY, MANAGER),
        (NAME, "unlade"),
        (COMPONENT, "bundle-unpack"),
        (annotation::MANAGED_LABEL, "true"),
        (UNPACK_REF, name),
    ];
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Whether an object with these labels is one of ours.
pub(crate) fn is_ours(labels: Option<&BTreeMap<String, String>>) -> bool {
    labels.and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|manager| manager == MANAGER)
}

/// Selects the objects for the ConfigMap `name`.
pub(crate) fn selector(name: &str) -> String {
    format!("{MANAGED_BY}={MANAGER},{UNPACK_REF}={name}")
}

/// Refuses labels and annotations that a user may not add.
pub(crate) fn check(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> Result<(), Error> {
    check_labels("label", labels)?;
    for key in labels.keys() {
        let of_jobs = OF_JOBS.contains(&key.as_str()).then_some("Kubernetes");
        let ours = ours("").contains_key(key) || key == ISTIO.0 || is_record(key);
        if let Some(by) = of_jobs.or(ours.then_some("unlade")) {
            return Err(Error::Taken { kind: "label", key: key.clone(), by });
        }
    }
    for key in annotations.keys() {
        // Kubernetes takes any letter case here and checks the rest.
        if let Some(problem) = key_problem(&key.to_ascii_lowercase()) {
            return Err(illegal("annotation", key, problem));
        }
        let ours = [ISTIO.0, LINKERD.0].contains(&key.as_str()) || is_record(key);
        let of_bundle = annotation::UPSTREAM.contains(&key.as_str()) || key.starts_with("olm.");
        if ours || of_bundle {
            let by = if ours { "unlade" } else { "the bundle" };
            return Err(Error::Taken { kind: "annotation", key: key.clone(), by });
        }
    }
    let size = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > annotation::SIZE { Err(Error::TooLarge { size }) } else { Ok(()) }
}

/// Refuses labels of nodes that no node can have.
pub(crate) fn check_node_selector(labels: &BTreeMap<String, String>) -> Result<(), Error> {
    check_labels("node selector", labels)
}

fn check_labels(kind: &'static str, labels: &BTreeMap<String, String>) -> Result<(), Error> {
    for (key, value) in labels {
        if let Some(problem) = key_problem(key).or_else(|| value_problem(value)) {
            return Err(illegal(kind, key, problem));
        }
    }
    Ok(())
}

fn illegal(kind: &'static str, key: &str, problem: &'static str) -> Error {
    let key = key.get(..key.floor_char_boundary(200)).unwrap_or_default().to_owned();
    Error::Illegal { kind, key, problem }
}

/// Whether it is one of unlade's own.
fn is_record(key: &str) -> bool {
    key.to_ascii_lowercase().starts_with(annotation::PREFIX)
}

/// Why Kubernetes refuses a label of this key; none if it takes it (apimachinery `IsLabelKey`).
fn key_problem(key: &str) -> Option<&'static str> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return Some("its key has more than one '/'"),
        Some((prefix, _)) if prefix.len() > 253 => {
            return Some("what stands before the '/' is longer than 253 characters");
        }
        Some((prefix, _)) if !prefix.split('.').all(is_dns_label) => {
            return Some("what stands before the '/' is no DNS name in lower case");
        }
        Some((_, name)) => name,
    };
    if name.is_empty() {
        Some("its key is empty")
    } else if name.len() > 63 {
        Some("its key is longer than 63 characters")
    } else if !is_word(name) {
        Some("its key has other characters than letters, digits and inner '-', '_', '.'")
    } else {
        None
    }
}

/// Why Kubernetes refuses a label of this value (apimachinery `IsLabelValue`).
fn value_problem(value: &str) -> Option<&'static str> {
    if value.len() > 63 {
        Some("its value is longer than 63 characters")
    } else if !value.is_empty() && !is_word(value) {
        Some("its value has other characters than letters, digits and inner '-', '_', '.'")
    } else {
        None
    }
}

fn is_dns_label(label: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    label.bytes().all(is_legal) && encloses(label)
}

fn is_word(word: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    word.bytes().all(is_legal) && encloses(word)
}

/// Whether it begins and ends with a letter or digit.
fn encloses(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(is_letter) && text.ends_with(is_letter)
}
