//! Lists of Jobs, which others in the namespace can make long.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::Api;
use kube::api::{ListParams, ObjectList};

use super::judge::condition;
use crate::call::{Retrier, pages};
use crate::{Failure, Reason};

/// The maximum number of Jobs in one response. Each may have more than a megabyte.
const PAGE: u32 = 50;

/// The maximum number of running Jobs that are kept.
const MAX_RUNNING: usize = 200;

/// Lists the Jobs with these labels. Those that are over are returned without their pod templates.
///
/// # Errors
///
/// Returns an error if the Jobs cannot be listed, or if more than 200 of them are running.
pub(super) async fn list_jobs(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    selector: &str,
    doing: &str,
) -> Result<Vec<Job>, Failure> {
    let params = ListParams::default().labels(selector).limit(PAGE);
    let n_running = AtomicUsize::new(0);
    let page = |params: ListParams| list_page(api, params, &n_running);
    let jobs = pages(doing, &params, Some(retrier), page).await?.expect_value(doing)?;
    if n_running.load(Relaxed) > MAX_RUNNING {
        let message =
            format!("failed to {doing}: more than {MAX_RUNNING} Jobs with {selector} are running");
        return Err(Failure::new(Reason::Conflict, message));
    }
    Ok(jobs)
}

/// Lists one page, and counts the running Jobs. The last page is the one that exceeds the limit.
async fn list_page(
    api: &Api<Job>,
    params: ListParams,
    n_running: &AtomicUsize,
) -> kube::Result<ObjectList<Job>> {
    if params.continue_token.is_none() {
        n_running.store(0, Relaxed);
    }
    let mut page = api.list(&params).await?;
    for job in &mut page.items {
        if condition::is_over(job) {
            if let Some(spec) = &mut job.spec {
                spec.template = PodTemplateSpec::default();
            }
            job.metadata.managed_fields = None;
        } else {
            n_running.fetch_add(1, Relaxed);
        }
    }
    if n_running.load(Relaxed) > MAX_RUNNING {
        page.metadata.continue_ = None;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;
    use crate::call::PROMPT;
    use crate::progress::report::Report;

    /// The response to a request with this continue token, or to `complete` without a limit: Jobs
    /// and the next token, or a status.
    type Pages = BTreeMap<&'static str, Result<(Vec<Value>, &'static str), u16>>;

    fn job(name: &str, condition: &str) -> Value {
        json!({
            "metadata": {"name": name, "managedFields": [{"manager": "other"}]},
            "spec": {"template": {"spec": {"containers": [{"name": "large"}]}}},
            "status": {"conditions": [{"type": condition, "status": "True"}]},
        })
    }

    /// Lists the Jobs of an API server. Also returns the queries that it received.
    async fn listed(pages: Pages) -> (Result<Vec<Job>, Failure>, Vec<String>) {
        let queries = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&queries);
        let service = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let token = query.split('&').find_map(|pair| pair.strip_prefix("continue="));
            let first = if query.contains("limit=") { "" } else { "complete" };
            let (code, body) = match &pages[token.unwrap_or(first)] {
                Ok((jobs, next)) => (200, json!({"metadata": {"continue": next}, "items": jobs})),
                Err(code) => {
                    let status = json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "the continue token is too old", "reason": "Expired", "code": code,
                    });
                    (*code, status)
                }
            };
            received.lock().unwrap().push(query);
            let body = Body::from(body.to_string().into_bytes());
            async move { Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap()) }
        });
        let api = Api::namespaced(Client::new(service, "here"), "here");
        let report = Report::unobserved();
        let retrier = Retrier::new(&report, PROMPT);
        let jobs = list_jobs(&api, &retrier, "app=x", "list the Jobs").await;
        let queries = queries.lock().unwrap().clone();
        (jobs, queries)
    }

    #[tokio::test]
    async fn all_pages_are_read_and_finished_jobs_lose_their_templates() {
        let pages = Pages::from([
            ("", Ok((vec![job("a", "Complete")], "second"))),
            ("second", Ok((vec![job("b", "Failed"), job("c", "Suspended")], ""))),
        ]);
        let (jobs, queries) = listed(pages).await;
        let jobs = jobs.unwrap();
        let has_containers = |job: &Job| job.spec.as_ref().unwrap().template.spec.is_some();
        let shown: Vec<_> = jobs
            .iter()
            .map(|job| (job.metadata.name.as_deref().unwrap(), has_containers(job)))
            .collect();
        assert_eq!(shown, [("a", false), ("b", false), ("c", true)]);
        assert!(jobs[0].metadata.managed_fields.is_none());
        assert_eq!(queries.len(), 2);
        assert!(queries.iter().all(|query| query.contains("limit=50")), "{queries:?}");
    }

    #[tokio::test]
    async fn more_than_200_running_jobs_are_refused_and_no_more_pages_are_read() {
        let jobs = |n: usize| (0..n).map(|n| job(&format!("job-{n}"), "Suspended")).collect();
        let (failure, queries) = listed(Pages::from([
            ("", Ok((jobs(200), "second"))),
            ("second", Ok((jobs(1), "third"))),
        ]))
        .await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.reason, Reason::Conflict);
        assert!(failure.to_string().contains("more than 200 Jobs with app=x"), "{failure}");
        assert_eq!(queries.len(), 2);
    }

    #[tokio::test]
    async fn an_expired_token_starts_the_list_again() {
        let jobs = |n: usize| (0..n).map(|n| job(&format!("job-{n}"), "Suspended")).collect();
        let (jobs, queries) = listed(Pages::from([
            ("", Ok((jobs(150), "second"))),
            ("second", Err(410)),
            ("complete", Ok((jobs(160), ""))),
        ]))
        .await;
        assert_eq!(jobs.unwrap().len(), 160, "no Job is counted twice");
        assert_eq!(queries.len(), 3, "{queries:?}");
    }
}
