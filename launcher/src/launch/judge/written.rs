//! Judgement of the content: whether it came from the requested images.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use unlade_config_map::mark;
use unlade_config_map::protocol::outcome::Verdict;
use unlade_text::excerpt;

use super::pod_progress::{attempt_pods, is_running, outcomes, writers};
use super::{Attempt, Conclusion, Judge, State, Waiting, Written};
use crate::launch::content::decode_written;
use crate::launch::decision::{AttemptEnd, JobOwnership};
use crate::launch::image::{Comparison, Sighting, compare, compare_writer};
use crate::launch::watch::{Presence, Seen, is_over};
use crate::object::label;
use crate::{Failure, Reason};

/// The maximum number of pods that are observed. A Job of a launch has a few.
const MAX_PODS: usize = 64;

/// How long the kubelet may take to report the image of a container that has already exited. It
/// reports about once a second, and less often on a busy node.
const REPORT: Duration = Duration::from_secs(30);

impl Judge<'_> {
    /// Judges the images of the Job and its pods, before any pod runs.
    pub(super) fn judge_images(&self, seen: &Seen) -> Option<State> {
        if seen.images.len() > MAX_PODS {
            let message = format!(
                "more than {MAX_PODS} pods have the label job-name={}: someone else has created pods with it",
                self.attempt.job
            );
            let failure = Failure::new(Reason::Conflict, message);
            return Some(State::Ended(Conclusion::Failed(AttemptEnd::Fatal, failure)));
        }
        match compared(seen, self.attempt) {
            Comparison::Replaced(failure) => {
                Some(State::Ended(Conclusion::Failed(AttemptEnd::Fatal, failure)))
            }
            Comparison::Same(_) | Comparison::Open(..) => None,
        }
    }

    /// Judges content with the mark of the attempt. The change of the ConfigMap is often observed
    /// before the last status of the pod that wrote it, so the judge waits for that status.
    pub(super) fn judge_content(&mut self, seen: &Seen, now: Duration) -> Option<State> {
        let config_map = marked(seen, self.attempt)?;
        if let Err(failure) = self.verify(config_map, seen) {
            return Some(State::Ended(Conclusion::Failed(AttemptEnd::Retryable, failure)));
        }
        let since = *self.written.get_or_insert(now);
        let mut until = since + REPORT;
        // The container of a pack ends only after it has written the last ConfigMap.
        if is_pack(seen) && attempt_pods(seen, self.attempt).into_iter().any(is_running) {
            until = until.max(now.saturating_add(self.budget.left(now)));
        }
        let may_come = now < until && may_report(seen, self.attempt);
        let failure = match compared(seen, self.attempt) {
            Comparison::Open(..) if may_come => {
                let waiting = Waiting { on: None, until, events_of: None, unconfirmed: None };
                return Some(State::Waiting(waiting));
            }
            Comparison::Same(images) | Comparison::Open(images, None) => {
                let written = Written { config_map: config_map.clone(), images };
                return Some(State::Ended(Conclusion::Written(Box::new(written))));
            }
            Comparison::Open(_, Some(failure)) | Comparison::Replaced(failure) => failure,
        };
        let ending = if failure.is_transient { AttemptEnd::Retryable } else { AttemptEnd::Fatal };
        Some(State::Ended(Conclusion::Failed(ending, failure)))
    }

    /// Does the same as [`verify_content`]. Each change of a pod leads to a judgement, so a version
    /// of the ConfigMap is decoded only once.
    fn verify(&mut self, config_map: &ConfigMap, seen: &Seen) -> Result<(), Failure> {
        let version = config_map.resource_version();
        let decoded = self.decoded.take().filter(|(of, _)| of.is_some() && *of == version);
        let (_, digest) = match decoded {
            Some(decoded) => self.decoded.insert(decoded),
            None => self.decoded.insert((version, decode_digest(config_map, self.attempt)?)),
        };
        verify_writers(&config_map.name_any(), digest.as_deref(), seen, self.attempt)
    }
}

/// Checks whether this is the ConfigMap of the attempt, with its mark.
pub(in crate::launch) fn bears_mark(config_map: &ConfigMap, attempt: &Attempt) -> bool {
    config_map.metadata.uid.as_ref() == Some(&attempt.config_map_uid)
        && config_map.annotations().get(mark::ATTEMPT) == Some(&attempt.uid)
}

/// Verifies that the content matches its marks, and that it is the content that the pods of the
/// attempt wrote. A user who can change the ConfigMap can also change its marks, but only a pod and
/// its node can write the termination message of the pod. The message may not exist yet.
pub(in crate::launch) fn verify_content(
    config_map: &ConfigMap,
    seen: &Seen,
    attempt: &Attempt,
) -> Result<(), Failure> {
    let digest = decode_digest(config_map, attempt)?;
    verify_writers(&config_map.name_any(), digest.as_deref(), seen, attempt)
}

/// Returns the digest of content that matches its marks and names the requested image.
fn decode_digest(config_map: &ConfigMap, attempt: &Attempt) -> Result<Option<String>, Failure> {
    let name = config_map.name_any();
    let decoded = decode_written(config_map).map_err(|how| changed(&name, &how))?;
    let image = decoded.source_image.as_deref().unwrap_or_default();
    if image != attempt.wanted.bundle.as_str() {
        let how = format!("it names the image {:?}", excerpt::shorten(image));
        return Err(changed(&name, &how));
    }
    Ok(decoded.digest)
}

