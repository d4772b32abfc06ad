//! [`Answer`]: the parts of an HTTP response.

use std::convert::Infallible;

use http::Response;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::disturbance::Canned;

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

impl From<Canned> for Answer {
    fn from(Canned { code, headers, body }: Canned) -> Self {
        let mut answer = whole(code, body);
        for (name, value) in headers {
            answer.headers_mut().insert(name, value.parse().unwrap());
        }
        answer
    }
}

pub(crate) fn refused(code: u16, reason: &str) -> Answer {
    json_of(
        code,
        &json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}),
    )
}

pub(crate) fn json_of(code: u16, value: &Value) -> Answer {
    whole(code, value.to_string())
}

pub(crate) fn whole(code: u16, text: String) -> Answer {
    let body = Full::new(Bytes::from(text)).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}
