use crate::{Reason, RequestError, Status, classify_request_error};

/// The code, the reason and the message of the status; the reason of the failure, and whether it is
/// transient.
const ANSWERS: &[(u16, &str, &str, Reason, bool)] = &[
    (
        400,
        "BadRequest",
        "Job in version \"v1\" cannot be handled as a Job",
        Reason::ApiRefused,
        false,
    ),
    (401, "Unauthorized", "Unauthorized", Reason::Forbidden, false),
    (
        403,
        "Forbidden",
        "jobs.batch is forbidden: User \"dev\" cannot create resource \"jobs\" in API group \"batch\" in the namespace \"ns\"",
        Reason::Forbidden,
        false,
    ),
    (
        403,
        "Forbidden",
        "configmaps \"etcd\" is forbidden: exceeded quota: full, requested: configmaps=1, used: configmaps=1, limited: configmaps=1",
        Reason::Quota,
        true,
    ),
    (
        403,
        "Forbidden",
        "pods \"etcd\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
        Reason::PodSecurity,
        false,
    ),
    (
        400,
        "BadRequest",
        "admission webhook \"w.example\" denied the request: no",
        Reason::Webhook,
        false,
    ),
    (
        500,
        "InternalError",
        "Internal error occurred: failed calling webhook \"w.example\": failed to call webhook: Post \"https://w.example/\": dial tcp 127.0.0.1:9: connect: connection refused",
        Reason::Webhook,
        true,
    ),
    (
        422,
        "Invalid",
        "jobs.batch \"etcd-1\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        Reason::AdmissionPolicy,
        false,
    ),
    (404, "NotFound", "namespaces \"ns\" not found", Reason::Namespace, false),
    (
        403,
        "Forbidden",
        "configmaps \"etcd\" is forbidden: unable to create new content in namespace ns because it is being terminated",
        Reason::Namespace,
        false,
    ),
    (404, "NotFound", "configmaps \"etcd\" not found", Reason::ApiRefused, false),
    (409, "AlreadyExists", "configmaps \"etcd\" already exists", Reason::NameTaken, false),
    (
        409,
        "AlreadyExists",
        "object is being deleted: configmaps \"etcd\" already exists",
        Reason::Conflict,
        true,
    ),
    (
        409,
        "Conflict",
        "Operation cannot be fulfilled on configmaps \"etcd\": the object has been modified",
        Reason::Conflict,
        true,
    ),
    (
        410,
        "Expired",
        "The resourceVersion for the provided watch is too old.",
        Reason::ApiUnreachable,
        true,
    ),
    (
        422,
        "Invalid",
        "Job.batch \"etcd-1\" is invalid: spec.template: Invalid value",
        Reason::ApiRefused,
        false,
    ),
    (
        429,
        "TooManyRequests",
        "The apiserver is handling too many requests",
        Reason::ApiUnreachable,
        true,
    ),
    (500, "InternalError", "etcdserver: request timed out", Reason::ApiUnreachable, true),
    (503, "ServiceUnavailable", "apiserver is shutting down", Reason::ApiUnreachable, true),
    (
        504,
        "Timeout",
        "Timeout: request did not complete within the allotted timeout",
        Reason::ApiUnreachable,
        true,
    ),
];

#[test]
fn replies_of_the_api_server_have_their_reasons() {
    for (code, state, message, reason, is_transient) in ANSWERS {
        let status =
            Status { code: *code, reason: state, message, is_namespace_terminating: false };
        let failure = classify_request_error(RequestError::Status(status), "create Job etcd-1");
        assert_eq!(
            (failure.reason, failure.is_transient),
            (*reason, *is_transient),
            "{code} {message}"
        );
        assert!(failure.message.contains("Job etcd-1"), "{}", failure.message);
        assert_eq!(failure.evidence.message.as_deref(), Some(*message));
    }
}

#[test]
fn a_terminating_namespace_is_known_by_the_cause_in_the_status() {
    let status =
        Status { code: 403, reason: "Forbidden", message: "no", is_namespace_terminating: true };
    let failure = classify_request_error(RequestError::Status(status), "create Job etcd-1");
    assert_eq!(failure.reason, Reason::Namespace);
}

#[test]
fn an_unreachable_server_is_transient_and_an_untrusted_one_is_not() {
    let classify =
        |message| classify_request_error(RequestError::NoResponse(message), "get ConfigMap etcd");
    let silent = classify("tcp connect error: Connection refused");
    assert_eq!((silent.reason, silent.is_transient), (Reason::ApiUnreachable, true));
    let foreign = classify("invalid peer certificate: UnknownIssuer");
    assert_eq!((foreign.reason, foreign.is_transient), (Reason::ApiUnreachable, false));
}
