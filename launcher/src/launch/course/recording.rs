//! [`Recording`]: decides whether and how a failure is recorded on the ConfigMap. It performs no
//! I/O.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde_json::{Value, json};
use unlade_config_map::{clear_content, fill, mark, protocol::record::FAILURE};

use crate::call::Reply;
use crate::launch::attempt::LaunchBaseline;
use crate::launch::decision::JobOwnership;
use crate::launch::image::{Comparison, Observed};
use crate::launch::judge::{
    Attempt, Written, bears_mark, compared, config_map_deleted, namespace_terminating,
    verify_content,
};
use crate::launch::reuse::verified_image;
use crate::launch::watch::Seen;
use crate::object::Plan;
use crate::record::FailureRecord;
use crate::seal::Seal;
use crate::strategy::without_applied_remedy;
use crate::{Failure, Reason};

/// The next request of the recording of a failure.
#[derive(Debug)]
pub(in crate::launch) enum NextRequest {
    /// To read the current ConfigMap.
    ReadConfigMap,
    /// To read the seal of this ConfigMap.
    ReadSeal(Box<ConfigMap>),
    /// To find out whether the namespace is gone or is being deleted.
    ReadNamespace,
    /// To change the ConfigMap with this patch.
    Patch(Value),
    /// None. This is what was written after all, or the failure to report.
    Done(Result<Box<Written>, Failure>),
}

/// What a request of a recording returned.
#[derive(Debug)]
pub(in crate::launch) enum Returned {
    /// The response to the request for the ConfigMap.
    ConfigMap(Result<Reply<ConfigMap>, Failure>),
    /// The ConfigMap, and its seal.
    Seal(Box<ConfigMap>, Option<Seal>),
    /// Whether the namespace is gone or is being deleted.
    Namespace { is_terminating: bool },
    /// The response to the change of the ConfigMap.
    Patch(Result<Reply<ConfigMap>, Failure>),
}

/// The recording of one failure.
#[derive(Debug)]
pub(in crate::launch) struct Recording<'a> {
    plan: &'a Plan<'a>,
    baseline: &'a LaunchBaseline,
    /// The attempt, or `None` if the failure came before the first one.
    attempt: Option<&'a Attempt>,
    failure: Failure,
    recorded: Recorded,
    /// Whether content is removed, because it came from another or an unknown image.
    is_withdrawn: bool,
}

/// Which failures are recorded if the ConfigMap was not filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    All,
    /// Those that remove content that might come from another image.
    Withdrawals,
    None,
}

/// Whether content is accepted.
enum Accepted {
    Yes(Observed),
    /// The content might come from another image.
    No(Failure),
    /// The content is not what the attempt wrote.
    Broken,
}

impl<'a> Recording<'a> {
    /// Returns the recording of a failure. The attempt has succeeded after all if the ConfigMap has
    /// its mark by now, because the watches are not synchronised with each other.
    pub(in crate::launch) fn new(
        plan: &'a Plan<'a>,
        baseline: &'a LaunchBaseline,
        attempt: Option<&'a Attempt>,
        failure: Failure,
        is_recorded: bool,
    ) -> Self {
        let recorded = if is_recorded { Recorded::All } else { Recorded::None };
        Self { plan, baseline, attempt, failure, recorded, is_withdrawn: false }
    }

    /// Returns the recording of a failure that is recorded only together with the removal of
    /// content that might come from another image.
    pub(in crate::launch) fn of_withdrawal(
        plan: &'a Plan<'a>,
        baseline: &'a LaunchBaseline,
        attempt: &'a Attempt,
        failure: Failure,
    ) -> Self {
        let recording = Self::new(plan, baseline, Some(attempt), failure, false);
        Self { recorded: Recorded::Withdrawals, ..recording }
    }

