use proptest::prelude::*;

use super::compose;
use crate::{Limits, Reader, Scalars};

mod outline;

/// What is compared with the library: the JSON or the error, unread content, and the work.
type Answer = (Result<(String, String), String>, u64);

fn answer(reader: &Reader, text: &str, scalars: Scalars) -> Answer {
    let read = reader.read(text.as_bytes(), scalars);
    let read =
        read.map(|document| (document.tree.root().to_json(), format!("{:?}", document.unread)));
    (read.map_err(|error| format!("{error:?}")), reader.work())
}

/// Checks that the text means the same to the library, and returns whether it was left to it.
fn is_left_to_library(text: &str, limits: &Limits) -> bool {
    for scalars in [Scalars::Resolved, Scalars::Source] {
        let ours = answer(&Reader::new(limits), text, scalars);
        assert_eq!(ours, answer(&Reader::with_library_only(limits), text, scalars), "{text:?}");
    }
    compose(text.as_bytes(), Scalars::Resolved, &Reader::new(limits)).is_none()
}

#[test]
fn manifests_in_block_style_are_read_without_the_library() {
    let texts = [
        "a: 1\n",
        "a: 1",
        "---\na: 1\n",
        "# comment\n\n--- # comment\na: 1 # comment\n# comment\n",
        "a:\nb: ~\nc: # comment\n",
        "- a\n-\n- - b\n  - c\n-   d: e\n    f: g\n",
        "a:\n- b\n- c:\n  - d\ne: f\n",
        "a:\n  - b\n  -\n    c: d\n",
        "a:\n  b:\n    c: d\n# comment\n  e: f\n",
        "a:\n  text\n  goes on\n\n\n  after two blank lines # comment\nb: 'too\n\n  far'\n",
        "a: text\n  - goes on\nb: c\n",
        "a: 'it''s'\nb: \"\\\"\\\\\\n\\t\\r\\u00e9\\x41\\ \"\nc: ''\nd: \"\"\n",
        "a: \"text \n   goes \\\n   on\\\n\n   \\ here\"\n",
        "'a': b\n\"c d\": e\n",
        "\"a\\tb\": c\n'it''s': d\ne:\n- \"\\u00e9\\\"\": f\n  \"a\\tb\": 'g''h'\n",
        "a: |\n  text\n\n    deeper\n  \t tab\n\nb: |-\n  text\n\nc: |+\n  text\n\n",
        "a: >\n\n  folded\n  text\n\n  after a blank line\n   deeper\n  again\n",
        "a: |2-\n    two spaces\n  none\nb: >1+\n  one\n\n",
        "- |\n text\n- >-\n text\n",
        "a: {}\nb: []\nc: [d, 'e', \"f\", 1]\ng: {h: i, 'j': 2}\nk: [ ]\n",
        "y: yes\nn: no\nnull_: null\n1: 2\n1.5.0: 1.5\ntrue: false\na: 0o7\nb: 0x1f\nc: 1_000\n",
        "a: 2001-01-01\nb: 18446744073709551615\nc: -1\nd: +1e3\ne: --flag\nf: http://a:1/#b\n",
        "a: b\na: c\n",
        "é: ü\nb: \u{a0}\n",
        "a:   b   \nc: d  # comment\n",
    ];
    // Keys that are not text are left to the library, and so is everything beside them.
    let expected = [false; 20].into_iter().chain([true]).chain([false; 4]);
    for (text, expected) in texts.iter().zip(expected) {
        assert_eq!(is_left_to_library(text, &Limits::default()), expected, "{text:?}");
    }
}

