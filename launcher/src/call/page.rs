//! Lists of objects, which are read in pages.

use std::fmt::Debug;

use kube::Api;
use kube::api::{ListParams, ObjectList};
use serde::de::DeserializeOwned;

use super::{Reply, Retrier, send};
use crate::Failure;

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
    loop {
        let request_page = || {
            let (page, is_limited) = (page(params.clone()), params.limit.is_some());
            async move {
                match page.await {
                    Err(kube::Error::Api(status)) if status.code == 410 && is_limited => Ok(None),
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
        } else {
            // The continue token has expired. A list without pages is always complete.
            all.clear();
            params.limit = None;
            params.continue_token = None;
        }
    }
}