    /// Decides what comes next, after the request of the last step has `returned` this.
    pub(in crate::launch) fn step(
        &mut self,
        seen: &Seen,
        returned: Option<Returned>,
    ) -> NextRequest {
        match returned {
            None | Some(Returned::Patch(Ok(Reply::Changed))) => NextRequest::ReadConfigMap,
            Some(Returned::ConfigMap(Ok(Reply::Done(found)))) => self.judge(Box::new(found), seen),
            Some(Returned::ConfigMap(Ok(_))) => NextRequest::ReadNamespace,
            Some(Returned::Seal(found, seal)) => self.judge_sealed(found, seal, seen),
            Some(Returned::Namespace { is_terminating }) => {
                NextRequest::Done(Err(self.classify_missing(is_terminating)))
            }
            Some(Returned::Patch(Err(_))) if self.is_withdrawn => self.fail_with_content(),
            // The failure matters more than the problem to record it.
            Some(Returned::ConfigMap(Err(_)) | Returned::Patch(_)) => self.fail(),
        }
    }

    /// Decides about the ConfigMap that was `found`.
    fn judge(&mut self, found: Box<ConfigMap>, seen: &Seen) -> NextRequest {
        let Some(attempt) = self.attempt.filter(|attempt| bears_mark(&found, attempt)) else {
            return self.record(&found, false);
        };
        let is_whole = verify_content(&found, seen, attempt).is_ok();
        // The watches are not synchronised, so more may have been observed since the failure.
        let accepted = match (self.failure.reason, compared(seen, attempt)) {
            (Reason::ImageReplaced, _) => Accepted::No(self.failure.clone()),
            (Reason::ImageUnverified, Comparison::Replaced(why)) => Accepted::No(why),
            // Another launcher may have seen more of the pod.
            (Reason::ImageUnverified, Comparison::Open(_, Some(_))) => {
                return NextRequest::ReadSeal(found);
            }
            (Reason::ImageUnverified, _) if !is_whole => return NextRequest::ReadSeal(found),
            _ if !is_whole => Accepted::Broken,
            (_, Comparison::Same(images) | Comparison::Open(images, None)) => Accepted::Yes(images),
            // Another launcher may have seen more of the pod in these cases, too. The one that
            // created the Job has watched the pod from the beginning.
            (_, Comparison::Open(_, Some(why)))
                if self.recorded == Recorded::Withdrawals
                    || attempt.ownership != JobOwnership::Own =>
            {
                self.failure = without_applied_remedy(attempt.wanted.strategy, why);
                return NextRequest::ReadSeal(found);
            }
            (_, Comparison::Open(_, Some(why)) | Comparison::Replaced(why)) => Accepted::No(why),
        };
        self.conclude(found, accepted)
    }

    /// Decides about content of an image that this launch could not verify, from the seal.
    fn judge_sealed(
        &mut self,
        found: Box<ConfigMap>,
        seal: Option<Seal>,
        seen: &Seen,
    ) -> NextRequest {
        let content = found.annotations().get(mark::DIGEST);
        let bundle = seal
            .zip(content)
            .and_then(|(seal, content)| verified_image(&seal, self.plan.image(), content));
        let is_whole =
            self.attempt.is_some_and(|attempt| verify_content(&found, seen, attempt).is_ok());
        let accepted = match bundle.filter(|_| is_whole) {
            Some(bundle) => Accepted::Yes(Observed { bundle, ..Observed::default() }),
            None => Accepted::No(self.failure.clone()),
        };
        self.conclude(found, accepted)
    }

    /// Accepts content with the mark of the attempt, or records why it is not accepted.
    fn conclude(&mut self, found: Box<ConfigMap>, accepted: Accepted) -> NextRequest {
        match accepted {
            Accepted::Yes(images) => {
                return NextRequest::Done(Ok(Box::new(Written { config_map: *found, images })));
            }
            Accepted::No(why) => {
                self.failure = match self.attempt {
                    Some(attempt) => without_applied_remedy(attempt.wanted.strategy, why),
                    None => why,
                };
            }
            Accepted::Broken => {}
        }
        self.record(&found, true)
    }

