//! [`Item`]: a ConfigMap in a list, with a state that is derived from its annotations and Jobs.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use unlade_bundle::annotation;
use unlade_config_map::{mark, protocol::record};
use unlade_diagnose::job_condition;
use unlade_text::excerpt;

use crate::{FailureRecord, Reason};

/// A ConfigMap of a launch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item {
    /// The namespace of the ConfigMap.
    pub namespace: String,
    /// The name of the ConfigMap.
    pub name: String,
    /// When the ConfigMap was created.
    pub created: Option<Time>,
    /// The requested image.
    pub image: Option<String>,
    /// The digest of the image, if it was recorded.
    pub image_digest: Option<String>,
    /// The package of the bundle.
    pub package: Option<String>,
    /// The number of files of the bundle, or `None` if the ConfigMap does not hold one.
    pub files: Option<usize>,
    /// The state of the ConfigMap.
    pub state: State,
    /// The Jobs that still exist, the oldest first.
    pub attempts: Vec<JobRecord>,
    /// Why the last attempt failed, if that was recorded.
    pub failure: Option<FailureRecord>,
}

/// The state of a ConfigMap, apart from its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// The ConfigMap holds the content of the last attempt, or there was no attempt.
    Idle,
    /// A Job is running.
    Unpacking,
    /// The last attempt failed, with its reason if that is known.
    Failed(Option<Reason>),
    /// The ConfigMap is being deleted.
    Terminating,
}

/// A Job of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobRecord {
    /// The name of the Job.
    pub job: Arc<str>,
    /// The uid of the Job. The ConfigMap has it as `unlade.dev/attempt` once the Job has written
    /// it.
    pub uid: Arc<str>,
    /// When the Job was created.
    pub created: Option<Time>,
    /// Whether this Job wrote the content of the ConfigMap.
    pub has_written: bool,
    /// How the Job ended, or `None` while it is running.
    pub end: Option<JobEnd>,
}

/// How a Job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEnd {
    /// The Job completed.
    Complete,
    /// The Job failed, with the reason of its condition.
    Failed(Arc<str>),
}

impl Item {
    /// Returns the item of a ConfigMap, of which only the metadata is used, and of its Jobs.
    pub(super) fn new(config_map: &ConfigMap, mut attempts: Vec<JobRecord>) -> Self {
        let metadata = &config_map.metadata;
        let annotations = metadata.annotations.as_ref();
        let annotation_value =
            |key: &str| annotations.and_then(|annotations| annotations.get(key)).cloned();
        let written_by = annotation_value(mark::ATTEMPT);
        for attempt in &mut attempts {
            attempt.has_written = written_by.as_deref() == Some(&attempt.uid);
        }
        // The Job of a pack has a number of its own.
        attempts.sort_by_key(|it| (it.created.clone(), number(&it.job), it.job.clone()));
        // A record of another version of unlade may not be readable here.
        let failure = FailureRecord::from_config_map(config_map);
        let is_failed = annotation_value(record::FAILURE).is_some();
        // The Job whose failure is recorded takes a moment to terminate.
        let is_of_failure =
            |uid: &str| failure.as_ref().and_then(|record| record.attempt.as_deref()) == Some(uid);
        let state = match attempts.last() {
            _ if metadata.deletion_timestamp.is_some() => State::Terminating,
            Some(JobRecord { end: None, has_written: false, uid, .. }) if !is_of_failure(uid) => {
                State::Unpacking
            }
            _ if is_failed => State::Failed(failure.as_ref().map(|known| known.failure.reason)),
            Some(JobRecord { end: Some(JobEnd::Failed(_)), has_written: false, .. }) => {
                State::Failed(None)
            }
            _ => State::Idle,
        };
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            created: metadata.creation_timestamp.clone(),
            image: annotation_value(record::IMAGE)
                .or_else(|| annotation_value(annotation::SOURCE_IMAGE)),
            image_digest: annotation_value(record::IMAGE_DIGEST),
            package: annotation_value(annotation::PACKAGE),
            files: annotation_value(mark::FILES).and_then(|text| text.parse().ok()),
            state,
            attempts,
            failure,
        }
    }

    /// Returns the name of the last Job that still exists.
    pub fn job(&self) -> Option<&str> {
        self.attempts.last().map(|attempt| &*attempt.job)
    }

    /// Returns the status for a column of a table: `Unpacked`, `Unpacking`, `Pending`,
    /// `Terminating`, or the reason for a failure, such as `ImageNotFound`. If the ConfigMap still
    /// holds the content of an earlier attempt, both are included: `Unpacked,ImageNotFound`.
    pub fn status(&self) -> String {
        let state = match self.state {
            State::Idle if self.files.is_some() => return "Unpacked".to_owned(),
            State::Idle => "Pending".to_owned(),
            State::Unpacking => "Unpacking".to_owned(),
            State::Failed(reason) => reason.map_or("Failed", Reason::name).to_owned(),
            State::Terminating => return "Terminating".to_owned(),
        };
        if self.files.is_some() { format!("Unpacked,{state}") } else { state }
    }
}

