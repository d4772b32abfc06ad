//! Choice of the strategy of a launch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::Api;
use unlade_diagnose::UNPACK_CONTAINER;
use unlade_text::excerpt;

use crate::dry_run::{self, Refusal};
use crate::object::{Facts, Kind, Plan, pod};
use crate::{Failure, Remedy, Strategy};

#[cfg(test)]
mod tests;

/// The strategy of a launch, and why it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The strategy, which is never [`Strategy::Auto`].
    pub(crate) strategy: Strategy,
    /// Why it was chosen, unless the options require it.
    pub(crate) because: Option<String>,
}

/// Whether a cluster supports image volumes. The features of the API server are the same in all
/// namespaces, and its admission rules are not.
#[derive(Debug, Default)]
pub(crate) struct ImageVolumes {
    /// Whether the API server drops image volumes from the objects that it stores.
    are_dropped: AtomicBool,
    /// The namespaces in which the API server keeps image volumes, and admission does not reject
    /// them.
    kept: Mutex<BTreeSet<String>>,
    /// Why image volumes are not used in a namespace although the API server keeps them: a
    /// container failed to start because of one. Users of another namespace cannot cause that.
    failed: Mutex<BTreeMap<String, String>>,
}

/// Returns the failure of an attempt with this strategy, without the remedy that the strategy
/// already applies.
pub(crate) fn without_applied_remedy(strategy: Strategy, failure: Failure) -> Failure {
    match strategy {
        Strategy::Auto => failure,
        Strategy::Inject => failure.without_remedy(Remedy::Inject),
        Strategy::ImageVolume => failure.without_remedy(Remedy::ImageVolume),
    }
}

/// The result of a dry run.
#[derive(Debug)]
enum DryRunResult {
    /// The API server accepts the object, with or without the volume.
    Accepted { with_volume: bool },
    /// The current user may not create such objects.
    NotAllowed(String),
    /// Admission rejects this object, because of Pod Security, a quota or a webhook.
    Rejected(String),
}

impl ImageVolumes {
    /// Chooses the strategy of a launch.
    ///
    /// For [`Strategy::Auto`] this may take up to three dry runs, which leave nothing behind. A
    /// rejected pod does not mean that image volumes are missing, because an exhausted quota
    /// rejects any pod. The Job is tried next, because neither quotas on pods nor Pod Security
    /// reject it. If the Job keeps the volume, the pod of the other strategy is tried. If only that
    /// pod is accepted, its strategy is used.
    ///
    /// # Errors
    ///
    /// Returns an error if the API server cannot be reached, is overloaded, or sends an unexpected
    /// response.
    pub(crate) async fn choose(
        &self,
        client: &kube::Client,
        plan: &Plan<'_>,
        facts: &Facts,
    ) -> Result<Chosen, kube::Error> {
        let options = plan.options();
        if options.strategy != Strategy::Auto {
            return Ok(Chosen { strategy: options.strategy, because: None });
        }
        if !options.candidates(plan.image()).contains(&Strategy::ImageVolume) {
            return Ok(inject(
                "the digest of a tag is needed, and few kubelets report the digest of an image volume",
            ));
        }
        if let Some(words) = self.failed().get(plan.namespace()) {
            return Ok(inject(words));
        }
        if self.kept().contains(plan.namespace()) {
            return Ok(choose_by_support(true));
        }
        if self.are_dropped.load(Ordering::Relaxed) {
            return Ok(choose_by_support(false));
        }
        self.find_out(client, plan, facts).await
    }

    /// Records that a container failed to start because of an image volume. From now on
    /// [`Strategy::Auto`] chooses injection in this namespace.
    pub(crate) fn note_failure(&self, namespace: &str, words: &str) {
        self.failed().insert(namespace.to_owned(), excerpt::shorten(words));
    }

