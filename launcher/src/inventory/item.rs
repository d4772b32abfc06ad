//! [`Item`]: one ConfigMap, judged by its annotations and its Jobs.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use unlade_bundle::annotation;
use unlade_config_map::{mark, record};

use crate::condition::holding;
use crate::{Reason, Record};

/// One ConfigMap of a launch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// When it was created.
    pub created: Option<Time>,
    /// The image that was asked for.
    pub image: Option<String>,
    /// The digest of the image, where it was recorded.
    pub image_digest: Option<String>,
    /// The package of the bundle in it.
    pub package: Option<String>,
    /// The number of files in it; none if it holds no bundle.
    pub files: Option<usize>,
    /// What is going on.
    pub state: State,
    /// The Jobs that are still there, the oldest first.
    pub attempts: Vec<Attempt>,
    /// Why the last attempt failed, where that was recorded.
    pub failure: Option<Record>,
}

/// What is going on with a ConfigMap, besides what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Nothing: it holds what the last attempt wrote, or there was none.
    Idle,
    /// A Job is at it.
    Unpacking,
    /// The last attempt failed, for a reason that is known or not.
    Failed(Option<Reason>),
    /// It is being deleted.
    Terminating,
}

/// A Job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Its name.
    pub job: String,
    /// Its uid, which the ConfigMap bears as `unlade.dev/attempt` once it was written.
    pub uid: String,
    /// When it was created.
    pub created: Option<Time>,
    /// Whether the ConfigMap's content is this Job's.
    pub has_written: bool,
    /// How it ended; none while it runs.
    pub end: Option<End>,
}

/// How a Job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It completed.
    Complete,
    /// It failed, with the reason that its condition has.
    Failed(String),
}

impl Item {
    /// The item of a ConfigMap, of which only the metadata is looked at, and of `jobs` that bear
    /// its name.
    pub(super) fn new(config_map: &ConfigMap, jobs: &[Job]) -> Self {
        let metadata = &config_map.metadata;
        let annotations = metadata.annotations.as_ref();
        let noted = |key: &str| annotations.and_then(|annotations| annotations.get(key)).cloned();
        let attempt = noted(mark::ATTEMPT);
        let mut attempts: Vec<_> =
            jobs.iter().map(|job| Attempt::new(job, attempt.as_deref())).collect();
        attempts.sort_by(|a, b| number(&a.job).cmp(&number(&b.job)).then(a.job.cmp(&b.job)));
        // Of another version of unlade it may be something that isn't known here.
        let failure = Record::of(config_map);
        let is_failed = noted(record::FAILURE).is_some();
        // Its Job takes a moment to end.
        let is_of_failure =
            |uid: &str| failure.as_ref().and_then(|record| record.attempt.as_deref()) == Some(uid);
        let state = match attempts.last() {
            _ if metadata.deletion_timestamp.is_some() => State::Terminating,
            Some(Attempt { end: None, has_written: false, uid, .. }) if !is_of_failure(uid) => {
                State::Unpacking
            }
            _ if is_failed => State::Failed(failure.as_ref().map(|known| known.failure.reason)),
            Some(Attempt { end: Some(End::Failed(_)), has_written: false, .. }) => {
                State::Failed(None)
            }
            _ => State::Idle,
        };
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            created: metadata.creation_timestamp.clone(),
            image: noted(record::IMAGE).or_else(|| noted(annotation::SOURCE_IMAGE)),
            image_digest: noted(record::IMAGE_DIGEST),
            package: noted(annotation::PACKAGE),
            files: noted(mark::FILES).and_then(|text| text.parse().ok()),
            state,
            attempts,
            failure,
        }
    }

    /// The last Job that is still there.
    pub fn job(&self) -> Option<&str> {
        self.attempts.last().map(|attempt| attempt.job.as_str())
    }

    /// In a word or two, as a column of a table has it: `Unpacked`, `Unpacking`, `Pending`,
    /// `Terminating`, or why it failed, such as `ImageNotFound`. Content of an earlier attempt that
    /// is still there is told along: `Unpacked,ImageNotFound`.
    pub fn status(&self) -> String {
        let state = match self.state {
            State::Idle if self.files.is_some() => return "Unpacked".to_owned(),
            State::Idle => "Pending".to_owned(),
            State::Unpacking => "Unpacking".to_owned(),
            State::Failed(reason) => reason.map_or_else(|| "Failed".to_owned(), name),
            State::Terminating => return "Terminating".to_owned(),
        };
        if self.files.is_some() { format!("Unpacked,{state}") } else { state }
    }
}

impl Attempt {
    fn new(job: &Job, written_by: Option<&str>) -> Self {
        let uid = job.metadata.uid.clone().unwrap_or_default();
        Self {
            job: job.metadata.name.clone().unwrap_or_default(),
            created: job.metadata.creation_timestamp.clone(),
            has_written: written_by == Some(uid.as_str()),
            uid,
            end: End::of(job),
        }
    }
}

impl End {
    fn of(job: &Job) -> Option<Self> {
        // The others, FailureTarget and SuccessCriteriaMet, come before these two, of which a Job
        // has at most one.
        if holding(job, "Complete").is_some() {
            return Some(Self::Complete);
        }
        let failed = holding(job, "Failed")?;
        Some(Self::Failed(failed.reason.clone().unwrap_or_default()))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("Complete"),
            Self::Failed(reason) if reason.is_empty() => f.write_str("Failed"),
            Self::Failed(reason) => write!(f, "Failed ({reason})"),
        }
    }
}

/// The Jobs of each ConfigMap, by namespace and the ConfigMap's name.
pub(super) type JobsOf = BTreeMap<(String, String), Vec<Job>>;

/// The number of an attempt, with which its name ends.
fn number(job: &str) -> Option<u64> {
    job.rsplit_once('-').and_then(|(_, number)| number.parse().ok())
}

/// The name of a reason, as Kubernetes would write it.
fn name(reason: Reason) -> String {
    format!("{reason:?}")
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

    fn job(name: &str, uid: &str, condition: Option<&str>) -> Job {
        let conditions = condition.map(|type_| {
            vec![json!({"type": type_, "status": "True", "reason": "PodFailurePolicy"})]
        });
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": uid},
            "status": {"conditions": conditions.unwrap_or_default()},
        }))
        .unwrap()
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
            // An older Job's end doesn't count.
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
            let item = Item::new(&config_map(&annotations), &jobs);
            assert_eq!(item.status(), status, "{annotations:?} {:?}", item.attempts);
        }
        let mut config_map = config_map(&[filled]);
        config_map.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(Item::new(&config_map, &[]).status(), "Terminating");
    }

    #[test]
    fn a_recorded_failure_is_read_back() {
        let item = Item::new(&config_map(&[(record::FAILURE, &failure())]), &[]);
        assert_eq!(item.failure.unwrap().failure.reason, Reason::ImageNotFound);
    }
}