#[test]
fn everything_else_is_left_to_the_library() {
    let texts = [
        "",
        "# comment\n",
        "---\n",
        "a\n",
        "'a'\n",
        "{}\n",
        " a: 1\n",
        "--- a\n",
        "---#\na: 1\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\n",
        "%YAML 1.1\n---\na: 1\n",
        "\u{feff}a: 1\n",
        "a: 1\r\n",
        "a:\t1\n",
        "a: b\tc\n",
        "\ta: 1\n",
        "a: 'b\n\tc'\n",
        "a: |\n\ttext\n",
        "a: |\n  text\n\tb\n",
        "a: \u{7}\n",
        "a: \u{85}\n",
        "a: \u{2028}\n",
        "a: &b c\nd: *b\n",
        "<<: {}\n",
        "a: !!str 1\n",
        "? a\n: b\n",
        "a: .inf\n",
        "~: a\n",
        "18446744073709551615: a\n",
        "a: b: c\n",
        "a: b:\n",
        "a : b\n",
        "a: - b\n",
        "a: -\n",
        "a: b\n  c: d\n",
        "a: b # comment\n  c\n",
        "a: b\n  # comment\n  c\n",
        "a:\n    b: 1\n  c: 2\n",
        "- a\nb: c\n",
        "a: b\n- c\n",
        "a: 'b' c\n",
        "a: 'b': c\n",
        "a: \"b\\t\": c\n",
        "\"a\\/\": b\n",
        "\"a\\tb\"\n",
        "\"a\\\n  b\": c\n",
        "\"a\\t\n  b\": c\n",
        "'it''s\n  a': b\n",
        "a: 'b'#c\n",
        "a: 'b\nc'\n",
        "a: 'b\n",
        "a: \"\\/\"\n",
        "a: \"\\'\"\n",
        "a: \"\\ud800\"\n",
        "a: \"b\\\n... c\"\n",
        "a: |\n",
        "a: |\nb: c\n",
        "a: |\n   \n  b\n",
        "a: |\n  b",
        "a: |x\n  b\n",
        "a: [b: c]\n",
        "a: [b\n  ]\n",
        "a: [[b]]\n",
        "a: [b c]\n",
        "a: [b,]\n",
        "a: {b}\n",
        "a: {'b':c}\n",
        "a: {} b\n",
        "a: @b\n",
        "a: `b\n",
        "a: %b\n",
    ];
    for text in texts {
        assert!(is_left_to_library(text, &Limits::default()), "{text:?}");
    }
    let long_key = format!("{}: b\n", "a".repeat(600));
    assert!(is_left_to_library(&long_key, &Limits::default()));
    let long_escaped_key = format!("\"\\n{}\": b\n", "a".repeat(600));
    assert!(is_left_to_library(&long_escaped_key, &Limits::default()));
    let long_flow_key = format!("a: {{{}: b}}\n", "a".repeat(1_100));
    assert!(is_left_to_library(&long_flow_key, &Limits::default()));
    let long_flow = format!("a: [{}b]\n", "b, ".repeat(200));
    assert!(is_left_to_library(&long_flow, &Limits::default()));
    let deep = format!("{}a\n", "- ".repeat(65));
    assert!(is_left_to_library(&deep, &Limits::default()));
}

#[test]
fn limits_are_those_of_the_library() {
    let text = "a:\n- {b: c}\n- [1, 2]\n- d: 'e'\n  f: |\n    text\ng: h\n";
    let mut n_left = 0;
    for limits in small_limits() {
        n_left += usize::from(is_left_to_library(text, &limits));
    }
    assert!(n_left > 500, "{n_left}");
}

/// Returns limits of which one is small, for each limit and each small value.
fn small_limits() -> impl Iterator<Item = Limits> {
    (0..2_000).flat_map(|limit| {
        [
            Limits { work: limit as u64, ..Limits::default() },
            Limits { tree: limit, ..Limits::default() },
            Limits { depth: limit, ..Limits::default() },
            Limits { output: limit, ..Limits::default() },
            Limits { input: limit, ..Limits::default() },
        ]
    })
}

/// The tokens of the block style, and of what is left to the library.
const TOKENS: [&str; 40] = [
    "a", "b c", ": ", ":", "\n", "\n  ", "\n    ", "\n- ", "\n\n", " ", "  ", "- ", "-", " #", "#",
    "'", "''", "\"", "\\", "\\n", "|", ">", "|-\n  ", ">\n    ", "[]", "{}", "[", "]", ", ", "~",
    "1", "true", "&a ", "*a", "<<: ", "---\n", "...", "\t", "é", "? ",
];

#[test]
fn every_short_text_means_the_same_to_the_library() {
    let tokens = ["a", ": ", "\n", "\n ", "- ", "#", "'", "|"];
    let mut texts = vec![String::new()];
    let mut n_read = 0;
    for _ in 0..5 {
        let longer = |text: &String| tokens.map(|token| format!("{text}{token}"));
        texts = texts.iter().flat_map(longer).collect();
        let is_read = |text: &&String| !is_left_to_library(text, &Limits::default());
        n_read += texts.iter().filter(is_read).count();
    }
    assert!(n_read > 500, "{n_read}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn random_texts_mean_the_same_to_the_library(
        tokens in prop::collection::vec(prop::sample::select(&TOKENS[..]), 1..24),
    ) {
        is_left_to_library(&format!("a: {}\n", tokens.concat()), &Limits::default());
        is_left_to_library(&tokens.concat(), &Limits::default());
    }
}
