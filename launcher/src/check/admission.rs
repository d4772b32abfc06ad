//! Checks of admission: every object of a launch but the RoleBinding is created as a dry run, the
//! pod once for each strategy.

use futures::future::OptionFuture;
use k8s_openapi::api::core::v1::{Namespace, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic};
use crate::Strategy;
use crate::dry_run::Refusal;
use crate::object::{Facts, Plan, pod::BUNDLE};
use crate::strategy::{WithPod, keeps_volume};

#[cfg(test)]
mod tests;

/// The label with the level that Pod Security enforces in a namespace.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

const LEVEL: Topic = Topic(Category::Admission, "pod-security");
const CONFIG_MAP: Tried = (Topic(Category::Admission, "configmap"), "the ConfigMap");
const ACCOUNT: Tried = (Topic(Category::Admission, "serviceaccount"), "the ServiceAccount");
const ROLE: Tried = (Topic(Category::Admission, "role"), "the Role");
const SECRET: Tried = (Topic(Category::Admission, "secret"), "the Secret with the credentials");
const JOB: Tried = (Topic(Category::Admission, "job"), "the Job");
const INJECT: Tried =
    (Topic(Category::Admission, "pod-inject"), "the pod with the unpacker injected");
const MOUNT: Tried =
    (Topic(Category::Admission, "pod-image-volume"), "the pod with an image volume");
const VOLUMES: Topic = Topic(Category::ImageVolumes, "supported");

