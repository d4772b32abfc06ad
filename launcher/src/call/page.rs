//! Lists of objects, which are read in pages.

use std::fmt::Debug;

use kube::Api;
use kube::api::{ListParams, ObjectList};
use serde::de::DeserializeOwned;

use super::{Reply, Retrier, send};
use crate::{Failure, Reason};

/// The page size of kubectl.
const PAGE: u32 = 500;

/// Lists all objects, page by page. `doing` describes the request and completes "failed to" in
/// messages.
pub(crate) async fn list_all<K: Clone + Debug + DeserializeOwned>(
    doing: &str,
    params: &ListParams,
    api: &Api<K>,
) -> Result<Vec<K>, Failure> {
    pages(doing, params, None, async |page| api.list(&page).await).await?.expect_value(doing)
}

/// The number of times that a list begins again because its continue token has expired, which
/// happens after about 5 minutes. A list in one piece could take any amount of memory.
const MAX_RESTARTS: usize = 3;

/// Returns the objects of all pages, or [`Reply::Missing`] if the API server does not know the
/// kind. `doing` is that of [`list_all`]. A page has 500 objects unless `params` limits it.
/// The retrier is that of a launch; without one, each page is retried as [`send`] does.
pub(crate) async fn pages<K: Clone, F>(
    doing: &str,
    params: &ListParams,
    retrier: Option<&Retrier<'_>>,
    page: impl Fn(ListParams) -> F,
) -> Result<Reply<Vec<K>>, Failure>
where
    F: Future<Output = kube::Result<ObjectList<K>>>,
{
    let mut params = ListParams { limit: params.limit.or(Some(PAGE)), ..params.clone() };
    let mut all = Vec::new();
    let mut n_restarts = 0;
    loop {
        let request_page = || {
            let page = page(params.clone());
            async move {
                match page.await {
                    // The continue token has expired.
                    Err(kube::Error::Api(status)) if status.code == 410 => Ok(None),
                    list => list.map(Some),
                }
            }
        };
        let response = match retrier {
            Some(retrier) => retrier.send(doing, request_page).await?,
            None => send(doing, request_page).await?,
        };
        if matches!(response, Reply::Missing) {
            return Ok(Reply::Missing);
        }
        if let Some(list) = response.expect_value(doing)? {
            all.extend(list.items);
            params.continue_token = list.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(Reply::Done(all));
            }
        } else if n_restarts < MAX_RESTARTS {
            all.clear();
            params.continue_token = None;
            n_restarts += 1;
        } else {
            let message = format!("failed to {doing}: the list expired while it was read");
            return Err(Failure::new(Reason::ApiUnreachable, message));
        }
    }
}
