//! What the API server takes: every object of a launch as a dry run, the pod in each strategy.

use futures::future::OptionFuture;
use k8s_openapi::api::core::v1::{Namespace, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::cluster::{Cluster, Refusal};
use super::{Category, Check, Outcome, Topic, candidates};
use crate::Strategy;
use crate::object::{Facts, Plan};
use crate::strategy::{WithPod, keeps_volume};

#[cfg(test)]
mod tests;

/// The level that Pod Security enforces in a namespace.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

const LEVEL: Topic = Topic(Category::Admission, "pod-security");
const CONFIG_MAP: Tried = (Topic(Category::Admission, "configmap"), "the ConfigMap");
const ACCOUNT: Tried = (Topic(Category::Admission, "serviceaccount"), "the ServiceAccount");
const ROLE: Tried = (Topic(Category::Admission, "role"), "the Role");
const JOB: Tried = (Topic(Category::Admission, "job"), "the Job");
const INJECT: Tried =
    (Topic(Category::Admission, "pod-inject"), "the pod with the unpacker injected");
const MOUNT: Tried =
    (Topic(Category::Admission, "pod-image-volume"), "the pod with an image volume");
const VOLUMES: Topic = Topic(Category::ImageVolumes, "supported");

type Answer<K> = Result<K, Refusal>;
/// An object that is tried out, and what it is called.
type Tried = (Topic, &'static str);

/// Tries everything out. Also gives a pod as the API server would take it, if it takes one.
pub(super) async fn checks(
    cluster: &Cluster<'_>,
    plan: &Plan<'_>,
    facts: &Facts,
    namespace: Option<&Namespace>,
) -> (Vec<Check>, Option<PodSpec>) {
    let candidates = candidates(plan);
    let has = |strategy| candidates.contains(&strategy);
    let mut config_map = plan.config_map();
    unnamed(&mut config_map.metadata);
    let access = plan.access(facts).map(|mut access| {
        unnamed(&mut access.service_account.metadata);
        unnamed(&mut access.role.metadata);
        access
    });
    let job = plan.job_to_try(candidates.first().copied().unwrap_or_default(), facts);
    let pod = |strategy| has(strategy).then(|| plan.pod_to_try(strategy, facts));
    let (inject, mount) = (pod(Strategy::Inject), pod(Strategy::ImageVolume));
    let (config_map, account, role, job, inject, mount) = futures::join!(
        cluster.try_out(CONFIG_MAP.1, &config_map),
        OptionFuture::from(
            access.as_ref().map(|access| cluster.try_out(ACCOUNT.1, &access.service_account))
        ),
        // Its binding can't be tried before it is there.
        OptionFuture::from(access.as_ref().map(|access| cluster.try_out(ROLE.1, &access.role))),
        cluster.try_out(JOB.1, &job),
        OptionFuture::from(inject.as_ref().map(|pod| cluster.try_out(INJECT.1, pod))),
        OptionFuture::from(mount.as_ref().map(|pod| cluster.try_out(MOUNT.1, pod))),
    );

    let taken = [&mount, &inject].into_iter().find_map(|it| it.as_ref()?.as_ref().ok());
    let taken = taken.and_then(|pod| pod.spec.clone());
    let volumes = has(Strategy::ImageVolume)
        .then(|| volumes(kept(mount.as_ref()), kept(Some(&job)), plan.options().strategy));
    let mut checks = vec![level(namespace)];
    checks.push(judge(CONFIG_MAP, config_map, Outcome::Failed));
    checks.extend(account.map(|it| judge(ACCOUNT, it, Outcome::Failed)));
    checks.extend(role.map(|it| judge(ROLE, it, Outcome::Failed)));
    checks.push(judge(JOB, job, Outcome::Failed));
    checks.extend(pods(inject, mount));
    checks.extend(volumes);
    (checks, taken)
}

/// A name that isn't taken: an object may be there from an earlier launch.
fn unnamed(metadata: &mut ObjectMeta) {
    metadata.generate_name = metadata.name.take().map(|name| format!("{name}-"));
}

/// The pods of all strategies that a launch may come to. One that is taken is enough.
fn pods<K>(inject: Option<Answer<K>>, mount: Option<Answer<K>>) -> Vec<Check> {
    let is_refused =
        |answer: &Option<Answer<K>>| matches!(answer, Some(Err(Refusal::Failure(_))) | None);
    let are_refused = is_refused(&inject) && is_refused(&mount);
    let worst = if are_refused { Outcome::Failed } else { Outcome::Warning };
    let inject = inject.map(|it| judge(INJECT, it, worst));
    let mount = mount.map(|it| judge(MOUNT, it, worst));
    inject.into_iter().chain(mount).collect()
}

/// `refused` is what a refusal comes to.
fn judge<K>((topic, object): Tried, answer: Answer<K>, refused: Outcome) -> Check {
    match answer {
        Ok(_) => topic.ok(format!("the API server takes {object} (dry run)")),
        Err(Refusal::Forbidden) => {
            topic.left_out(format!("{object} isn't tried out: creating it is forbidden"))
        }
        Err(Refusal::NoDryRun(said)) => {
            topic.warning(format!("{object} can't be tried out: {said:?}"))
        }
        Err(Refusal::Failure(failure)) => topic.of(refused, failure),
    }
}

/// The level that the namespace's label enforces. The pod is made for the strictest.
fn level(namespace: Option<&Namespace>) -> Check {
    let Some(namespace) = namespace else {
        return LEVEL
            .left_out("the level of Pod Security isn't known: reading the namespace is forbidden");
    };
    let labels = namespace.metadata.labels.as_ref();
    match labels.and_then(|labels| labels.get(ENFORCE)).map(String::as_str) {
        None => LEVEL.ok("no label of the namespace sets a level of Pod Security"),
        Some(level @ ("restricted" | "baseline" | "privileged")) => {
            LEVEL.ok(format!("Pod Security enforces {level}; the pod is made for restricted"))
        }
        Some(level) => LEVEL.warning(format!(
            "Pod Security knows no level {level:?}: the API server takes it for restricted"
        )),
    }
}

/// Whether an object that was taken has its image volume still.
fn kept<K: WithPod>(answer: Option<&Answer<K>>) -> Option<bool> {
    answer.and_then(|answer| answer.as_ref().ok()).map(|object| keeps_volume(object.pod()))
}

/// Whether image volumes are kept; the Job tells where no pod may be tried.
fn volumes(by_pod: Option<bool>, by_job: Option<bool>, strategy: Strategy) -> Check {
    match by_pod.or(by_job) {
        Some(true) => VOLUMES.ok("the API server has image volumes"),
        Some(false) => {
            let is_fatal = strategy == Strategy::ImageVolume;
            let outcome = if is_fatal { Outcome::Failed } else { Outcome::Warning };
            let instead = if is_fatal { "" } else { "; the unpacker is injected" };
            let message = format!("the API server has no image volumes: it drops them{instead}");
            VOLUMES.check(outcome, message).hinted(
                "they are on since Kubernetes 1.35, and with the feature gate ImageVolume since 1.31",
            )
        }
        None => VOLUMES.left_out(
            "can't tell whether the API server has image volumes: it takes neither pod nor Job",
        ),
    }
}
