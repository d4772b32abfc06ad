//! Diagnosis of launches: classifies what a cluster shows about a bundle's Job, its pods, its pull
//! secrets and failed requests into a [`Failure`] with a [`Reason`], the evidence and, where known,
//! a hint and [remedies](Remedy).
//!
//! All functions are pure, and none of them needs a client: [`classify_pod`] takes a pod,
//! [`classify_job`] a Job, [`classify_request_error`] the error of a request, and
//! [`classify_pull_secret`] a pull secret. [`worst`] chooses the failure to report when there are
//! several.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use unlade_diagnose::{Reason, classify_pod};
//!
//! let pod: Pod = serde_json::from_str(
//!     r#"{
//!         "metadata": {"name": "etcd-1-x7k2p"},
//!         "spec": {"containers": [{"name": "unpack", "image": "registry.example/etcd:1.0"}]},
//!         "status": {"phase": "Pending", "containerStatuses": [{
//!             "name": "unpack", "image": "registry.example/etcd:1.0", "imageID": "",
//!             "ready": false, "restartCount": 0,
//!             "state": {"waiting": {
//!                 "reason": "ErrImagePull",
//!                 "message": "failed to pull and unpack image \"registry.example/etcd:1.0\": failed to resolve image: registry.example/etcd:1.0: not found"
//!             }}
//!         }]}
//!     }"#,
//! )?;
//! let failure = classify_pod(&pod, &[]).expect("the pod cannot start");
//! assert_eq!(failure.reason, Reason::ImageNotFound);
//! assert!(!failure.is_transient);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod admission;
mod api;
mod bound;
mod condition;
mod container;
mod event;
mod failure;
mod job;
mod object;
mod outcome;
mod pod;
mod pull;
mod reason;
mod remedy;
mod rule;
mod schedule;
mod secret;
mod setup;
#[cfg(test)]
mod tests;

pub use api::{RequestError, Status, classify_request_error, is_from_authorizer};
pub use bound::{MAX_LOG_LINES, without_middle};
pub use condition::job_condition;
pub use container::{INSTALL_CONTAINER, UNPACK_CONTAINER};
pub use event::last_occurrence;
pub use failure::{Evidence, Failure, worst};
pub use job::classify_job;
pub use object::ObjectRef;
pub use pod::{classify_pod, unretrieved_secrets};
pub use reason::Reason;
pub use remedy::Remedy;
pub use secret::{PullSecretEntries, classify_pull_secret, read_pull_secret};
