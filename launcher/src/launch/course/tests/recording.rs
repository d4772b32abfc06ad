//! Recordings of failures, from what the ConfigMap holds by then.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use unlade_config_map::{mark, protocol::record::FAILURE};
use unlade_name::ImageReference;

use super::*;
use crate::FailureRecord;
use crate::call::Reply;
use crate::launch::course::recording::{NextRequest, Returned};
use crate::seal::Seal;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const OTHER: &str = "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Returns what follows, briefly, if requests return this.
fn progress(
    attempt: Option<&Attempt>,
    failure: Failure,
    is_recorded: bool,
    returned: impl IntoIterator<Item = Returned>,
) -> String {
    let running = unpacking("a", "Running", &json!({"running": {}}));
    let seen = seen(empty(), job(&json!([])), vec![running]);
    progress_after(&seen, attempt, failure, is_recorded, returned)
}

/// Does the same after this was `seen`.
fn progress_after(
    seen: &Seen,
    attempt: Option<&Attempt>,
    failure: Failure,
    is_recorded: bool,
    returned: impl IntoIterator<Item = Returned>,
) -> String {
    let (request, options) = (Request::new(IMAGE, "default"), Options::new(TOOL));
    let plan = Plan::new(&request, &options).unwrap();
    let baseline = baseline();
    let mut recording = Recording::new(&plan, &baseline, attempt, failure, is_recorded);
    assert!(matches!(recording.step(seen, None), NextRequest::ReadConfigMap));
    let mut progress = None;
    for returned in returned {
        progress = Some(recording.step(seen, Some(returned)));
    }
    match progress.unwrap() {
        NextRequest::ReadConfigMap => "read".into(),
        NextRequest::ReadSeal(_) => "seal".into(),
        NextRequest::ReadNamespace => "namespace".into(),
        NextRequest::Patch(patch) if patch.get("data").is_some() => "withdraw".into(),
        NextRequest::Patch(patch) => {
            assert!(patch["metadata"]["annotations"][FAILURE].is_string(), "{patch}");
            "patch".into()
        }
        NextRequest::Done(Ok(_)) => "written".into(),
        NextRequest::Done(Err(failure))
            if failure.hint.as_ref().is_some_and(|it| it.contains("still contains")) =>
        {
            format!("{:?} with content", failure.reason)
        }
        NextRequest::Done(Err(failure)) => format!("{:?}", failure.reason),
    }
}

fn found(config_map: ConfigMap) -> Returned {
    Returned::ConfigMap(Ok(Reply::Done(config_map)))
}

#[test]
fn the_config_map_decides_what_is_recorded() {
    let attempt = attempt(Strategy::Inject);
    let with = |key: &str, value: String| {
        let mut config_map = empty();
        config_map.annotations_mut().insert(key.to_owned(), value);
        found(config_map)
    };
    let record = FailureRecord {
        attempt: Some(JOB.into()),
        job: None,
        failure: failure(Reason::ImageNotFound),
    };
    let record = serde_json::to_string(&record).unwrap();
    let mut altered = filled(JOB);
    altered.data.as_mut().unwrap().clear();
    let mut other = empty();
    other.metadata.uid = Some("other".into());
    let mut deleted = empty();
    deleted.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    let missing = || Returned::ConfigMap(Ok(Reply::Missing));
    let terminating = |is_terminating| Returned::Namespace { is_terminating };
    let unreachable = || Err(failure(Reason::ApiUnreachable));
    for (name, returned, expected) in [
        ("empty", vec![found(empty())], "patch"),
        ("changed meanwhile", vec![found(empty()), Returned::Patch(Ok(Reply::Changed))], "read"),
        ("recorded", vec![found(empty()), Returned::Patch(Ok(Reply::Done(empty())))], "Killed"),
        ("not recorded", vec![found(empty()), Returned::Patch(unreachable())], "Killed"),
        ("not read", vec![Returned::ConfigMap(unreachable())], "Killed"),
        ("filled", vec![found(filled(JOB))], "written"),
        ("filled with other content", vec![found(altered)], "Killed"),
        ("filled by another attempt", vec![found(filled("other"))], "Killed"),
        ("another ConfigMap", vec![found(other)], "Killed"),
        ("recorded by another launcher", vec![with(FAILURE, record)], "ImageNotFound"),
        ("deleted", vec![missing()], "namespace"),
        ("being deleted", vec![found(deleted)], "namespace"),
        ("deleted alone", vec![missing(), terminating(false)], "ConfigMapDeleted"),
        ("deleted with its namespace", vec![missing(), terminating(true)], "Namespace"),
    ] {
        assert_eq!(
            progress(Some(&attempt), failure(Reason::Killed), true, returned),
            expected,
            "{name}"
        );
    }
    let quiet = progress(Some(&attempt), failure(Reason::Killed), false, [found(empty())]);
    assert_eq!(quiet, "Killed", "it is not ours to record");
    let early = progress(None, failure(Reason::Quota), true, [found(empty())]);
    assert_eq!(early, "patch", "there was no attempt");
    let early = progress(None, failure(Reason::Quota), true, [with(mark::ATTEMPT, JOB.into())]);
    assert_eq!(early, "Quota", "someone has filled it");
}