    fn failed(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find_out(
        &self,
        client: &kube::Client,
        plan: &Plan<'_>,
        facts: &Facts,
    ) -> Result<Chosen, kube::Error> {
        let namespace = plan.namespace();
        let pods = Api::<Pod>::namespaced(client.clone(), namespace);
        let words = match try_out(&pods, &plan.pod_to_try(Strategy::ImageVolume, facts)).await? {
            DryRunResult::Accepted { with_volume } => return Ok(self.note(namespace, with_volume)),
            DryRunResult::NotAllowed(_) => None,
            DryRunResult::Rejected(words) => Some(words),
        };
        let jobs = Api::<Job>::namespaced(client.clone(), namespace);
        let by_job = try_out(&jobs, &plan.job_to_try(Strategy::ImageVolume, facts)).await?;
        match (by_job, words) {
            (DryRunResult::Accepted { with_volume: true }, None) => Ok(self.note(namespace, true)),
            (DryRunResult::Accepted { with_volume: true }, Some(words)) => {
                match try_out(&pods, &plan.pod_to_try(Strategy::Inject, facts)).await? {
                    // Not cached, because someone may change the rule.
                    DryRunResult::Accepted { .. } => Ok(inject(format!(
                        "a pod with an image volume is rejected in this namespace: {words}"
                    ))),
                    // Admission rejects both pods, so the volume is not the cause. Not cached,
                    // because an exhausted quota can hide a rule against the volume.
                    DryRunResult::Rejected(_) | DryRunResult::NotAllowed(_) => {
                        Ok(choose_by_support(true))
                    }
                }
            }
            (DryRunResult::Accepted { with_volume: false }, _) => Ok(self.note(namespace, false)),
            (DryRunResult::NotAllowed(words) | DryRunResult::Rejected(words), _) => Ok(inject(
                format!("it is unknown whether the cluster supports image volumes: {words}"),
            )),
        }
    }

    fn note(&self, namespace: &str, kept: bool) -> Chosen {
        if kept {
            self.kept().insert(namespace.to_owned());
        } else {
            self.are_dropped.store(true, Ordering::Relaxed);
        }
        choose_by_support(kept)
    }
}

/// Checks whether a pod that the API server returned has the image volume and its mount. If the
/// feature is disabled, the API server silently drops the fields that it does not know. An older
/// one keeps the volume without its source, which is an empty directory.
pub(crate) fn keeps_volume(pod: Option<&PodSpec>, volume: &str) -> bool {
    let Some(pod) = pod else { return false };
    let volumes = pod.volumes.iter().flatten();
    let mounts = pod.containers.iter().filter(|container| container.name == UNPACK_CONTAINER);
    let mut mounts = mounts.flat_map(|container| container.volume_mounts.iter().flatten());
    volumes.clone().any(|found| found.name == volume && found.image.is_some())
        && mounts.any(|mount| mount.name == volume)
}

/// An object that is or contains a pod.
pub(crate) trait WithPod {
    /// Returns the specification of the pod.
    fn pod(&self) -> Option<&PodSpec>;
}

impl WithPod for Pod {
    fn pod(&self) -> Option<&PodSpec> {
        self.spec.as_ref()
    }
}

impl WithPod for Job {
    fn pod(&self) -> Option<&PodSpec> {
        self.spec.as_ref().and_then(|spec| spec.template.spec.as_ref())
    }
}

/// Creates an object as a dry run. Returns errors that do not concern the object.
async fn try_out<K: Kind + WithPod>(api: &Api<K>, object: &K) -> Result<DryRunResult, kube::Error> {
    let error = match dry_run::create(api, object).await {
        Ok(response) => {
            return Ok(DryRunResult::Accepted {
                with_volume: keeps_volume(response.pod(), pod::BUNDLE),
            });
        }
        Err(error) => error,
    };
    let kube::Error::Api(status) = &error else { return Err(error) };
    let words = excerpt::shorten(&status.message);
    match Refusal::from_error(&error, "create the object") {
        Some(Refusal::Forbidden(_)) => Ok(DryRunResult::NotAllowed(words)),
        Some(Refusal::NoDryRun(_) | Refusal::Rejected(_)) => Ok(DryRunResult::Rejected(words)),
        None => Err(error),
    }
}

fn choose_by_support(kept: bool) -> Chosen {
    if kept {
        let because = Some("the cluster supports image volumes".to_owned());
        Chosen { strategy: Strategy::ImageVolume, because }
    } else {
        inject("the cluster does not support image volumes: the API server drops them")
    }
}

fn inject(because: impl Into<String>) -> Chosen {
    Chosen { strategy: Strategy::Inject, because: Some(because.into()) }
}
