//! Courses of attempts without an API server: what is asked, in what order, and until when.

mod recording;

use serde_json::json;

use super::*;
use crate::launch::decision::JobOwnership;
use crate::launch::judge::tests::{
    CONFIG_MAP, IMAGE, JOB, TOOL, attempt, deadlines, empty, ended, filled, filled_from, job, read,
    seen, unpacking,
};
use crate::object::Facts;
use crate::{Options, Request, Strategy};

fn baseline() -> LaunchBaseline {
    let facts = Facts { config_map_uid: Some(CONFIG_MAP.into()), assigns_uids: false };
    LaunchBaseline { facts, written_by: None, left: [].into() }
}

/// Calls `test` with a function that takes a step, with an answer and at this second. It returns
/// the actions briefly, without the reported steps of the pod.
fn with_course(
    ownership: JobOwnership,
    test: impl FnOnce(&mut dyn FnMut(&Seen, Option<Answer>, u64) -> String),
) {
    let (request, options) = (Request::new(IMAGE, "default"), Options::new(TOOL));
    let plan = Plan::new(&request, &options).unwrap();
    let attempt = Attempt { ownership, ..attempt(Strategy::Inject) };
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let baseline = baseline();
    let mut course = Course::new(&plan, &baseline, &attempt, false, &mut budget, Duration::ZERO);
    test(&mut |seen, answer, now| {
        let actions = course.step(seen, answer, Duration::from_secs(now));
        actions.iter().filter_map(short).collect::<Vec<_>>().join(" ")
    });
}

fn short(action: &Action<'_>) -> Option<String> {
    Some(match action {
        Action::Report(_) => return None,
        Action::WaitOn(on) => format!("on:{:?}", on.reason),
        Action::Proceed => "proceed".into(),
        Action::StopWaiting => "stop".into(),
        Action::WatchEvents(_) => "events".into(),
        Action::Ask(Question::Confirm(failure)) => format!("confirm:{:?}", failure.reason),
        Action::Ask(Question::Explain(failure)) => format!("explain:{:?}", failure.reason),
        Action::Ask(Question::EndJob) => "end".into(),
        Action::Ask(Question::Record(_)) => "record".into(),
        Action::Wait { until } => format!("wait:{}", until.as_secs()),
        Action::Finish(Ok(_)) => "written".into(),
        Action::Finish(Err((failure, continuation))) => {
            format!("{continuation:?}:{:?}", failure.reason)
        }
    })
}

fn failure(reason: Reason) -> Failure {
    Failure::new(reason, "it failed")
}

fn explained(reason: Reason) -> Answer {
    Answer::Explained(failure(reason))
}

fn none() -> Seen {
    seen(empty(), job(&json!([])), vec![])
}

fn bad_bundle() -> Seen {
    seen(empty(), job(&json!([])), vec![ended("a", 11)])
}

#[test]
fn an_attempt_is_followed_until_its_content_is_there() {
    with_course(JobOwnership::Own, |step| {
        assert_eq!(step(&none(), None, 0), "proceed wait:1");
        assert_eq!(step(&none(), None, 1), "proceed events wait:100");
        let running = unpacking("a", "Running", &json!({"running": {}}));
        assert_eq!(step(&seen(filled(JOB), job(&json!([])), vec![running]), None, 2), "written");
    });
}

#[test]
fn a_failure_is_explained_and_recorded_before_the_job_is_ended() {
    with_course(JobOwnership::Own, |step| {
        assert_eq!(step(&bad_bundle(), None, 5), "stop explain:BadBundle");
        assert_eq!(step(&bad_bundle(), Some(explained(Reason::BadBundle)), 6), "record");
        let recorded = Answer::Recorded(Err(failure(Reason::BadBundle)));
        assert_eq!(step(&bad_bundle(), Some(recorded), 7), "end");
        assert_eq!(step(&bad_bundle(), Some(Answer::JobEnded), 8), "Fail:BadBundle");
    });
}

#[test]
fn the_pod_of_an_exited_container_gets_two_seconds_to_end() {
    let exited = unpacking("a", "Running", &json!({"terminated": {"exitCode": 11}}));
    let exited = seen(empty(), job(&json!([])), vec![exited]);
    let recorded = || {
        let mut failure = failure(Reason::BadBundle);
        failure.evidence.object = Some(ObjectRef::pod("a"));
        failure.evidence.exit_code = Some(11);
        Some(Answer::Recorded(Err(failure)))
    };
    for (seen, now) in [(&exited, 12), (&bad_bundle(), 11)] {
        with_course(JobOwnership::Own, |step| {
            assert_eq!(step(&exited, None, 5), "stop explain:BadBundle");
            assert_eq!(step(&exited, Some(explained(Reason::BadBundle)), 6), "record");
            assert_eq!(step(&exited, recorded(), 10), "wait:12");
            assert_eq!(step(seen, None, now), "end");
        });
    }
}

