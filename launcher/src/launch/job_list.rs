//! Lists of Jobs, which others in the namespace can make long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, ObjectList};
use kube::{Api, ResourceExt as _};
use unlade_config_map::protocol::record::LAUNCH;

use super::judge::condition::{ENDED, is_over};
use crate::call::{Retrier, pages};
use crate::{Failure, Reason};

/// The maximum number of Jobs in one response. Each may have more than a megabyte.
const PAGE: u32 = 50;

/// The maximum number of running Jobs, which are kept whole.
const MAX_RUNNING: usize = 200;

/// The maximum number of all Jobs. Even without its content, each takes some kilobytes.
const MAX_JOBS: usize = 10_000;

/// The maximum length of the id of a launch, in bytes. Launchers use less.
const MAX_ID: usize = 64;

/// The number of Jobs on the pages so far.
#[derive(Default)]
struct Count {
    running: AtomicUsize,
    all: AtomicUsize,
}

/// Lists the Jobs with these labels. Those that are over have only their names and the ids of their
/// launches.
///
/// # Errors
///
/// Returns an error if the Jobs cannot be listed, if more than 200 of them are running, or if there
/// are more than 10,000.
pub(super) async fn list_jobs(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    selector: &str,
    doing: &str,
) -> Result<Vec<Job>, Failure> {
    let params = ListParams::default().labels(selector).limit(PAGE);
    let count = Count::default();
    let page = |params: ListParams| list_page(api, params, &count);
    let jobs = pages(doing, &params, Some(retrier), page).await?.expect_value(doing)?;
    if let Some(excess) = count.excess() {
        let message = format!("failed to {doing}: more than {excess} with the labels {selector}");
        return Err(Failure::new(Reason::Conflict, message));
    }
    Ok(jobs)
}

/// Lists one page, and counts its Jobs. The last page is the one that exceeds a limit.
async fn list_page(
    api: &Api<Job>,
    params: ListParams,
    count: &Count,
) -> kube::Result<ObjectList<Job>> {
    let is_first = params.continue_token.is_none();
    let mut page = api.list(&params).await?;
    if is_first {
        count.running.store(0, Relaxed);
        count.all.store(0, Relaxed);
    }
    count.all.fetch_add(page.items.len(), Relaxed);
    for job in &mut page.items {
        if is_over(job) {
            *job = ended(job);
        } else {
            count.running.fetch_add(1, Relaxed);
        }
    }
    if count.excess().is_some() {
        page.metadata.continue_ = None;
    }
    Ok(page)
}

/// Returns what a launch needs of a Job that is over. The result is over, too.
fn ended(job: &Job) -> Job {
    let launch = job.annotations().get(LAUNCH).filter(|id| id.len() <= MAX_ID);
    let annotations = launch.map(|id| BTreeMap::from([(LAUNCH.to_owned(), id.clone())]));
    let name = job.metadata.name.clone();
    Job {
        metadata: ObjectMeta { name, annotations, ..ObjectMeta::default() },
        spec: Some(JobSpec { active_deadline_seconds: Some(ENDED), ..JobSpec::default() }),
        status: None,
    }
}

impl Count {
    /// Describes the limit that is exceeded.
    fn excess(&self) -> Option<String> {
        if self.running.load(Relaxed) > MAX_RUNNING {
            return Some(format!("{MAX_RUNNING} running Jobs"));
        }
        (self.all.load(Relaxed) > MAX_JOBS).then(|| format!("{MAX_JOBS} Jobs"))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;
    use crate::call::PROMPT;
    use crate::progress::report::Report;

    /// The token of a request, and the response: Jobs and the next token, or a status.
    type Page<'t> = (&'t str, Result<(Vec<Value>, &'t str), u16>);

    fn job(name: &str, condition: &str) -> Value {
        json!({
            "metadata": {
                "name": name, "finalizers": ["large"], "labels": {"large": ""},
                "annotations": {LAUNCH: "abc", "other": "large"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "a"}],
            },
            "spec": {"template": {"spec": {"containers": [{"name": "large"}]}}},
            "status": {"conditions": [{"type": condition, "status": "True"}]},
        })
    }

    fn jobs(condition: &str, n: usize) -> Vec<Value> {
        (0..n).map(|n| job(&format!("job-{n}"), condition)).collect()
    }

    /// Lists the Jobs of an API server that gives these responses in this order.
    async fn list(pages: Vec<Page<'static>>) -> Result<Vec<Job>, Failure> {
        let pages = Arc::new(Mutex::new(pages.into_iter()));
        let rest = Arc::clone(&pages);
        let service = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            assert!(query.contains("limit=50"), "{query}");
            let token = query.split('&').find_map(|pair| pair.strip_prefix("continue="));
            let (expected, response) = pages.lock().unwrap().next().unwrap();
            assert_eq!(token.unwrap_or_default(), expected);
            let (code, body) = match response {
                Ok((jobs, next)) => (200, json!({"metadata": {"continue": next}, "items": jobs})),
                Err(code) => {
                    let status = json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "the continue token is too old", "reason": "Expired", "code": code,
                    });
                    (code, status)
                }
            };
            let body = Body::from(body.to_string().into_bytes());
            async move { Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap()) }
        });
        let api = Api::namespaced(Client::new(service, "here"), "here");
        let report = Report::unobserved();
        let retrier = Retrier::new(&report, PROMPT);
        let jobs = list_jobs(&api, &retrier, "app=x", "list the Jobs").await;
        assert_eq!(rest.lock().unwrap().len(), 0, "all pages are requested");
        jobs
    }

    #[tokio::test]
    async fn all_pages_are_read_and_finished_jobs_lose_their_content() {
        let listed = list(vec![
            ("", Ok((vec![job("a", "Complete")], "second"))),
            ("second", Ok((vec![job("b", "Failed"), job("c", "Suspended")], ""))),
        ])
        .await;
        let [a, b, c] = &listed.unwrap()[..] else { panic!() };
        for (job, name) in [(a, "a"), (b, "b")] {
            assert!(is_over(job));
            let expected = json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"annotations": {LAUNCH: "abc"}, "name": name},
                "spec": {"activeDeadlineSeconds": 1, "template": {}},
            });
            assert_eq!(serde_json::to_value(job).unwrap(), expected);
        }
        let whole: Job = serde_json::from_value(job("c", "Suspended")).unwrap();
        assert_eq!(*c, whole);
    }

    #[tokio::test]
    async fn too_many_jobs_are_refused_and_no_more_pages_are_read() {
        for (condition, max, expected) in [
            ("Suspended", 200, "more than 200 running Jobs with the labels app=x"),
            ("Complete", 10_000, "more than 10000 Jobs with the labels app=x"),
        ] {
            let failure = list(vec![
                ("", Ok((jobs(condition, max), "second"))),
                ("second", Ok((jobs(condition, 1), "third"))),
            ])
            .await
            .unwrap_err();
            assert_eq!(failure.reason, Reason::Conflict);
            assert!(failure.to_string().contains(expected), "{failure}");
        }
    }

    #[tokio::test]
    async fn an_expired_token_starts_the_list_again() {
        let first = || ("", Ok((jobs("Suspended", 150), "second")));
        let expired = || ("second", Err(410));
        let listed = list(vec![first(), expired(), first(), ("second", Ok((vec![], "")))]).await;
        assert_eq!(listed.unwrap().len(), 150, "no Job is counted twice");
        let pages = [first(), expired()];
        let listed = list((0..4).flat_map(|_| pages.clone()).collect()).await;
        assert!(listed.unwrap_err().to_string().contains("the list expired"));
    }
}
