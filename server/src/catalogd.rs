//! The HTTP API of catalogd, which serves catalogs in OLM v1 (operator-controller
//! `internal/catalogd/server/handlers.go`).

use std::ops::{Bound, Range};
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use headers::{
    AcceptRanges, ContentRange, ETag, HeaderMapExt as _, IfMatch, IfModifiedSince, IfNoneMatch,
    IfRange, IfUnmodifiedSince, LastModified,
};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;
use unlade_text::hex;

use crate::metas::{Metas, Query};
use crate::server::ServeError;

/// The format of the responses, as catalogd names it.
const JSON_LINES: &str = "application/jsonl";

/// The size from which responses are compressed, in bytes. It is that of catalogd.
const MIN_COMPRESSED: u64 = 1_400;

/// The metas, and what identifies their version to caches.
#[derive(Debug, Clone)]
struct Served {
    metas: Arc<Metas>,
    etag: ETag,
    /// The start of the server. The time of a file could be older than that of a version that it
    /// replaces.
    modified: SystemTime,
}

/// Serves the API.
///
/// # Errors
///
/// Returns an error if the digest of the metas does not make an entity tag.
pub(crate) fn router(metas: Metas) -> Result<Router, ServeError> {
    let tag = format!("\"{}\"", hex(metas.digest()));
    let etag = tag.parse().map_err(|_| ServeError::EntityTag { tag })?;
    let served = Served { metas: Arc::new(metas), etag, modified: SystemTime::now() };
    Ok(Router::new()
        .route("/api/v1/all", get(all))
        .route("/api/v1/metas", get(some))
        .with_state(served)
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(MIN_COMPRESSED)))
        .layer(middleware::map_response(weaken)))
}

/// Marks the tag of a compressed response as weak, because its bytes are not those of the others
/// with this tag (RFC 9110, section 8.8.3.3). A 304 can be about such a response, so its tag is
/// weak too.
async fn weaken(mut response: Response) -> Response {
    let is_not_modified = response.status() == StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    if (is_not_modified || headers.contains_key(CONTENT_ENCODING))
        && let Some(tag) = headers.get(ETAG)
        && let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat())
    {
        headers.insert(ETAG, weak);
    }
    response
}

/// Serves the whole catalog. A `HEAD` request gets the headers of `GET`, also for a range, as from
/// Go's `ServeContent`, which catalogd uses. RFC 9110, section 14.2, defines ranges for `GET` only.
async fn all(State(served): State<Served>, headers: HeaderMap) -> Response {
    let len = served.metas.len();
    if let Some(status) = served.check(&headers) {
        return served.respond(status, Body::empty());
    }
    let mut response = match served.range(&headers) {
        None => served.send(Query::default(), 0..len, len),
        Some(range) if range.is_empty() => {
            let mut response = served.respond(StatusCode::RANGE_NOT_SATISFIABLE, Body::empty());
            response.headers_mut().typed_insert(ContentRange::unsatisfied_bytes(len));
            response
        }
        Some(range) => {
            let content_range = ContentRange::bytes(range.clone(), len);
            let len = range.end - range.start;
            let mut response = served.send(Query::default(), range, len);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            if let Ok(content_range) = content_range {
                response.headers_mut().typed_insert(content_range);
            }
            response
        }
    };
    response.headers_mut().typed_insert(AcceptRanges::bytes());
    response
}

/// Serves the selected metas. Like catalogd, it ignores ranges.
async fn some(
    State(served): State<Served>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some(query) = parse(query.as_deref().unwrap_or_default()) else {
        return (StatusCode::BAD_REQUEST, "400 Bad Request\n").into_response();
    };
    if let Some(status) = served.check(&headers) {
        return served.respond(status, Body::empty());
    }
    let len = served.metas.count(&query);
    served.send(query, 0..served.metas.len(), len)
}

/// Returns `None` if there is an unknown parameter. Of several equal ones, the first counts.
fn parse(text: &str) -> Option<Query> {
    let (mut schema, mut package, mut name) = (None, None, None);
    for (key, value) in form_urlencoded::parse(text.as_bytes()) {
        let field = match &*key {
            "schema" => &mut schema,
            "package" => &mut package,
            "name" => &mut name,
            _ => return None,
        };
        field.get_or_insert_with(|| value.into_owned());
    }
    let [schema, package, name] = [schema, package, name].map(Option::unwrap_or_default);
    Some(Query { schema, package, name })
}

impl Served {
    /// Returns the status of a request whose conditions do not hold (RFC 9110, section 13.2.2).
    fn check(&self, headers: &HeaderMap) -> Option<StatusCode> {
        let is_expected = match headers.typed_get::<IfMatch>() {
            Some(tags) => tags.precondition_passes(&self.etag),
            None => headers
                .typed_get::<IfUnmodifiedSince>()
                .is_none_or(|time| time.precondition_passes(self.modified)),
        };
        let is_new = match headers.typed_get::<IfNoneMatch>() {
            Some(tags) => tags.precondition_passes(&self.etag),
            None => headers
                .typed_get::<IfModifiedSince>()
                .is_none_or(|time| time.is_modified(self.modified)),
        };
        match (is_expected, is_new) {
            (false, _) => Some(StatusCode::PRECONDITION_FAILED),
            (true, false) => Some(StatusCode::NOT_MODIFIED),
            (true, true) => None,
        }
    }

    /// Returns the wanted part of all metas, which is empty if it is beyond the end. A request for
    /// several parts gets everything (RFC 9110, section 14.2).
    fn range(&self, headers: &HeaderMap) -> Option<Range<u64>> {
        let len = self.metas.len();
        let ranges = headers.typed_get::<headers::Range>()?;
        let condition = headers.typed_get::<IfRange>();
        // Only the tag tells the compressed bytes from the others. Both have the same time, and so
        // can another catalog of another server.
        if condition.is_some_and(|it| it.is_modified(Some(&self.etag), None)) {
            return None;
        }
        let mut ranges = ranges.satisfiable_ranges(len);
        let (Some((Bound::Included(start), end)), None) = (ranges.next(), ranges.next()) else {
            return None;
        };
        let end = match end {
            Bound::Included(last) if last < start => return None,
            Bound::Included(last) => last.saturating_add(1).min(len),
            _ => len,
        };
        Some(start.min(end)..end)
    }

    /// Sends the wanted metas in `within`, which have `len` bytes.
    fn send(&self, query: Query, within: Range<u64>, len: u64) -> Response {
        let body = Body::from_stream(Arc::clone(&self.metas).read(query, within));
        let mut response = self.respond(StatusCode::OK, body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
        response.headers_mut().insert(CONTENT_LENGTH, len.into());
        response
    }

    fn respond(&self, status: StatusCode, body: Body) -> Response {
        let mut response = (status, body).into_response();
        // The compression layer adds it only to responses that it could compress, so not to a 304
        // or a part.
        response.headers_mut().insert(VARY, ACCEPT_ENCODING.into());
        response.headers_mut().typed_insert(self.etag.clone());
        response.headers_mut().typed_insert(LastModified::from(self.modified));
        response
    }
}
