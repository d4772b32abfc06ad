//! Patterns in an `.indexignore`, and the names of the files that they are compared with.

use super::{Family, count};
use crate::Entry;
use crate::image::join;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::IndexIgnore, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    // A catalog may have 1,000 patterns only, so each is long.
    family("patterns", |n| ignored(&count(n, pattern), &count(1_000, name))),
    family("names", |n| ignored(&count(400, pattern), &count(n, name))),
    family("patterns-and-names", |n| ignored(&count(n / 2, pattern), &count(n / 2, name))),
    family("classes", |n| {
        ignored(&count(n, |n| format!("*[{}]{n}\n", "b-c".repeat(40))), &count(1_000, name))
    }),
    family("paths", |n| ignored(&count(n, |n| format!("{}{n}\n", "**/".repeat(40))), "a\nb\n")),
    family("comments", |n| ignored(&count(n, |n| format!("# {n}\n")), "a\nb\n")),
    family("long-line", |n| ignored(&"*".repeat(n), "a\nb\n")),
];

/// A pattern that is compared with almost the whole rest of a name at each character.
fn pattern(n: usize) -> String {
    format!("*{}{n}\n", "a".repeat(100))
}

fn name(n: usize) -> String {
    format!("{}{n}\n", "a".repeat(200))
}

fn ignored(patterns: &str, names: &str) -> Vec<u8> {
    join(&[patterns.as_bytes(), names.as_bytes()])
}
