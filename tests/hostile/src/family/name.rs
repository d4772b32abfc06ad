//! References, ranges and versions.

use super::{Family, count, repeat};
use crate::Entry;

const fn reference(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Reference, name, generate)
}

const fn range(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Range, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    reference("parts", |n| repeat("a/", n).into()),
    reference("separators", |n| format!("a{}a", repeat("__-.", n)).into()),
    reference("colons", |n| format!("oci:a{}", ":".repeat(n)).into()),
    reference("ats", |n| format!("oci:a{}", "@".repeat(n)).into()),
    reference("digest", |n| format!("a@sha256:{}", "0".repeat(n)).into()),
    reference("tag", |n| format!("a:{}", "t".repeat(n)).into()),
    reference("host", |n| format!("{}a:5000/a", repeat("a.", n)).into()),
    reference("index", |n| format!("oci:a:@{}", "9".repeat(n)).into()),
    reference("platforms", |n| repeat("linux/arm64/v8\n", n).into()),
    reference("lines", |n| count(n, |n| format!("registry.example/a{n}:v1@sha256:00\n")).into()),
    reference("bundles", |n| {
        format!("serve\n{}", count(n, |n| format!("--bundle\n/a={n}\n"))).into()
    }),
    reference("same-bundles", |n| format!("serve\n{}", repeat("--bundle\n/a=b\n", n)).into()),
    reference("durations", |n| format!("serve\n--deadline\n{}", "9".repeat(n)).into()),
    range("alternatives", |n| format!("{}1.0.0\n1.2.3", repeat(">1.0.0 || ", n)).into()),
    range("all", |n| format!("{}<9.0.0\n1.2.3", repeat(">1.0.0 ", n)).into()),
    range("not", |n| format!("{}1.0.0\n1.2.3", "!".repeat(n)).into()),
    range("wildcards", |n| format!("{}1.0.0\n1.2.3", repeat("1.x || ", n)).into()),
    range("wildcards-in-one", |n| format!("1{}\n1.2.3", repeat(".x", n)).into()),
    range("blanks", |n| format!(">{}1.0.0\n1.2.3", " ".repeat(n)).into()),
    range("digits", |n| format!(">1.0.{}\n1.2.3", "9".repeat(n)).into()),
    range("pre-release", |n| format!(">1.0.0-{}a\n1.2.3", repeat("a.", n)).into()),
    range("version", |n| format!(">1.0.0\n1.2.3-{}a", repeat("1.", n)).into()),
    range("bars", |n| "|".repeat(n).into_bytes()),
];