#[test]
fn content_of_another_image_is_withdrawn() {
    let attempt = attempt(Strategy::Inject);
    let replaced =
        |returned| progress(Some(&attempt), failure(Reason::ImageReplaced), true, returned);
    assert_eq!(replaced(vec![found(filled(JOB))]), "withdraw");
    let forbidden = Returned::Patch(Err(failure(Reason::Forbidden)));
    assert_eq!(replaced(vec![found(filled(JOB)), forbidden]), "ImageReplaced with content");
    let mut immutable = filled(JOB);
    immutable.immutable = Some(true);
    assert_eq!(replaced(vec![found(immutable)]), "ImageReplaced with content");
}

#[test]
fn content_of_an_unknown_image_is_withdrawn_unless_it_is_verified_by_then() {
    let mut attempt = attempt(Strategy::Inject);
    attempt.wanted.bundle = ImageReference::parse(&format!("{IMAGE}@sha256:{HEX}")).unwrap();
    let running = unpacking("a", "Running", &json!({"running": {}}));
    let mut other = attempt.clone();
    other.wanted.bundle = ImageReference::parse(&format!("{IMAGE}@sha256:{OTHER}")).unwrap();
    let two: Job =
        read(json!({"metadata": {"name": "etcd-1", "uid": JOB}, "status": {"active": 2}}));
    let unverified = |attempt: &Attempt, job: Job, returned| {
        let seen = seen(empty(), job, vec![running.clone()]);
        let failure = failure(Reason::ImageUnverified);
        progress_after(&seen, Some(attempt), failure, true, returned)
    };
    let image = attempt.wanted.bundle.to_string();
    let filled = || filled_from(&image, JOB);
    assert_eq!(unverified(&attempt, two.clone(), vec![found(filled())]), "seal");
    let unsealed = Returned::Seal(Box::new(filled()), None);
    assert_eq!(unverified(&attempt, two, vec![found(filled()), unsealed]), "withdraw");
    // The watch of the pods was behind that of the ConfigMap.
    assert_eq!(unverified(&attempt, job(&json!([])), vec![found(filled())]), "written");
    assert_eq!(unverified(&other, job(&json!([])), vec![found(filled())]), "withdraw");
}

#[test]
fn content_that_another_launch_has_verified_is_not_withdrawn() {
    // The watches of this launch are behind: it has not observed the second pod of the Job.
    let two = read(json!({"metadata": {"name": "etcd-1", "uid": JOB}, "status": {"active": 2}}));
    let running = unpacking("a", "Running", &json!({"running": {}}));
    let seen = seen(empty(), two, vec![running]);
    let bundle = ImageReference::parse(&format!("{IMAGE}@sha256:{HEX}")).unwrap();
    let config_map = filled_from(bundle.as_str(), JOB);
    let seal = Seal {
        config_map: CONFIG_MAP.into(),
        content: config_map.annotations()[mark::DIGEST].clone(),
        image: IMAGE.into(),
        image_digest: format!("sha256:{HEX}"),
        digest_source: crate::DigestSource::ContainerStatus,
    };
    let sealed = |seal| Returned::Seal(Box::new(config_map.clone()), seal);
    for (ownership, returned, expected) in [
        (JobOwnership::Own, vec![], "withdraw"),
        (JobOwnership::Same, vec![], "seal"),
        (JobOwnership::Same, vec![sealed(Some(seal))], "written"),
        (JobOwnership::Same, vec![sealed(None)], "withdraw"),
    ] {
        let mut attempt = Attempt { ownership, ..attempt(Strategy::Inject) };
        attempt.wanted.bundle = bundle.clone();
        let returned = [found(config_map.clone())].into_iter().chain(returned);
        let failure = failure(Reason::Conflict);
        assert_eq!(progress_after(&seen, Some(&attempt), failure, true, returned), expected);
    }
}
