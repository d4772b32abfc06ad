//! Lists of Jobs, which others in the namespace can make long.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::Api;
use kube::api::ListParams;

use super::judge::condition;
use crate::call::Retrier;
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
    let mut params = ListParams::default().labels(selector).limit(PAGE);
    let (mut jobs, mut n_running) = (Vec::new(), 0);
    loop {
        let page = retrier.send(doing, || api.list(&params)).await?.expect_value(doing)?;
        for mut job in page.items {
            if condition::is_over(&job) {
                if let Some(spec) = &mut job.spec {
                    spec.template = PodTemplateSpec::default();
                }
                job.metadata.managed_fields = None;
            } else {
                n_running += 1;
            }
            jobs.push(job);
        }
        if n_running > MAX_RUNNING {
            let message = format!(
                "failed to {doing}: more than {MAX_RUNNING} Jobs with {selector} are running"
            );
            return Err(Failure::new(Reason::Conflict, message));
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(jobs),
        }
    }
}
