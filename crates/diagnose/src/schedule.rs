//! Classification of pods that have no node or lost it.

use k8s_openapi::api::core::v1::{Event, Pod, PodCondition};

use super::bound::quoted;
use super::{Evidence, Failure, ObjectRef, Reason, Remedy, event, without_middle};

/// Classifies the reason in the pod's status: its node rejected the pod, or terminated it.
pub(super) fn classify_status(pod: &Pod, object: &ObjectRef) -> Option<Failure> {
    let status = pod.status.as_ref()?;
    let state = status.reason.as_deref()?;
    let message = &*without_middle(status.message.as_deref().unwrap_or_default());
    let described = if message.is_empty() { state.to_owned() } else { quoted(message) };
    let failure = match state {
        "Evicted" | "Preempting" => {
            Failure::new(Reason::Evicted, format!("the node evicted {object}: {described}"))
        }
        // `NodeLost` means that the kubelet does not respond; the others, that the node was shut
        // down.
        "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" => {
            Failure::new(Reason::NodeLost, format!("{object} lost its node: {described}"))
        }
        "DeadlineExceeded" => {
            Failure::new(Reason::Deadline, format!("{object} exceeded its deadline: {described}"))
        }
        // The kubelet repeats the scheduler's checks (lifecycle/predicate.go) and may reject the
        // pod. New versions add reasons.
        _ => Failure::new(
            Reason::Unschedulable,
            format!("the node rejected {object}: {state}, {described}"),
        ),
    };
    Some(failure.with_evidence(Evidence {
        object: Some(object.clone()),
        state: Some(state.to_owned()),
        message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        ..Evidence::default()
    }))
}

/// Classifies a disruption of the pod: preemption, a drain, a taint or the deletion of its node.
pub(super) fn classify_disruption(pod: &Pod, object: &ObjectRef) -> Option<Failure> {
    let condition = condition(pod, "DisruptionTarget").filter(|it| it.status == "True")?;
    let state = condition.reason.as_deref().unwrap_or_default();
    let message = quoted(&without_middle(condition.message.as_deref().unwrap_or(state)));
    let failure = match state {
        "DeletionByTaintManager" | "DeletionByPodGC" => {
            Failure::new(Reason::NodeLost, format!("{object} lost its node: {message}"))
        }
        _ => {
            Failure::new(Reason::Evicted, format!("{object} was evicted from its node: {message}"))
        }
    };
    Some(failure.with_evidence(evidence(condition, object)))
}

/// Classifies the reason why the pod has no node.
pub(super) fn classify_scheduling(pod: &Pod, object: &ObjectRef) -> Option<Failure> {
    let condition = condition(pod, "PodScheduled").filter(|it| it.status == "False")?;
    let message = condition.message.as_deref().or(condition.reason.as_deref());
    let message = &*without_middle(message.unwrap_or_default());
    let failure = Failure::new(
        Reason::Unschedulable,
        format!("no node accepts {object}: {}", quoted(message)),
    );
    Some(advise(failure, message).with_evidence(evidence(condition, object)))
}

/// Returns a failure if the node of a running pod no longer responds.
pub(super) fn classify_node(pod: &Pod, object: &ObjectRef, events: &[&Event]) -> Option<Failure> {
    let is_unready = condition(pod, "Ready").is_some_and(|it| it.status == "False");
    // The node controller sets the condition, and creates an event at the same time. A kubelet that
    // has returned sets the condition to the actual state.
    let event = events.iter().find(|event| event::reason(event) == "NodeNotReady")?;
    let runs = super::container::statuses(pod)
        .any(|status| status.state.as_ref().is_some_and(|state| state.running.is_some()));
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    let failure =
        Failure::new(Reason::NodeLost, format!("the node {node} of {object} does not respond"));
    (is_unready && runs).then(|| failure.with_evidence(event::evidence(event, object)))
}

/// Returns the failure with a hint why the nodes do not accept the pod, and with remedies.
fn advise(failure: Failure, message: &str) -> Failure {
    const HINTS: [(&str, &str, &[Remedy]); 3] = [
        (
            "untolerated taint",
            "check the taints of the nodes, which the pod does not tolerate",
            &[Remedy::Toleration],
        ),
        (
            "didn't match Pod's node affinity/selector",
            "check the labels of the nodes, including the architectures that the tool image \
             supports",
            &[Remedy::NodeSelector],
        ),
        (
            "Insufficient",
            "free resources on the nodes, or wait for an autoscaler",
            &[Remedy::LowerRequests],
        ),
    ];
    match HINTS.into_iter().find(|(phrase, ..)| message.contains(phrase)) {
        Some((_, hint, remedies)) => failure.with_advice(hint, remedies),
        None => failure,
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn evidence(condition: &PodCondition, object: &ObjectRef) -> Evidence {
    Evidence {
        object: Some(object.clone()),
        state: condition.reason.clone(),
        message: condition.message.clone(),
        ..Evidence::default()
    }
}