type DryRunResult<K> = Result<K, Refusal>;
/// The check of an object, and the name of the object in messages.
type Tried = (Topic, &'static str);

/// Creates the objects as a dry run, with the Secret if the launch gives the nodes credentials.
/// Also returns a pod as the API server would store it, if it accepts one.
pub(super) async fn checks(
    cluster: &Cluster<'_>,
    plan: &Plan<'_>,
    facts: &Facts,
    lends_credentials: bool,
    namespace: Option<&Namespace>,
) -> (Vec<Check>, Option<PodSpec>) {
    let candidates = plan.options().candidates(plan.image());
    let has = |strategy| candidates.contains(&strategy);
    let mut config_map = plan.config_map();
    generate_name(&mut config_map.metadata);
    let access = plan.access(facts).map(|mut access| {
        generate_name(&mut access.service_account.metadata);
        generate_name(&mut access.role.metadata);
        access
    });
    let secret = lends_credentials.then(|| {
        let mut secret = plan.secret_to_try(facts);
        generate_name(&mut secret.metadata);
        secret
    });
    let job = plan.job_to_try(candidates.first().copied().unwrap_or_default(), facts);
    let pod = |strategy| has(strategy).then(|| plan.pod_to_try(strategy, facts));
    let (inject, mount) = (pod(Strategy::Inject), pod(Strategy::ImageVolume));
    let (config_map, account, role, secret, job, inject, mount) = futures::join!(
        cluster.try_out(CONFIG_MAP.1, &config_map),
        OptionFuture::from(
            access.as_ref().map(|access| cluster.try_out(ACCOUNT.1, &access.service_account))
        ),
        // A dry run of the RoleBinding would fail, because the Role does not exist yet.
        OptionFuture::from(access.as_ref().map(|access| cluster.try_out(ROLE.1, &access.role))),
        OptionFuture::from(secret.as_ref().map(|secret| cluster.try_out(SECRET.1, secret))),
        cluster.try_out(JOB.1, &job),
        OptionFuture::from(inject.as_ref().map(|pod| cluster.try_out(INJECT.1, pod))),
        OptionFuture::from(mount.as_ref().map(|pod| cluster.try_out(MOUNT.1, pod))),
    );

    let admitted = [&mount, &inject].into_iter().find_map(|it| it.as_ref()?.as_ref().ok());
    let admitted = admitted.and_then(|pod| pod.spec.clone());
    let volumes = has(Strategy::ImageVolume)
        .then(|| volumes(kept(mount.as_ref()), kept(Some(&job)), plan.options().strategy));
    let mut checks = vec![level(namespace)];
    checks.push(judge(CONFIG_MAP, config_map, Outcome::Failed));
    checks.extend(account.map(|it| judge(ACCOUNT, it, Outcome::Failed)));
    checks.extend(role.map(|it| judge(ROLE, it, Outcome::Failed)));
    checks.extend(secret.map(|it| judge(SECRET, it, Outcome::Failed)));
    checks.push(judge(JOB, job, Outcome::Failed));
    checks.extend(pods(inject, mount));
    checks.extend(volumes);
    (checks, admitted)
}

/// Lets the API server generate a name, because an object of an earlier launch may have this one.
fn generate_name(metadata: &mut ObjectMeta) {
    metadata.generate_name = metadata.name.take().map(|name| format!("{name}-"));
}

/// Judges the pods of all strategies that a launch may use. One admitted pod is enough.
fn pods<K>(inject: Option<DryRunResult<K>>, mount: Option<DryRunResult<K>>) -> Vec<Check> {
    let is_rejected =
        |result: &Option<DryRunResult<K>>| matches!(result, Some(Err(Refusal::Rejected(_))) | None);
    let are_rejected = is_rejected(&inject) && is_rejected(&mount);
    let worst = if are_rejected { Outcome::Failed } else { Outcome::Warning };
    let inject = inject.map(|it| judge(INJECT, it, worst));
    let mount = mount.map(|it| judge(MOUNT, it, worst));
    inject.into_iter().chain(mount).collect()
}

/// Judges the result of one dry run. `rejected` is the outcome of a rejection.
fn judge<K>((topic, object): Tried, result: DryRunResult<K>, rejected: Outcome) -> Check {
    match result {
        Ok(_) => topic.ok(format!("the API server accepts {object} (dry run)")),
        Err(Refusal::Forbidden(_)) => {
            topic.skipped(format!("{object} was not checked: creating it is forbidden"))
        }
        Err(Refusal::NoDryRun(failure)) => {
            let message = failure.evidence.message.unwrap_or_default();
            topic.warning(format!("failed to create {object} as a dry run: {message:?}"))
        }
        Err(Refusal::Rejected(failure)) => topic.report(rejected, failure),
    }
}

/// Reports the level that the namespace's label enforces. The pod meets the strictest one.
fn level(namespace: Option<&Namespace>) -> Check {
    let Some(namespace) = namespace else {
        return LEVEL
            .skipped("the Pod Security level is unknown: reading the namespace is forbidden");
    };
    let labels = namespace.metadata.labels.as_ref();
    match labels.and_then(|labels| labels.get(ENFORCE)).map(String::as_str) {
        None => LEVEL.ok("no label of the namespace sets a Pod Security level"),
        Some(level @ ("restricted" | "baseline" | "privileged")) => {
            LEVEL.ok(format!("Pod Security enforces {level}; the pod meets the level restricted"))
        }
        Some(level) => LEVEL.warning(format!(
            "{level:?} is not a Pod Security level: the API server enforces restricted instead"
        )),
    }
}

/// Checks whether an admitted object still has its image volume.
fn kept<K: WithPod>(result: Option<&DryRunResult<K>>) -> Option<bool> {
    result.and_then(|result| result.as_ref().ok()).map(|object| keeps_volume(object.pod(), BUNDLE))
}

/// Judges whether the API server keeps image volumes. The Job decides if no pod could be tried.
fn volumes(by_pod: Option<bool>, by_job: Option<bool>, strategy: Strategy) -> Check {
    match by_pod.or(by_job) {
        Some(true) => VOLUMES.ok("the API server supports image volumes"),
        Some(false) => {
            let is_fatal = strategy == Strategy::ImageVolume;
            let outcome = if is_fatal { Outcome::Failed } else { Outcome::Warning };
            let instead = if is_fatal { "" } else { "; launches inject the unpacker instead" };
            let message = format!("the API server does not support image volumes: it drops them{instead}");
            VOLUMES.check(outcome, message).with_hint(
                "upgrade to Kubernetes 1.35 or later, or enable the feature gate ImageVolume in \
                 Kubernetes 1.31 or later",
            )
        }
        None => VOLUMES.skipped(
            "cannot check whether the API server supports image volumes: it accepts neither the pod nor the Job",
        ),
    }
}
