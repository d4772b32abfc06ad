//! JSON, constraints and outcomes.

use super::{Family, count, repeat};
use crate::Entry;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Json, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    family("lists-open", |n| format!("{{\"kind\":\"A\",\"a\":{}", "[".repeat(n)).into())
        .from(32 << 10),
    family("objects-open", |n| format!("{{\"kind\":\"A\",\"a\":{}", repeat("{\"a\":", n)).into())
        .from(32 << 10),
    family("lists", |n| object(&format!("[{}1]", repeat("[],", n)))),
    family("keys", |n| {
        object(&format!("{{{}}}", count(n, |n| format!("\"k{n}\":1,")) + "\"k\":1"))
    })
    .from(16 << 10),
    family("same-keys", |n| object(&format!("{{{}\"k\":1}}", repeat("\"k\":1,", n)))),
    family("folded-keys", |n| object(&format!("{{{}\"k\":1}}", repeat("\"K\":1,\"k\":1,", n)))),
    family("escapes", |n| object(&format!("\"{}\"", repeat("\\u0041", n)))),
    family("lone-surrogates", |n| object(&format!("\"{}\"", repeat("\\ud800", n)))),
    family("numbers", |n| object(&format!("[{}1]", repeat("1.7976931348623157e308,", n)))),
    family("digits", |n| object(&"9".repeat(n))),
    family("fraction", |n| object(&format!("0.{}", "3".repeat(n)))),
    family("exponent", |n| object(&format!("1e{}", "9".repeat(n)))),
    family("blanks", |n| object(&format!("{}1", " ".repeat(n)))),
    family("values", |n| repeat("{\"kind\":\"A\"}\n", n).into()),
    family("almost-json", |n| format!("{{\"kind\":\"A\",\"a\":[{}", repeat("1,", n)).into()),
    family("constraint", |n| {
        let one = "{\"package\":{\"packageName\":\"p\",\"versionRange\":\"1\"}}";
        format!("{{\"all\":{{\"constraints\":[{one}{}]}}}}", repeat(&format!(",{one}"), n)).into()
    }),
    family("constraint-deep", |n| repeat("{\"not\":{\"constraints\":[", n).into()),
    family("outcomes", |n| {
        format!("[{}{{}}]", repeat("{\"configMap\":\"a\",\"verdict\":\"written\"},", n)).into()
    }),
    family("outcomes-lines", |n| repeat("[\n", n).into()),
];

fn object(value: &str) -> Vec<u8> {
    format!("{{\"kind\":\"A\",\"a\":{value}}}").into_bytes()
}
