//! How the unpacker and the bundle come together, where that is left to us.

use std::sync::OnceLock;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::api::{Api, PostParams};
use kube::core::NamespaceResourceScope;
use serde::{Serialize, de::DeserializeOwned};

use crate::object::{Facts, Plan, pod};
use crate::{Strategy, failure};

#[cfg(test)]
mod tests;

/// Most bytes of the API server's words in an explanation.
const WORDS: usize = 500;

/// What was decided for a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Never [`Strategy::Auto`].
    pub(crate) strategy: Strategy,
    /// Why, where it wasn't asked for.
    pub(crate) because: Option<String>,
}

/// Whether a cluster has image volumes, as far as it is known. It is asked once: what the API
/// server knows of is the same in all namespaces.
#[derive(Debug, Default)]
pub(crate) struct ImageVolumes {
    /// Whether the API server keeps them in what it stores.
    kept: OnceLock<bool>,
    /// Why they aren't used although it does: a start failed for them.
    failed: OnceLock<String>,
}

/// What one dry run told.
#[derive(Debug)]
enum Answer {
    /// The API server takes the object, with the volume or without.
    Taken { with_volume: bool },
    /// Creating such objects isn't allowed to us.
    NotAllowed(String),
    /// Admission refuses this one: Pod Security, a quota, a webhook.
    Refused(String),
}

impl ImageVolumes {
    /// The strategy for a launch.
    ///
    /// For [`Strategy::Auto`] it may ask the API server, with up to three dry runs of which nothing
    /// stays. That a pod is refused doesn't mean that image volumes are missing: a full quota
    /// refuses any pod. So the Job is tried then, which quotas of pods and Pod Security let pass,
    /// and the pod of the other strategy: if only that one is taken, it is used here.
    ///
    /// # Errors
    ///
    /// If the API server can't be asked: unreachable, busy, or its answer isn't understood.
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
        if options.records_digest() && !plan.image().is_digest() {
            return Ok(inject(
                "the digest of a tag is asked for, and no pod tells that of a volume",
            ));
        }
        if let Some(words) = self.failed.get() {
            return Ok(inject(words));
        }
        match self.kept.get() {
            Some(&kept) => Ok(known(kept)),
            None => self.ask(client, plan, facts).await,
        }
    }

    /// Notes that a start failed for an image volume, in such words; from now on bundles are
    /// injected where the choice is left to us.
    pub(crate) fn note_failure(&self, words: &str) {
        // The first one is as good as the later ones.
        let _ = self.failed.set(shortened(words));
    }

    async fn ask(
        &self,
        client: &kube::Client,
        plan: &Plan<'_>,
        facts: &Facts,
    ) -> Result<Chosen, kube::Error> {
        let pods = Tried::<Pod>::new(client, plan);
        let words = match pods.with(&plan.pod_to_try(Strategy::ImageVolume, facts)).await? {
            Answer::Taken { with_volume } => return Ok(self.note(with_volume)),
            Answer::NotAllowed(_) => None,
            Answer::Refused(words) => Some(words),
        };
        let jobs = Tried::<Job>::new(client, plan);
        let by_job = jobs.with(&plan.job_to_try(Strategy::ImageVolume, facts)).await?;
        match (by_job, words) {
            (Answer::Taken { with_volume: true }, None) => Ok(self.note(true)),
            (Answer::Taken { with_volume: true }, Some(words)) => {
                match pods.with(&plan.pod_to_try(Strategy::Inject, facts)).await? {
                    // Only here: other namespaces have other rules.
                    Answer::Taken { .. } => Ok(inject(format!(
                        "a pod with an image volume is refused in this namespace: {words}"
                    ))),
                    // Whatever is in the way, it isn't the volume.
                    Answer::Refused(_) | Answer::NotAllowed(_) => Ok(self.note(true)),
                }
            }
            (Answer::Taken { with_volume: false }, _) => Ok(self.note(false)),
            (Answer::NotAllowed(words) | Answer::Refused(words), _) => Ok(inject(format!(
                "it can't be found out whether the cluster has image volumes: {words}"
            ))),
        }
    }

    fn note(&self, kept: bool) -> Chosen {
        let _ = self.kept.set(kept);
        known(kept)
    }
}

/// Whether the volume and its mount are in a pod that the API server gave back. Where the feature is
/// off it drops them without a word, and older ones make an empty folder of it.
pub(crate) fn keeps_volume(pod: Option<&PodSpec>) -> bool {
    let Some(pod) = pod else { return false };
    let volumes = pod.volumes.iter().flatten();
    let mounts = pod.containers.iter().filter(|container| container.name == pod::UNPACK);
    let mut mounts = mounts.flat_map(|container| container.volume_mounts.iter().flatten());
    volumes.clone().any(|volume| volume.name == pod::BUNDLE && volume.image.is_some())
        && mounts.any(|mount| mount.name == pod::BUNDLE)
}

/// Dry runs of one kind.
struct Tried<K>(Api<K>);

/// Something with a pod in it.
pub(crate) trait WithPod {
    /// What is asked of the pod.
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

impl<K> Tried<K>
where
    K: WithPod + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    fn new(client: &kube::Client, plan: &Plan<'_>) -> Self {
        Self(Api::namespaced(client.clone(), plan.namespace()))
    }

    async fn with(&self, object: &K) -> Result<Answer, kube::Error> {
        let params = PostParams { dry_run: true, ..PostParams::default() };
        match self.0.create(&params, object).await {
            Ok(answer) => Ok(Answer::Taken { with_volume: keeps_volume(answer.pod()) }),
            Err(error) => judged(error),
        }
    }
}

/// What an error tells; those that tell nothing of the object stay errors.
fn judged(error: kube::Error) -> Result<Answer, kube::Error> {
    let kube::Error::Api(status) = &error else { return Err(error) };
    let words = shortened(&status.message);
    match status.code {
        403 if failure::is_of_authorizer(&words) => Ok(Answer::NotAllowed(words)),
        400 | 403 | 422 => Ok(Answer::Refused(words)),
        // A webhook that doesn't answer (500), or refuses with a code of its own.
        _ if words.contains("admission webhook") || words.contains("calling webhook") => {
            Ok(Answer::Refused(words))
        }
        _ => Err(error),
    }
}

fn known(kept: bool) -> Chosen {
    if kept {
        let because = Some("the cluster has image volumes".to_owned());
        Chosen { strategy: Strategy::ImageVolume, because }
    } else {
        inject("the cluster has no image volumes: the API server drops them")
    }
}

fn inject(because: impl Into<String>) -> Chosen {
    Chosen { strategy: Strategy::Inject, because: Some(because.into()) }
}

fn shortened(words: &str) -> String {
    let mut shortened =
        words.get(..words.floor_char_boundary(WORDS)).unwrap_or_default().to_owned();
    if shortened.len() < words.len() {
        shortened.push('…');
    }
    shortened
}
