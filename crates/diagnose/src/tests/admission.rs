use super::{assert_every_phrase_decides, assert_names_no_flag};
use crate::Reason;
use crate::admission::{self, RULES};

const SAMPLES: &[(&str, Reason, bool)] = &[
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: exceeded quota: full, requested: pods=1, used: pods=0, limited: pods=0",
        Reason::Quota,
        true,
    ),
    (
        "pods \"etcd-1-x7k2p\" is forbidden: status unknown for quota: full, resources: pods",
        Reason::Quota,
        true,
    ),
    (
        "Operation cannot be fulfilled on resourcequotas \"full\": the object has been modified; please apply your changes to the latest version and try again",
        Reason::Quota,
        true,
    ),
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: failed quota: full: must specify limits.cpu for: unpack",
        Reason::Quota,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: maximum memory usage per Container is 64Mi, but limit is 256Mi",
        Reason::LimitRange,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: minimum cpu usage per Pod is 100m, but request is 10m",
        Reason::LimitRange,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: memory max limit to request ratio per Container is 2, but provided ratio is 8",
        Reason::LimitRange,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false (container \"unpack\" must set securityContext.allowPrivilegeEscalation=false)",
        Reason::PodSecurity,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-\" is forbidden: unable to validate against any security context constraint: [provider restricted-v2: .spec.securityContext.runAsUser: Invalid value: 65532]",
        Reason::PodSecurity,
        false,
    ),
    (
        "Error creating: Internal error occurred: failed calling webhook \"w.example\": connection refused",
        Reason::Webhook,
        true,
    ),
    (
        "Internal error occurred: failed to call webhook: Post \"https://w.example.svc:443/\": service \"w\" not found",
        Reason::Webhook,
        true,
    ),
    (
        "Error creating: admission webhook \"w.example\" denied the request: exceeded quota: mine",
        Reason::Webhook,
        false,
    ),
    (
        "pods \"etcd\" is forbidden: one or more images rejected by webhook backend",
        Reason::Webhook,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-x7k2p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        Reason::AdmissionPolicy,
        false,
    ),
    (
        "pods \"etcd\" is forbidden: MutatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        Reason::AdmissionPolicy,
        false,
    ),
    (
        "Error creating: pods \"etcd-1-\" is forbidden: error looking up service account ns/etcd: serviceaccount \"etcd\" not found",
        Reason::NoServiceAccount,
        false,
    ),
    (
        "jobs.batch \"etcd-1\" is forbidden: unable to create new content in namespace ns because it is being terminated",
        Reason::Namespace,
        false,
    ),
    ("namespaces \"ns\" not found", Reason::Namespace, false),
    (
        "Error creating: pods \"etcd-1-\" is forbidden: no PriorityClass with name high was found",
        Reason::ApiRefused,
        false,
    ),
    (
        "roles.rbac.authorization.k8s.io \"etcd\" is forbidden: user \"dev\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"configmaps\"], ResourceNames:[\"etcd\"], Verbs:[\"get\" \"update\"]}",
        Reason::Forbidden,
        false,
    ),
];

#[test]
fn refusals_are_known_by_their_messages() {
    for (message, reason, is_transient) in SAMPLES {
        let failure = admission::classify(message, "the pod of job/etcd-1")
            .unwrap_or_else(|| panic!("unknown: {message}"));
        assert_eq!((failure.reason, failure.is_transient), (*reason, *is_transient), "{message}");
        assert_names_no_flag(&failure);
    }
}

#[test]
fn every_phrase_about_admission_is_needed() {
    let samples: Vec<_> = SAMPLES.iter().map(|(message, ..)| message.to_lowercase()).collect();
    assert_every_phrase_decides(RULES, &samples);
}

#[test]
fn other_missing_objects_are_not_a_missing_namespace() {
    for message in [
        "configmaps \"etcd\" not found",
        "roles.rbac.authorization.k8s.io \"namespaces\" not found",
    ] {
        assert_eq!(admission::classify(message, "configmap/etcd"), None, "{message}");
    }
}

#[test]
fn message_leaves_out_the_name_of_a_pod_that_was_never_created() {
    let failure = admission::classify(SAMPLES[0].0, "the pod of job/etcd-1").unwrap();
    assert_eq!(
        failure.message,
        "a quota does not allow the pod of job/etcd-1: \"exceeded quota: full, requested: pods=1, used: pods=0, limited: pods=0\""
    );
}
