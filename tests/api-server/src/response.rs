//! [`Response`]: the parts of an HTTP response.

use std::convert::Infallible;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::disturbance::Canned;

pub(crate) type Response = http::Response<UnsyncBoxBody<Bytes, Infallible>>;

impl From<Canned> for Response {
    fn from(Canned { code, headers, body }: Canned) -> Self {
        let mut response = whole(code, body);
        for (name, value) in headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        response
    }
}

pub(crate) fn refused(code: u16, reason: &str) -> Response {
    json_of(
        code,
        &json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}),
    )
}

pub(crate) fn json_of(code: u16, value: &Value) -> Response {
    whole(code, value.to_string())
}

pub(crate) fn whole(code: u16, text: String) -> Response {
    let body = Full::new(Bytes::from(text)).boxed_unsync();
    http::Response::builder().status(code).body(body).unwrap()
}