#[test]
fn a_job_that_may_still_write_another_image_is_ended_before_the_failure_is_recorded() {
    let over = seen(empty(), job(&json!([{"type": "Failed", "status": "True"}])), vec![]);
    let forbidden = || Some(Answer::WatchForbidden(failure(Reason::Forbidden)));
    for (seen, answer, now) in [(&none(), None, 55), (&over, None, 20), (&none(), forbidden(), 20)]
    {
        with_course(JobOwnership::Own, |step| {
            assert_eq!(step(&bad_bundle(), None, 5), "stop explain:BadBundle");
            assert_eq!(step(&none(), Some(explained(Reason::ImageReplaced)), 6), "end");
            assert_eq!(step(&none(), Some(Answer::JobEnded), 10), "wait:55");
            let marked = self::seen(filled(JOB), job(&json!([])), vec![]);
            assert_eq!(step(&marked, None, 15), "wait:55", "the Job may write again");
            assert_eq!(step(seen, answer, now), "record");
            let recorded = Answer::Recorded(Err(failure(Reason::ImageReplaced)));
            assert_eq!(step(&none(), Some(recorded), now), "Fail:ImageReplaced");
        });
    }
}

#[test]
fn content_that_came_after_the_failure_is_a_success() {
    with_course(JobOwnership::Own, |step| {
        step(&bad_bundle(), None, 5);
        step(&bad_bundle(), Some(explained(Reason::Killed)), 6);
        let config_map = filled(JOB);
        let images = crate::launch::image::Observed::default();
        let written = Answer::Recorded(Ok(Box::new(Written { config_map, images })));
        assert_eq!(step(&bad_bundle(), Some(written), 7), "written");
    });
}

#[test]
fn a_pull_secret_that_exists_makes_the_failure_retryable() {
    with_course(JobOwnership::Own, |step| {
        step(&bad_bundle(), None, 5);
        let transient = failure(Reason::NoPullSecret).with_transience(true);
        assert_eq!(step(&bad_bundle(), Some(Answer::Explained(transient)), 6), "record");
        let recorded = Answer::Recorded(Err(failure(Reason::NoPullSecret)));
        assert_eq!(step(&bad_bundle(), Some(recorded), 7), "end");
        assert_eq!(step(&bad_bundle(), Some(Answer::JobEnded), 8), "Retry:NoPullSecret");
    });
}

#[test]
fn an_event_is_confirmed_every_five_seconds() {
    let mut refused = none();
    refused.events.note(read(json!({
        "metadata": {"name": "refused", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "involvedObject": {"uid": JOB},
        "reason": "FailedCreate",
        "message": "Error creating: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"",
    })));
    with_course(JobOwnership::Own, |step| {
        let confirm = "on:PodSecurity confirm:PodSecurity";
        assert_eq!(step(&refused, None, 5), confirm);
        let unconfirmed = || Some(Answer::Confirmed(None));
        assert_eq!(step(&refused, unconfirmed(), 6), "wait:6");
        assert_eq!(step(&refused, None, 6), "on:PodSecurity events wait:11");
        assert_eq!(step(&refused, None, 8), "on:PodSecurity events wait:11");
        assert_eq!(step(&refused, None, 11), confirm);
        let confirmed = Answer::Confirmed(Some(Box::new(failure(Reason::PodSecurity))));
        assert_eq!(step(&refused, Some(confirmed), 12), "stop explain:PodSecurity");
    });
}

#[test]
fn a_forbidden_watch_ends_the_wait() {
    with_course(JobOwnership::Own, |step| {
        step(&none(), None, 5);
        let forbidden = Answer::WatchForbidden(failure(Reason::Forbidden));
        assert_eq!(step(&none(), Some(forbidden), 6), "stop explain:Forbidden");
    });
}

#[test]
fn a_job_of_other_options_is_left_alone() {
    let status = json!({"waiting": {"reason": "ErrImagePull", "message": "x: not found"}});
    let absent = seen(empty(), job(&json!([])), vec![unpacking("a", "Pending", &status)]);
    with_course(JobOwnership::Other, |step| {
        assert_eq!(step(&absent, None, 5), "stop explain:ImageNotFound");
        assert_eq!(step(&absent, Some(explained(Reason::ImageNotFound)), 6), "record");
        let recorded = Answer::Recorded(Err(failure(Reason::ImageNotFound)));
        assert_eq!(step(&absent, Some(recorded), 7), "Retry:ImageNotFound");
    });
}

#[test]
fn an_answer_to_another_question_is_a_bug() {
    with_course(JobOwnership::Own, |step| {
        step(&bad_bundle(), None, 5);
        assert_eq!(step(&bad_bundle(), Some(Answer::JobEnded), 6), "Fail:Internal");
    });
}
