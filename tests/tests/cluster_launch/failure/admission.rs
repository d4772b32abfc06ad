//! Objects that are not admitted.

use serde_json::{Value, json};
use unlade_launcher::Reason;
use unlade_testbed::fault;
use unlade_tests::cluster::Namespace;

use super::observer::Knows;
use super::start::changed;
use super::webhook::DenyingWebhook;
use super::{Case, run};
use crate::stage::{Stage, job};

/// The observation if a pod of the Job is not admitted.
const REFUSED: Knows = Knows::Event("FailedCreate");

/// Creates a namespace with these objects in it, or for it.
fn under<'s>(stage: &'s Stage<'_>, name: &str, objects: &[Value]) -> Namespace<'s> {
    let namespace = stage.cluster.namespace(&format!("failure-{name}"));
    for object in objects {
        namespace.apply(object);
    }
    namespace
}

/// Creates a namespace, and configures the API server for it in this way.
fn configured<'s>(
    stage: &'s Stage<'_>,
    name: &str,
    objects: impl FnOnce(&str) -> Vec<Value>,
) -> Namespace<'s> {
    let namespace = stage.cluster.namespace(&format!("failure-{name}"));
    for object in objects(namespace.name()) {
        namespace.apply_cluster_wide(&object);
    }
    namespace
}

fn limit_range() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small"},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]},
    })
}

fn quota_of_cpu() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "cpu"},
        "spec": {"hard": {"limits.cpu": "4"}},
    })
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_refusals_of_quotas_limits_and_pod_security_are_reported_before_any_deadline() {
    Stage::open("failure-quota", async |stage| {
        let image = stage.push_example("quota").by_tag;
        let full = |resource| [fault::quota("", &[resource])].map(without_namespace);
        let pods = under(stage, "quota-pods", &full("pods"));
        let jobs = under(stage, "quota-jobs", &full("count/jobs.batch"));
        let maps = under(stage, "quota-maps", &full("count/configmaps"));
        let cpu = under(stage, "quota-cpu", &[quota_of_cpu()]);
        let small = under(stage, "limits", &[limit_range()]);
        let host = changed(stage, "restricted", "hostNetwork: true", |spec| {
            spec.host_network == Some(true)
        });
        let restricted = host.await;
        restricted.apply(&fault::restricted(restricted.name()));
        stage.wait_until_denied(restricted.name(), &pod()).await;
        for namespace in [&pods, &jobs, &maps, &cpu] {
            // The quota refuses nothing until the controller has computed its usage.
            let hard = ["wait", "--for=jsonpath={.status.hard}", "quota", "--all"];
            namespace.kubectl(hard).unwrap();
        }
        let case = |namespace: &Namespace<'_>, name, reason| {
            Case::new(stage, name, &image, reason).within(namespace.name()).known_by(REFUSED)
        };
        run([
            case(&pods, "quota-pods", Reason::Quota).passing(),
            case(&jobs, "quota-jobs", Reason::Quota).passing().known_by(Knows::Asked),
            case(&maps, "quota-maps", Reason::Quota).passing().known_by(Knows::Asked),
            case(&cpu, "quota-wants", Reason::Quota).saying("limits.cpu"),
            case(&small, "limit-range", Reason::LimitRange),
            case(&restricted, "pod-security", Reason::PodSecurity).saying("hostNetwork"),
        ])
        .await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_refusals_of_webhooks_and_policies_are_reported_before_any_deadline() {
    Stage::open("failure-webhook", async |stage| {
        let image = stage.push_example("webhook").by_tag;
        let webhook = DenyingWebhook::start("not on a Friday");
        let denied = configured(stage, "webhook", |name| vec![webhook.object(name, "", "pods")]);
        let denied_job =
            configured(stage, "webhook-job", |name| vec![webhook.object(name, "batch", "jobs")]);
        let dead = configured(stage, "dead", |name| vec![fault::dead_webhook(name, "", "pods")]);
        let dead_job =
            configured(stage, "dead-job", |name| vec![fault::dead_webhook(name, "batch", "jobs")]);
        let policy = configured(stage, "policy", |name| {
            fault::denying_policy(name, "", "pods", "no pods here").into()
        });
        let policy_job = configured(stage, "policy-job", |name| {
            fault::denying_policy(name, "batch", "jobs", "no Jobs here").into()
        });
        for namespace in [&denied_job, &dead_job, &policy_job] {
            stage.wait_until_denied(namespace.name(), &job()).await;
        }
        for namespace in [&denied, &dead, &policy] {
            stage.wait_until_denied(namespace.name(), &pod()).await;
        }
        let case = |namespace: &Namespace<'_>, name, reason, says| {
            let case = Case::new(stage, name, &image, reason).saying(says);
            case.within(namespace.name()).known_by(REFUSED)
        };
        run([
            case(&denied, "webhook", Reason::Webhook, "not on a Friday"),
            case(&denied_job, "webhook-job", Reason::Webhook, "not on a Friday")
                .known_by(Knows::Asked),
            case(&dead, "dead", Reason::Webhook, "failed calling webhook").passing(),
            case(&dead_job, "dead-job", Reason::Webhook, "failed calling webhook")
                .passing()
                .known_by(Knows::Asked),
            case(&policy, "policy", Reason::AdmissionPolicy, "no pods here"),
            case(&policy_job, "policy-job", Reason::AdmissionPolicy, "no Jobs here")
                .known_by(Knows::Asked),
        ])
        .await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_missing_namespace_or_account_is_reported_before_any_deadline() {
    Stage::open("failure-missing", async |stage| {
        let image = stage.push_example("missing").by_tag;
        run([
            Case::new(stage, "no-account", &image, Reason::NoServiceAccount)
                .known_by(REFUSED)
                .with(|options| options.pod.service_account = Some("none".into())),
            Case::new(stage, "no-namespace", &image, Reason::Namespace)
                .within("none-of-this-name")
                .known_by(Knows::Asked),
            Case::new(stage, "no-priority", &image, Reason::ApiRefused)
                .saying("no PriorityClass with name")
                .known_by(REFUSED)
                .with(|options| options.pod.priority_class = Some("none".into())),
        ])
        .await;
    });
}

/// Returns the object without its namespace, so that it can be applied in any namespace.
fn without_namespace(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
    object
}

/// Returns a valid pod.
fn pod() -> k8s_openapi::api::core::v1::Pod {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe"},
        "spec": {"containers": [{"name": "none", "image": "unlade.test/none:1"}]},
    });
    serde_json::from_value(object).unwrap()
}