    /// Records the failure on the ConfigMap that was `found`, if this is wanted and safe.
    fn record(&mut self, found: &ConfigMap, is_marked: bool) -> NextRequest {
        if found.metadata.deletion_timestamp.is_some() {
            return NextRequest::ReadNamespace;
        }
        self.is_withdrawn = is_marked && self.failure.reason.is_of_image();
        // Someone else may have filled the ConfigMap meanwhile, or created another one with this
        // name.
        let is_others = found.annotations().get(mark::ATTEMPT) != self.baseline.written_by.as_ref()
            || found.uid() != self.baseline.facts.config_map_uid;
        let is_recorded = match self.recorded {
            Recorded::All => true,
            Recorded::Withdrawals => self.is_withdrawn,
            Recorded::None => false,
        };
        if (is_others && !self.is_withdrawn) || !is_recorded {
            return self.fail();
        }
        // The first launcher to record a failure saw the cause, and later ones may see only its
        // effects.
        let recorded =
            self.attempt.and_then(|attempt| FailureRecord::read(Some(found), &attempt.uid));
        if let Some(recorded) = recorded.filter(|_| !self.is_withdrawn) {
            return NextRequest::Done(Err(recorded.failure));
        }
        let record = FailureRecord {
            attempt: self.attempt.map(|attempt| attempt.uid.clone()),
            job: self.attempt.map(|attempt| attempt.job.clone()),
            failure: self.failure.clone(),
        };
        let Ok(record) = serde_json::to_string(&record) else { return self.fail() };
        match record_patch(&record, found, self.is_withdrawn) {
            Ok(patch) => NextRequest::Patch(patch),
            // The API server would reject the removal of the content.
            Err(fill::Error::Immutable { .. }) => self.fail_with_content(),
            Err(_) => self.fail(),
        }
    }

    /// Returns the failure for a ConfigMap that no longer exists. If the namespace is being
    /// deleted, that is the failure.
    fn classify_missing(&self, is_terminating: bool) -> Failure {
        match self.failure.reason {
            _ if is_terminating => namespace_terminating(self.plan.namespace()),
            Reason::ConfigMapDeleted | Reason::Namespace => self.failure.clone(),
            _ => config_map_deleted(self.plan.name()),
        }
    }

    fn fail(&self) -> NextRequest {
        NextRequest::Done(Err(self.failure.clone()))
    }

    /// Returns the failure for content that could not be removed.
    fn fail_with_content(&self) -> NextRequest {
        let name = self.plan.name();
        let hint = format!(
            "delete the ConfigMap {name}, because it still contains the content of the wrong image"
        );
        NextRequest::Done(Err(self.failure.clone().with_advice(hint, &[])))
    }
}

/// Returns the patch that records a failure and, if the content `is_withdrawn`, removes the content
/// and its marks. The patch applies only if nobody has written the ConfigMap since `found` was
/// read.
///
/// # Errors
///
/// Returns an error if content has to be removed, and `found` is immutable.
fn record_patch(record: &str, found: &ConfigMap, is_withdrawn: bool) -> Result<Value, fill::Error> {
    let version = &found.metadata.resource_version;
    if !is_withdrawn {
        let metadata = json!({"resourceVersion": version, "annotations": {FAILURE: record}});
        return Ok(json!({"metadata": metadata}));
    }
    let full = unlade_config_map::ConfigMap::from(found);
    let all: Vec<_> = full.metadata.annotations.keys().cloned().collect();
    let kept = clear_content(full)?.metadata.annotations;
    let removed = all.into_iter().filter(|key| !kept.contains_key(key));
    let annotations: serde_json::Map<_, _> = removed
        .map(|key| (key, Value::Null))
        .chain([(FAILURE.to_owned(), Value::from(record))])
        .collect();
    Ok(json!({
        "metadata": {"resourceVersion": version, "annotations": annotations},
        "data": null,
        "binaryData": null,
    }))
}
