//! What registries send, and the files about them.

use super::{Family, count, repeat};
use crate::Entry;
use crate::image::join;

const fn response(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::RegistryResponse, name, generate)
}

const fn credentials(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Credentials, name, generate)
}

const fn rules(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::RegistriesConf, name, generate)
}

const fn certificates(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Certificates, name, generate)
}

const IMAGE: &[u8] = b"registry.example/a/b:v1";

fn of_image(text: &str) -> Vec<u8> {
    join(&[IMAGE, text.as_bytes()])
}

pub(super) const FAMILIES: &[Family] = &[
    response("challenges", |n| repeat("Basic realm=\"a\"\n", n).into()),
    response("parameters", |n| {
        format!("Bearer {}realm=\"https://a/\"", repeat("a=\"b\",", n)).into()
    }),
    response("escapes", |n| format!("Bearer realm=\"{}\"", repeat("\\\"", n)).into()),
    response("token", |n| join(&[b"", format!("{{\"token\":\"{}\"}}", repeat("a", n)).as_bytes()])),
    response("errors", |n| {
        let errors = repeat("{\"code\":\"A\",\"message\":\"b\"},", n);
        let text = format!("{{\"errors\":[{}]}}", errors.trim_end_matches(','));
        join(&[b"", text.as_bytes()])
    }),
    response("deep-token", |n| join(&[b"", "[".repeat(n).as_bytes()])),
    response("range", |n| join(&[b"", b"", format!("bytes {}-", "9".repeat(n)).as_bytes()])),
    response("redirect", |n| join(&[b"", b"", b"", format!("//a{}", repeat("/..", n)).as_bytes()])),
    credentials("registries", |n| {
        let entries = count(n, |n| format!("\"r{n}.example\":{{\"auth\":\"YTpi\"}},"));
        of_image(&format!("{{\"auths\":{{{}}}}}", entries.trim_end_matches(',')))
    }),
    credentials("namespaces", |n| {
        let entries = count(n, |n| format!("\"registry.example/a{n}\":{{\"auth\":\"YTpi\"}},"));
        of_image(&format!("{{\"auths\":{{{}}}}}", entries.trim_end_matches(',')))
    }),
    credentials("helpers", |n| {
        let entries = count(n, |n| format!("\"r{n}.example\":\"h\","));
        of_image(&format!("{{\"credHelpers\":{{{}}}}}", entries.trim_end_matches(',')))
    }),
    credentials("secret", |n| {
        of_image(&format!("{{\"Username\":\"a\",\"Secret\":\"{}\"}}", repeat("a", n)))
    }),
    credentials("deep", |n| of_image(&"[".repeat(n))),
    rules("mirrors", |n| {
        let mirrors = count(n, |n| format!("[[registry.mirror]]\nlocation = \"m{n}.example\"\n"));
        of_image(&format!("[[registry]]\nlocation = \"registry.example\"\n{mirrors}"))
    }),
    rules("registries", |n| {
        of_image(&count(n, |n| format!("[[registry]]\nlocation = \"r{n}.example\"\n")))
    }),
    rules("same", |n| of_image(&repeat("[[registry]]\nlocation = \"registry.example\"\n", n))),
    rules("wildcards", |n| of_image(&repeat("[[registry]]\nprefix = \"*.example\"\n", n))),
    rules("search", |n| {
        of_image(&format!("unqualified-search-registries = [{}]", repeat("\"a\",", n)))
    }),
    rules("deep", |n| of_image(&format!("a = {}", "[".repeat(n)))),
    rules("dotted", |n| of_image(&format!("{}a = 1", repeat("a.", n)))),
    certificates("certificates", |n| pem("CERTIFICATE", "AAAA").repeat(n / 59).into()),
    certificates("long-certificate", |n| pem("CERTIFICATE", &repeat("A", n)).into()),
    certificates("lines", |n| pem("CERTIFICATE", &repeat("AAAA\n", n)).into()),
    certificates("begins", |n| repeat("-----BEGIN CERTIFICATE-----\n", n).into()),
    certificates("long-label", |n| format!("-----BEGIN {}-----\n", repeat("A", n)).into()),
    certificates("dashes", |n| repeat("-", n).into()),
    certificates("keys", |n| {
        let certificate = pem("CERTIFICATE", "AAAA");
        let keys = pem("PRIVATE KEY", "AAAA").repeat(n / 59);
        join(&[certificate.as_bytes(), certificate.as_bytes(), keys.as_bytes()])
    }),
];

fn pem(label: &str, text: &str) -> String {
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}