/// Verifies that the content of the ConfigMap `name`, whose digest was `found`, is the content that
/// the pods of the attempt wrote. A message that names no content counts only if the Job has no
/// other pod that may have written it.
fn verify_writers(
    name: &str,
    found: Option<&str>,
    seen: &Seen,
    attempt: &Attempt,
) -> Result<(), Failure> {
    let Some(found) = found else { return Ok(()) };
    let writers = writers(seen, attempt, name);
    if let Some((_, written)) = writers.iter().find(|(_, written)| written != found) {
        let how = format!("the digest of its content is {found}, and a pod wrote {written}");
        return Err(changed(name, &how));
    }
    let pods = attempt_pods(seen, attempt);
    let reports_nothing = |pod: &&Pod| outcomes(pod, name).any(|it| wrote_nothing(it.verdict));
    if writers.is_empty()
        && !pods.is_empty()
        && !lacks_pods(seen, attempt)
        && pods.iter().all(reports_nothing)
    {
        return Err(changed(name, "no pod wrote it"));
    }
    Ok(())
}

/// Checks whether the unpacker wrote nothing. After a temporary failure, the response to a
/// successful request may have been lost.
fn wrote_nothing(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Usage
            | Verdict::BadBundle
            | Verdict::Unreadable
            | Verdict::TooLarge
            | Verdict::Configuration
            | Verdict::NoConfigMap
            | Verdict::Untrusted
            | Verdict::System
    )
}

fn changed(name: &str, how: &str) -> Failure {
    let message = format!("the ConfigMap {name} was changed after it was filled: {how}");
    Failure::new(Reason::Conflict, message)
}

fn marked<'s>(seen: &'s Seen, attempt: &Attempt) -> Option<&'s ConfigMap> {
    seen.config_map.object().filter(|there| bears_mark(there, attempt))
}

/// Compares the images of the attempt with the requested ones. Only a writer of the content counts
/// if its termination message names the content. So a caller that accepts content must first check
/// with [`verify_content`] that it has the digest in that message.
pub(in crate::launch) fn compared(seen: &Seen, attempt: &Attempt) -> Comparison {
    let job = seen.job.object().map(Sighting::from_job);
    let mut pods: Vec<_> =
        seen.images.values().filter(|image| image.is_owned_by(&attempt.uid)).collect();
    pods.sort_by_key(|pod| std::cmp::Reverse(pod.created));
    let comparison = compare(&attempt.wanted, job.as_ref(), &pods);
    if matches!(comparison, Comparison::Replaced(_)) {
        return comparison;
    }
    // The content is that of each of these pods, so the other pods do not matter. A user with
    // permission to create pods can name the Job as an owner that does not control the pod.
    let writers = writers(seen, attempt, &attempt.config_map);
    let writers = writers.into_iter().filter_map(|(pod, _)| seen.images.get(&pod.uid()?));
    let writers = writers.filter(|writer| writer.is_controlled_by(&attempt.uid));
    let of_writer = |writer| compare_writer(&attempt.wanted, job.as_ref(), writer);
    let mut of_writers: Vec<_> = writers.map(of_writer).collect();
    if !of_writers.is_empty() {
        let is_same = |it: &Comparison| matches!(it, Comparison::Same(_));
        return of_writers.swap_remove(of_writers.iter().position(is_same).unwrap_or_default());
    }
    // A launch that adopts a Job has not observed what happened to its pods before. Someone may
    // have taken a pod away from the Job and changed its image.
    let is_adopted = attempt.ownership != JobOwnership::Own;
    match comparison {
        Comparison::Same(images) if is_adopted || lacks_pods(seen, attempt) => {
            let job = &attempt.job;
            let message = format!(
                "no pod shows that it wrote the content, and a pod of the Job {job} that was not observed may have used another image"
            );
            Comparison::Open(images, Some(Failure::new(Reason::ImageUnverified, message)))
        }
        comparison => comparison,
    }
}

/// Checks whether the Job has more pods than were observed: pods of which the label was removed,
/// and those that ended before the watch began. The watches are not synchronised, so that of the
/// pods may also be behind.
fn lacks_pods(seen: &Seen, attempt: &Attempt) -> bool {
    let observed = seen.images.values().filter(|pod| pod.is_controlled_by(&attempt.uid));
    seen.n_pods > observed.count()
}

/// Checks whether the Job fills the ConfigMaps of several launches.
fn is_pack(seen: &Seen) -> bool {
    seen.job.object().is_some_and(|job| job.labels().contains_key(label::PACK))
}

/// Checks whether a node may still report the image of a pod: a pod of the attempt was not observed
/// yet, or one has not ended.
fn may_report(seen: &Seen, attempt: &Attempt) -> bool {
    let is_known = seen.images.values().any(|image| image.is_owned_by(&attempt.uid));
    let may_appear = seen.job != Presence::Gone && (!is_known || lacks_pods(seen, attempt));
    may_appear || attempt_pods(seen, attempt).into_iter().any(|pod| !is_over(pod))
}
