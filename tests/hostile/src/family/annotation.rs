//! The file annotations.yaml.

use super::{FROM_BOUNDED, Family, count, repeat};
use crate::Entry;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Annotations, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    family("many", |n| annotations(&count(n, |n| format!("  example.com/k{n}: v\n")))),
    family("reserved", |n| annotations(&count(n, |n| format!("  olm.k{n}: v\n")))),
    family("illegal-keys", |n| annotations(&count(n, |n| format!("  \"k {n}\": v\n")))),
    family("same-key", |n| annotations(&repeat("  example.com/k: v\n", n))),
    family("not-text", |n| annotations(&count(n, |n| format!("  example.com/k{n}: [v]\n")))),
    family("long-value", |n| annotations(&format!("  example.com/k: {}\n", "v".repeat(n)))),
    family("long-key", |n| annotations(&format!("  ? {}\n  : v\n", "k".repeat(n)))),
    family("aliases", |n| {
        let value = "v".repeat(n / 2);
        let aliases = count(n / 2, |n| format!("  example.com/k{n}: *a\n"));
        annotations(&format!("  example.com/k: &a {value}\n{aliases}"))
    })
    .from(FROM_BOUNDED),
    family("manifests-path", |n| {
        let path = repeat("a/../", n);
        annotations(&format!("  operators.operatorframework.io.bundle.manifests.v1: {path}\n"))
    }),
    family("channels", |n| {
        let channels = count(n, |n| format!("c{n},"));
        annotations(&format!("  operators.operatorframework.io.bundle.channels.v1: {channels}\n"))
    }),
    family("other-roots", |n| {
        count(n, |n| format!("r{n}: {{example.com/k{n}: v}}\n")).into_bytes()
    }),
    family("no-mapping", |n| format!("annotations: [{}]\n", repeat("a, ", n)).into()),
];

fn annotations(rest: &str) -> Vec<u8> {
    format!("annotations:\n{rest}").into_bytes()
}