impl JobRecord {
    /// Returns the record of a Job whose ConfigMap is unknown.
    pub(super) fn new(job: &Job) -> Self {
        Self {
            // A table repeats the name for each ConfigMap. Names on a cluster fit.
            job: excerpt::shorten(job.metadata.name.as_deref().unwrap_or_default()).into(),
            uid: job.metadata.uid.as_deref().unwrap_or_default().into(),
            created: job.metadata.creation_timestamp.clone(),
            has_written: false,
            end: JobEnd::from_job(job),
        }
    }
}

impl JobEnd {
    fn from_job(job: &Job) -> Option<Self> {
        // FailureTarget and SuccessCriteriaMet precede these two, so a Job with one of them is
        // still running.
        if job_condition(job, "Complete").is_some() {
            return Some(Self::Complete);
        }
        let failed = job_condition(job, "Failed")?;
        Some(Self::Failed(failed.reason.as_deref().unwrap_or_default().into()))
    }
}

impl fmt::Display for JobEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("Complete"),
            Self::Failed(reason) if reason.is_empty() => f.write_str("Failed"),
            Self::Failed(reason) => write!(f, "Failed ({reason})"),
        }
    }
}

/// Returns the number of an attempt, which is the end of the Job's name.
fn number(job: &str) -> Option<u64> {
    job.rsplit_once('-').and_then(|(_, number)| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::Failure;

    fn config_map(annotations: &[(&str, &str)]) -> ConfigMap {
        let annotations = annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let mut config_map = ConfigMap::default();
        config_map.metadata.name = Some("etcd".to_owned());
        config_map.metadata.annotations = Some(annotations.collect());
        config_map
    }

    fn job(name: &str, uid: &str, condition: Option<&str>) -> JobRecord {
        let conditions = condition.map(|type_| {
            vec![json!({"type": type_, "status": "True", "reason": "PodFailurePolicy"})]
        });
        let job = json!({
            "metadata": {"name": name, "uid": uid},
            "status": {"conditions": conditions.unwrap_or_default()},
        });
        JobRecord::new(&serde_json::from_value(job).unwrap())
    }

    fn failure() -> String {
        let failure = Failure::new(Reason::ImageNotFound, "no such image");
        json!({"attempt": "1", "job": "etcd-1", "failure": failure}).to_string()
    }

    #[test]
    fn the_status_is_that_of_content_and_last_attempt() {
        let failure = failure();
        let failed = (record::FAILURE, failure.as_str());
        let filled = (mark::FILES, "5");
        let by_1 = (mark::ATTEMPT, "1");
        for (annotations, jobs, status) in [
            (vec![], vec![], "Pending"),
            (vec![], vec![job("etcd-1", "1", None)], "Unpacking"),
            (vec![filled, by_1], vec![], "Unpacked"),
            // The Job is a moment behind its own mark.
            (vec![filled, by_1], vec![job("etcd-1", "1", None)], "Unpacked"),
            (vec![filled, by_1], vec![job("etcd-1", "1", Some("Complete"))], "Unpacked"),
            (vec![], vec![job("etcd-1", "1", Some("Failed"))], "Failed"),
            (vec![failed], vec![job("etcd-1", "1", Some("Failed"))], "ImageNotFound"),
            (vec![failed], vec![], "ImageNotFound"),
            // The Job is a moment behind what was seen of it.
            (vec![failed], vec![job("etcd-1", "1", None)], "ImageNotFound"),
            (vec![(record::FAILURE, "{}")], vec![], "Failed"),
            // An older Job's end does not count.
            (
                vec![failed],
                vec![job("etcd-10", "2", None), job("etcd-9", "1", Some("Failed"))],
                "Unpacking",
            ),
            (
                vec![filled, by_1],
                vec![job("etcd-1", "1", Some("Complete")), job("etcd-2", "2", None)],
                "Unpacked,Unpacking",
            ),
            (vec![filled, by_1, failed], vec![], "Unpacked,ImageNotFound"),
        ] {
            let item = Item::new(&config_map(&annotations), jobs);
            assert_eq!(item.status(), status, "{annotations:?} {:?}", item.attempts);
        }
        let mut config_map = config_map(&[filled]);
        config_map.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(Item::new(&config_map, Vec::new()).status(), "Terminating");
    }

    #[test]
    fn the_newest_job_is_the_last_one_whatever_its_number() {
        let at = |created: i64, mut job: JobRecord| {
            job.created = Some(Time(Timestamp::from_second(created).unwrap()));
            job
        };
        // Its first Jobs were ended by other launches, and then a pack filled it.
        let jobs = vec![
            at(3, job("pack-1", "3", Some("Complete"))),
            at(1, job("etcd-1", "1", Some("Failed"))),
            at(2, job("etcd-2", "2", Some("Failed"))),
        ];
        let item = Item::new(&config_map(&[(mark::FILES, "5"), (mark::ATTEMPT, "3")]), jobs);
        assert_eq!(item.job(), Some("pack-1"));
        assert_eq!(item.status(), "Unpacked");
    }

    #[test]
    fn a_recorded_failure_is_read_back() {
        let item = Item::new(&config_map(&[(record::FAILURE, &failure())]), Vec::new());
        assert_eq!(item.failure.unwrap().failure.reason, Reason::ImageNotFound);
    }
}
