//! Data of clusters.

use super::{FROM_BOUNDED, Family, count, repeat};
use crate::Entry;
use crate::image::join;

const fn response(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::ApiResponse, name, generate)
}

const fn pod(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Pod, name, generate)
}

const fn secret(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::PullSecret, name, generate)
}

const fn kubeconfig(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Kubeconfig, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    response("keys", |n| existing("", &count(n, |n| format!("\"k{n}\":\"v\",")))),
    response("annotations", |n| existing(&count(n, |n| format!("\"k{n}\":\"v\",")), "")),
    response("mark-of-annotations", |n| {
        let names = count(n, |n| format!("\\\"k{n}\\\","));
        existing(&format!("\"unlade.dev/annotations\":\"[{names}\\\"k\\\"]\","), "")
    }),
    // Almost as many as are read.
    response("small-maps", |n| {
        with_field(&format!("[{}{{}}]", repeat("{\"a\":0},", n.min(270_000))))
    }),
    response("small-fields", |n| {
        let fields = count(n, |n| format!("\"k{n}\":0,"));
        with_field(&format!("{{{fields}\"k\":0}}"))
    }),
    response("deep", |n| format!("200\n{}", "[".repeat(n)).into()),
    response("message", |n| format!("403\n{{\"message\":\"{}\"}}", repeat("\\u001b", n)).into()),
    response("causes", |n| {
        let causes = repeat("{\"reason\":\"a\"},", n);
        format!("422\n{{\"details\":{{\"causes\":[{causes}{{}}]}}}}").into()
    }),
    response("no-json", |n| format!("500 99999999999999999999\n{}", "<".repeat(n)).into()),
    response("retry-after", |n| format!("429 18446744073709551615\n{}", " ".repeat(n)).into()),
    pod("message", |n| failed("ErrImagePull", &repeat("not found: ", n))),
    pod("message-of-names", |n| failed("ErrImagePull", &repeat("registry.example/a: ", n))),
    pod("message-of-codes", |n| failed("ErrImagePull", &repeat("status code 404 ", n))),
    pod("message-of-escapes", |n| failed("ErrImagePull", &repeat("\\u001b[2J", n))),
    pod("containers", |n| {
        let one = |n| {
            format!(
                "{{\"name\":\"c{n}\",\"image\":\"a\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,\"state\":{{\"waiting\":{{\"reason\":\"ErrImagePull\"}}}}}},"
            )
        };
        status(&count(n, one), "[]")
    }),
    pod("events", |n| {
        let one = "{\"involvedObject\":{\"kind\":\"Pod\"},\"metadata\":{\"name\":\"e\"},\"reason\":\"Failed\",\"type\":\"Warning\",\"message\":\"pull qps exceeded\"},";
        status("", &format!("[{}]", repeat(one, n).trim_end_matches(',')))
    }),
    pod("termination-message", |n| {
        let message = repeat("[{}]\\n", n);
        status(
            &format!(
                "{{\"name\":\"unpack\",\"image\":\"a\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,\"state\":{{\"terminated\":{{\"exitCode\":1,\"message\":\"{message}\"}}}}}},"
            ),
            "[]",
        )
    }),
    secret("entries", |n| auths(&count(n, |n| format!("\"r{n}.example\":{{}},")), "r.example/a")),
    secret("entries-deep", |n| auths(&format!("\"a\":{}", "[".repeat(n)), "r.example/a")),
    secret("wildcards-of-one", |n| wildcards(n.min(160), 1)),
    secret("wildcards-in-many", |n| wildcards(40, n / 60)),
    secret("wildcard-parts", |n| {
        auths(
            &format!("\"{}example\":{{}},", repeat("*.", n)),
            &format!("{}example/a", "a.".repeat(100)),
        )
    }),
    secret("long-entry", |n| auths(&format!("\"{}\":{{}},", "a".repeat(n)), "r.example/a")),
    kubeconfig("contexts", |n| {
        let one = |n| format!("- {{name: c{n}, context: {{cluster: a}}}}\n");
        format!("current-context: c\ncontexts:\n{}", count(n, one)).into()
    }),
    kubeconfig("authority", |n| kubeconfig_of(&repeat("QUFB", n))),
    kubeconfig("aliases", |n| {
        format!("a: &a {}\nb: [{}]\n", "x".repeat(n / 2), repeat("*a,", n / 2)).into()
    })
    .from(FROM_BOUNDED),
];

/// Returns the response with an existing ConfigMap that has an unknown field.
fn with_field(value: &str) -> Vec<u8> {
    format!(
        "200\n{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"x\",\"resourceVersion\":\"1\"}},\"x\":{value}}}"
    )
    .into()
}

/// Returns a response with the ConfigMap that is to be filled. The lists of entries each end in a
/// comma.
fn existing(annotations: &str, data: &str) -> Vec<u8> {
    let map = |entries: &str| format!("{{{}}}", entries.trim_end_matches(','));
    let text = format!(
        "200\n{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"x\",\"resourceVersion\":\"1\",\"annotations\":{}}},\"data\":{}}}",
        map(annotations),
        map(data),
    );
    join(&[text.as_bytes(), b"200\n"])
}

/// Returns a pod whose container waits.
fn failed(reason: &str, message: &str) -> Vec<u8> {
    status(
        &format!(
            "{{\"name\":\"unpack\",\"image\":\"registry.example/a\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,\"state\":{{\"waiting\":{{\"reason\":\"{reason}\",\"message\":\"{message}\"}}}}}},"
        ),
        "[]",
    )
}

/// Returns a pod with these statuses of containers, which end in a comma, and its events.
fn status(containers: &str, events: &str) -> Vec<u8> {
    let containers = containers.trim_end_matches(',');
    let pod = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"p\"}},\"status\":{{\"phase\":\"Pending\",\"containerStatuses\":[{containers}]}}}}"
    );
    join(&[pod.as_bytes(), events.as_bytes()])
}

/// Returns a pull secret. The list of entries ends in a comma.
fn auths(entries: &str, image: &str) -> Vec<u8> {
    let entries = format!("{{\"auths\":{{{}}}}}", entries.trim_end_matches(','));
    join(&[image.as_bytes(), entries.as_bytes()])
}

/// Entries of 40 bytes and more that nearly match an image's registry, with stars between.
fn wildcards(stars: usize, n_entries: usize) -> Vec<u8> {
    let glob = |n| format!("\"{}b{n}.example\":{{}},", "*a".repeat(stars / 2));
    let entries: String = (0..n_entries.max(1)).map(glob).collect();
    auths(&entries, &format!("{}.example/a", "a".repeat(50)))
}

fn kubeconfig_of(authority: &str) -> Vec<u8> {
    format!(
        "current-context: c\ncontexts:\n- {{name: c, context: {{cluster: a}}}}\nclusters:\n- name: a\n  cluster:\n    server: https://10.0.0.1\n    certificate-authority-data: {authority}\n"
    )
    .into()
}
