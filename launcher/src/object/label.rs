//! The labels of unlade's objects, and checks of the labels and annotations that a user adds.

use std::collections::BTreeMap;

use unlade_bundle::annotation;
use unlade_name::{check_annotation_key, check_label_key, check_label_value};
use unlade_text::excerpt;

#[cfg(test)]
mod tests;

/// The label by which unlade recognises its objects. Its value is [`MANAGER`].
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub(crate) const MANAGER: &str = "unlade";
/// The label whose value is the name of the ConfigMap. OLM's network policies allow pods with this
/// label to reach the API server. OLM adopts Jobs whose label is one of its 63-digit hashes. Our
/// names have at most 52 characters, so they cannot collide.
pub(crate) const UNPACK_REF: &str = "operatorframework.io/bundle-unpack-ref";
/// The label of the objects of a pack, which are not those of one ConfigMap.
pub(crate) const PACK: &str = "unlade.dev/pack";
/// The label selector for all objects of unlade.
pub(crate) const SELECTOR: &str =
    "app.kubernetes.io/managed-by=unlade,app.kubernetes.io/component=bundle-unpack";

const NAME: &str = "app.kubernetes.io/name";
const COMPONENT: &str = "app.kubernetes.io/component";

/// Disables the injection of Istio's proxy, as a label and, for older releases, as an annotation. A
/// proxy that keeps running would prevent the Job from completing.
pub(super) const ISTIO: (&str, &str) = ("sidecar.istio.io/inject", "false");
/// Disables the injection of Linkerd's proxy, as an annotation.
pub(super) const LINKERD: (&str, &str) = ("linkerd.io/inject", "disabled");

/// The labels that Kubernetes sets on the pods of a Job.
const JOB_LABELS: [&str; 5] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/job-completion-index",
    "controller-uid",
    "job-name",
];

/// A label or an annotation cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// Kubernetes would reject it.
    #[error("the {kind} {key:?} is invalid: {fault}")]
    Invalid {
        /// `label`, `annotation` or `node selector`.
        kind: &'static str,
        /// The key, or the beginning of it.
        key: String,
        /// What is wrong.
        fault: unlade_name::Error,
    },
    /// Someone else sets it.
    #[error("the {kind} {key:?} is reserved: {by} sets it")]
    Reserved {
        /// `label` or `annotation`.
        kind: &'static str,
        /// The key.
        key: String,
        /// Who sets it.
        by: &'static str,
    },
    /// All annotations together are larger than Kubernetes allows.
    #[error(
        "the annotations are {size} bytes in total, but Kubernetes allows {}",
        annotation::SIZE
    )]
    TooLarge {
        /// The size of the keys and values, in bytes.
        size: usize,
    },
}

/// Returns unlade's labels for the objects of the ConfigMap `name`.
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

/// Checks whether an object with these labels belongs to unlade.
pub(crate) fn is_ours(labels: Option<&BTreeMap<String, String>>) -> bool {
    labels.and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|manager| manager == MANAGER)
}

/// Returns the label selector for the objects of the ConfigMap `name`.
pub(crate) fn selector(name: &str) -> String {
    format!("{MANAGED_BY}={MANAGER},{UNPACK_REF}={name}")
}

/// Returns the label selectors for the Jobs that fill this ConfigMap: its own ones, and those of
/// all packs, which only their owner references distinguish.
pub(crate) fn selectors_of_jobs(name: &str) -> [String; 2] {
    [selector(name), pack_selector()]
}

/// Returns the label selector for the objects of packs.
pub(crate) fn pack_selector() -> String {
    format!("{SELECTOR},{PACK}")
}

/// Returns the label selector for the objects of any of these ConfigMaps.
pub(crate) fn selector_of_any(names: &[String]) -> String {
    format!("{MANAGED_BY}={MANAGER},{UNPACK_REF} in ({})", names.join(","))
}

/// Checks the labels and annotations that a user adds.
pub(crate) fn check(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> Result<(), Error> {
    check_labels("label", labels)?;
    for key in labels.keys() {
        let of_jobs = JOB_LABELS.contains(&key.as_str()).then_some("Kubernetes");
        let ours = ours("").contains_key(key) || key == ISTIO.0 || is_record(key);
        if let Some(by) = of_jobs.or(ours.then_some("unlade")) {
            return Err(Error::Reserved { kind: "label", key: key.clone(), by });
        }
    }
    for key in annotations.keys() {
        check_annotation_key(key).map_err(|fault| invalid("annotation", key, fault))?;
        let ours = [ISTIO.0, LINKERD.0].contains(&key.as_str()) || is_record(key);
        let of_bundle = annotation::UPSTREAM.contains(&key.as_str()) || key.starts_with("olm.");
        if ours || of_bundle {
            let by = if ours { "unlade" } else { "the bundle" };
            return Err(Error::Reserved { kind: "annotation", key: key.clone(), by });
        }
    }
    let size = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > annotation::SIZE { Err(Error::TooLarge { size }) } else { Ok(()) }
}

/// Checks a node selector.
pub(crate) fn check_node_selector(labels: &BTreeMap<String, String>) -> Result<(), Error> {
    check_labels("node selector", labels)
}

fn check_labels(kind: &'static str, labels: &BTreeMap<String, String>) -> Result<(), Error> {
    for (key, value) in labels {
        check_label_key(key)
            .and_then(|()| check_label_value(value))
            .map_err(|fault| invalid(kind, key, fault))?;
    }
    Ok(())
}

fn invalid(kind: &'static str, key: &str, fault: unlade_name::Error) -> Error {
    Error::Invalid { kind, key: excerpt::shorten(key), fault }
}

/// Checks whether the key has unlade's prefix.
fn is_record(key: &str) -> bool {
    key.to_ascii_lowercase().starts_with(annotation::PREFIX)
}
