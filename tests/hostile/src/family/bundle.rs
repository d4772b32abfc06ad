//! Files of bundles: dependencies, properties, CSVs, CRDs.

use super::{FROM_BOUNDED, Family, count, repeat};
use crate::Entry;
use crate::image::join;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Bundle, name, generate)
}

const ANNOTATIONS: &str = "annotations:
  operators.operatorframework.io.bundle.package.v1: hello
  operators.operatorframework.io.bundle.channels.v1: stable
";
const CSV: &str = "kind: ClusterServiceVersion\nmetadata: {name: hello.v1.0.0}\n";

pub(super) const FAMILIES: &[Family] = &[
    family("dependencies", |n| {
        let of =
            |n| format!("- {{type: olm.package, value: {{packageName: p{n}, version: '>1'}}}}\n");
        bundle(&format!("dependencies:\n{}", count(n, of)), "", "")
    }),
    family("same-dependencies", |n| {
        let one = "- {type: olm.gvk, value: {group: a.b, kind: A, version: v1}}\n";
        bundle(&format!("dependencies:\n{}", repeat(one, n)), "", "")
    }),
    family("constraints", |n| {
        let of = |n| {
            format!(
                "- {{type: olm.constraint, value: {{all: {{constraints: [{{package: {{packageName: p{n}, versionRange: '1'}}}}]}}}}}}\n"
            )
        };
        bundle(&format!("dependencies:\n{}", count(n, of)), "", "")
    }),
    family("constraint-deep", |n| {
        let depth = n / 28;
        let (open, close) = ("{all: {constraints: [".repeat(depth), "]}}".repeat(depth));
        bundle(
            &format!("dependencies:\n- {{type: olm.constraint, value: {open}{close}}}\n"),
            "",
            "",
        )
    }),
    family("properties", |n| {
        let of = |n| format!("- {{type: t{n}, value: {{a: {n}}}}}\n");
        bundle("", &format!("properties:\n{}", count(n, of)), "")
    }),
    family("properties-by-alias", |n| {
        let (value, aliases) = ("v".repeat(n / 2), repeat("- {type: t, value: *a}\n", n / 2));
        bundle("", &format!("a: &a {value}\nproperties:\n{aliases}"), "")
    })
    .from(FROM_BOUNDED),
    family("owned-definitions", |n| {
        let of = |n| format!("    - {{name: as{n}.b.c, kind: A{n}, version: v1}}\n");
        let rest = format!("spec:\n  customresourcedefinitions:\n    owned:\n{}", count(n, of));
        bundle("", "", &rest)
    }),
    family("required-definitions", |n| {
        let of = |n| format!("    - {{name: as.b{n}.c, kind: A, version: v1}}\n");
        let rest = format!("spec:\n  customresourcedefinitions:\n    required:\n{}", count(n, of));
        bundle("", "", &rest)
    }),
    family("skips", |n| {
        bundle("", "", &format!("spec:\n  skips:\n{}", count(n, |n| format!("  - a.v{n}\n"))))
    }),
    family("annotations-of-csv", |n| {
        let rest = count(n, |n| format!("    k{n}: '{{\"a\":{n}}}'\n"));
        bundle("", "", &format!("metadata:\n  name: a\n  annotations:\n{rest}"))
    }),
    family("properties-annotation", |n| {
        let list = count(n, |n| format!("{{\"type\":\"t{n}\",\"value\":{n}}},"));
        bundle(
            "",
            "",
            &format!("metadata:\n  name: a\n  annotations:\n    olm.properties: '[{list}null]'\n"),
        )
    }),
    family("constraint-annotation-deep", |n| {
        let value = "[".repeat(n);
        bundle(
            "",
            "",
            &format!("metadata:\n  name: a\n  annotations:\n    olm.constraints: '{value}'\n"),
        )
    }),
    family("csv-by-alias", |n| {
        let (text, aliases) = ("x".repeat(n / 2), repeat("*a,", n / 2));
        bundle("", "", &format!("a: &a {text}\nb: [{aliases}]\n"))
    })
    .from(FROM_BOUNDED),
];

fn bundle(dependencies: &str, properties: &str, rest_of_csv: &str) -> Vec<u8> {
    let csv = format!("{CSV}{rest_of_csv}");
    let parts = [ANNOTATIONS, dependencies, properties, &csv];
    join(&parts.map(str::as_bytes))
}
