//! Malicious inputs, which are deep, large or slow.

#![expect(clippy::format_collect, clippy::format_push_string, reason = "inputs read best so")]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::*;

fn repeat(head: &str, n: usize, tail: &str, m: usize) -> String {
    head.repeat(n) + &tail.repeat(m)
}

/// Returns nested mappings with the key `a`, one on each line.
fn block_mappings(n: usize) -> String {
    (0..n).map(|depth| format!("{:depth$}a:\n", "")).collect()
}

/// A name, and a function that creates a text with a number of levels.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: [Shape; 3] = [
    ("sequences", |n| repeat("[", n, "]", n)),
    ("mappings", |n| repeat("{a: ", n, "}", n)),
    ("dashes", |n| repeat("- ", n, "", 0)),
];

#[test]
fn the_limit_of_depth_is_exact_in_every_shape() {
    let limits = Limits { depth: 100, ..Limits::default() };
    for (name, text) in SHAPES {
        assert!(to_json(text(100).as_bytes(), &limits).is_ok(), "{name}");
        let error = to_json(text(101).as_bytes(), &limits).unwrap_err();
        assert!(matches!(error, Error::TooDeep { limit: 100, .. }), "{name}: {error}");
    }
}

#[test]
fn the_limit_of_depth_is_gos() {
    assert_eq!(Limits::default().depth, 10_000);
    let dashes = |n| json(&repeat("- ", n, "", 0));
    assert!(dashes(10_000).is_ok());
    assert!(matches!(dashes(10_001), Err(Error::TooDeep { limit: 10_000, .. })));
    assert!(json(&block_mappings(1_300)).is_ok());
}

/// The parser visits each open bracket at each token.
#[test]
fn flow_collections_nest_at_most_128_deep() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        assert!(json(&repeat(open, 128, close, 128)).is_ok(), "{open}");
        let error = json(&repeat(open, 129, close, 129)).unwrap_err();
        assert!(matches!(error, Error::TooDeep { limit: 128, .. }), "{open}: {error}");
    }
}

#[test]
fn brackets_and_indentations_count_each_for_themselves() {
    let text = repeat("- ", 9_950, "", 0) + &repeat("[", 100, "]", 100);
    assert!(json(&text).is_ok());
    // The nesting limit of Go's JSON decoder also applies to the JSON of the object.
    let object = format!("kind: A\na:\n- {text}");
    let error = decode(&object).unwrap_err();
    assert_eq!(error.to_string(), "the document is nested more than 10000 levels deep");
}

#[test]
fn a_custom_limit_of_depth_is_enforced() {
    let limits = Limits { depth: 10, ..Limits::default() };
    assert!(to_json(block_mappings(10).as_bytes(), &limits).is_ok());
    let error = to_json(block_mappings(11).as_bytes(), &limits).unwrap_err();
    assert!(matches!(error, Error::TooDeep { line: 11, limit: 10 }), "{error}");
}

#[test]
fn aliases_cannot_make_it_deeper_than_gos_json() {
    let dashes = "- ".repeat(5_100);
    let text = format!("kind: A\na: &a\n  {dashes}x\nb:\n  {dashes}*a\n");
    assert!(json(&text).is_ok());
    assert!(matches!(decode(&text), Err(Error::TooDeep { .. })));
}

#[test]
fn alias_bombs_are_refused() {
    let mut text = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (this, before) in ('b'..='i').zip('a'..) {
        text += &format!("{this}: &{this} [{}]\n", vec![format!("*{before}"); 9].join(","));
    }
    assert!(matches!(json(&text), Err(Error::Aliasing { .. })));
    let mut text = "a: &a {k: x}\n".to_owned();
    for (this, before) in ('b'..='z').zip('a'..) {
        text += &format!("{this}: &{this} {{<<: *{before}, k{this}: *{before}}}\n");
    }
    assert!(matches!(json(&text), Err(Error::Aliasing { .. })));
    let wide = "a: &a {b: 1}\n".to_owned() + &"c: {<<: *a}\n".repeat(1000);
    assert!(json(&wide).is_ok());
}

#[test]
fn an_anchor_cannot_hold_itself() {
    for text in ["a: &x [*x]", "a: &x {b: *x}", "&x a: {b: *y}", "a: &x {<<: *x}"] {
        assert!(matches!(json(text), Err(Error::Syntax { .. })), "{text}");
    }
}

#[test]
fn aliases_of_a_large_string_do_not_fill_the_memory() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(600));
    assert!(matches!(json(&text), Err(Error::TooLarge { what: "the JSON", .. })));
    let limits = Limits { output: 700 << 20, total_output: 700 << 20, ..Limits::default() };
    assert!(read(text.as_bytes(), Scalars::Resolved, &limits).is_ok());
}

#[test]
fn aliases_of_all_texts_together_are_bounded() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 10), "*a,".repeat(1000));
    let reader = Reader::new(&Limits { total_output: 2 << 20, ..Limits::default() });
    assert!(reader.to_json(text.as_bytes()).is_ok());
    assert!(reader.to_json(text.as_bytes()).is_ok());
    let error = reader.to_json(text.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::Exhausted { limit: 0x20_0000, .. }), "{error}");
}

#[test]
fn the_tree_of_a_document_is_bounded() {
    let limits = Limits { tree: 1 << 20, ..Limits::default() };
    let shapes = [
        ("flow", format!("[{}]", "a,".repeat(100_000))),
        ("block", "- a\n".repeat(100_000)),
        ("keys", format!("{{{}}}", "a,".repeat(100_000))),
        ("anchors", "- &a b\n".repeat(100_000)),
        ("JSON", format!("{{\"kind\":\"A\",\"a\":[{}1]}}", "1,".repeat(100_000))),
        ("JSON objects", format!("{{\"kind\":\"A\",\"a\":[{}1]}}", "{},".repeat(100_000))),
    ];
    for (name, text) in shapes {
        let error = decode_unstructured(text.as_bytes(), &limits).unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 0x10_0000, .. }), "{name}: {error}");
    }
}

#[test]
fn the_input_is_bounded_before_it_is_parsed() {
    let limits = Limits { input: 8, ..Limits::default() };
    assert!(to_json(b"a: 12345", &limits).is_ok());
    for error in [
        to_json(b"a: 123456", &limits).unwrap_err(),
        decode_unstructured(b"kind: 123", &limits).unwrap_err(),
    ] {
        assert!(matches!(error, Error::TooLarge { limit: 8, .. }), "{error}");
    }
}

/// Returns the work for a text, whether it is valid or not.
fn work(text: &str) -> u64 {
    let reader = Reader::new(&Limits::default());
    let _ = reader.read_file(text.as_bytes());
    reader.work()
}

#[test]
fn open_brackets_count_as_work_at_each_event() {
    let tokens = "1,".repeat(1_000);
    let nested =
        |items: &str| work(&format!("{}{items}{}", "[".repeat(FLOW_DEPTH), "]".repeat(FLOW_DEPTH)));
    let (flat, deep) = (work(&format!("[{tokens}]")), nested(&tokens));
    assert!(deep > flat + 1_000 * (FLOW_DEPTH as u64 - 1), "{flat} {deep}");
    // A text is parsed again for each of these colons.
    let patched = nested(&(tokens + &"a:,".repeat(16)));
    assert!(patched > 17 * deep, "{deep} {patched}");
}

/// A text of these kinds is parsed again from its start for each patch.
#[test]
fn work_grows_with_the_size_only() {
    type Shape = fn(usize) -> String;
    let shapes: [(&str, Shape); 9] = [
        ("brackets and colons", |n| {
            let items = "a,".repeat(n) + &"a:,".repeat(16);
            format!("{}{items}{}", "[".repeat(FLOW_DEPTH), "]".repeat(FLOW_DEPTH))
        }),
        ("brackets and tokens", |n| repeat("[", FLOW_DEPTH, "1,", n)),
        ("too many brackets", |n| repeat("[", n, "1,", n)),
        ("colons", |n| format!("[{}]", "a:,".repeat(n))),
        ("colons in many collections", |n| "- [a:,b]\n".repeat(n)),
        ("a colon behind much text", |n| {
            format!("a: {}\nb: [{}]", "x".repeat(n), "a:,".repeat(16))
        }),
        ("escaped quotes", |n| "- \"\\'\"\n".repeat(n)),
        ("tags", |n| "- !a,b c\n".repeat(n)),
        ("directives", |n| format!("%TAG !a! {}\n---\n{}", "b".repeat(n), "- !a!c d\n".repeat(n))),
    ];
    for (name, shape) in shapes {
        let (small, large) = (shape(4_000), shape(64_000));
        let sizes = large.len() / small.len() + 1;
        let (cheap, dear) = (work(&small), work(&large));
        assert!(
            dear <= cheap * sizes as u64 * 11 / 10,
            "{name}: {cheap}, {dear} for {sizes} times"
        );
        // Sixteen failed attempts, with 25 units and one for each open bracket for each byte, if
        // each byte is an event.
        let n_open = large.bytes().take_while(|byte| *byte == b'[').count().min(FLOW_DEPTH);
        let most = 17 * (26 + n_open) * large.len();
        assert!(dear <= most as u64, "{name}: {dear} for {} bytes", large.len());
    }
}

#[test]
fn the_work_of_all_texts_together_is_bounded() {
    let reader = Reader::new(&Limits { work: 60_000, ..Limits::default() });
    let text = "kind: A\na: [1, 2]\n".to_owned() + &"# comment\n".repeat(1_000);
    let first_refused = (0..10).find(|_| reader.read_file(text.as_bytes()).is_err());
    assert_eq!(first_refused, Some(5));
    let error = reader.read_file(b"kind: A").unwrap_err();
    assert!(matches!(error, Error::Exhausted { limit: 60_000, .. }), "{error}");
}

/// A key is compared each time that a merge copies it.
#[test]
fn merged_keys_count_as_work() {
    let key = "k".repeat(10_000);
    let text = format!("a: &a\n  ? {key}\n  : 1\nb: {{<<: [{}]}}\n", "*a,".repeat(1_000));
    assert!(work(&text) > 1_000 * 10_000);
    let keys: String = (0..1_000).map(|n| format!("k{n}: x, ")).collect();
    let wide = format!("a: &a {{{keys}}}\n") + &"b: {<<: *a}\n".repeat(3_000);
    assert!(matches!(json(&wide), Err(Error::Aliasing { .. })));
}

#[test]
fn many_places_to_patch_are_refused() {
    let colons = |n| json(&format!("[{}]", "a:,".repeat(n)));
    assert!(colons(16).is_ok());
    assert!(matches!(colons(17), Err(Error::TooComplex { .. })));
}

#[test]
fn escaped_quotes_are_patched_all_at_once() {
    let text = "- \"\\'\"\n- '\\'\n- \\'\n- \"\\\\\"\n".repeat(100);
    let expected = [r#""'""#, r#""\\""#, r#""\\'""#, r#""\\""#].join(",");
    assert_eq!(json(&text).unwrap(), format!("[{}]", vec![expected; 100].join(",")));
}

#[test]
fn many_directives_are_refused() {
    let text: String = (0..100).map(|n| format!("%TAG !a{n}! b\n")).collect();
    assert!(matches!(json(&(text + "---\na: 1\n")), Err(Error::TooComplex { line: 65, .. })));
    // The line breaks are those of the parser.
    let text: String = (0..100).map(|n| format!("%TAG !a{n}! b\r")).collect();
    assert!(matches!(json(&(text + "---\na: 1\n")), Err(Error::TooComplex { line: 65, .. })));
}

/// The prefix is copied into each tag.
#[test]
fn long_directives_are_refused() {
    let text = |n| format!("%TAG !a! {}\n---\n- !a!c d\n", "b".repeat(n));
    assert!(json(&text(247)).is_ok());
    assert!(matches!(json(&text(248)), Err(Error::TooComplex { line: 1, .. })));
}

/// Eight times the input may need eight times the CPU time, with some tolerance. A quadratic parser
/// would need 64 times the time.
#[test]
fn the_time_grows_linearly_with_the_size() {
    type Shape = fn(usize) -> String;
    let shapes: [(&str, Shape); 14] = [
        ("comments", |n| "# c\n".repeat(n)),
        ("blank lines", |n| "a: b\n".to_owned() + &"\n".repeat(n) + "c: d"),
        ("plain", |n| "a: ".to_owned() + &"b ".repeat(n)),
        ("plain lines", |n| "a: ".to_owned() + &"b\n ".repeat(n)),
        ("quoted", |n| format!("a: \"{}\"", "\\x41 ".repeat(n))),
        ("quoted lines", |n| format!("a: '{}'", "b\n\n ".repeat(n))),
        ("literal", |n| "a: |\n".to_owned() + &"  b\n\n".repeat(n)),
        ("folded", |n| "a: >\n".to_owned() + &"  b\n".repeat(n)),
        ("anchors", |n| (0..n).map(|n| format!("- &a{n} b\n- *a{n}\n")).collect()),
        ("one anchor", |n| "- &a b\n".to_owned() + &"- *a\n".repeat(n.min(40_000))),
        ("keys", |n| (0..n).map(|n| format!("a{n}: b\n")).collect()),
        ("same keys", |n| "a: b\n".repeat(n)),
        ("flow", |n| format!("[{}]", "a, {b: c}, ".repeat(n))),
        ("escaped quotes", |n| "- \"\\'\"\n".repeat(n)),
    ];
    for (name, shape) in shapes {
        let time = |n: usize| {
            let text = shape(n);
            let runs = (0..5).map(|_| {
                let start = cpu_time();
                let _ = json(&text);
                cpu_time().saturating_sub(start)
            });
            runs.min().unwrap()
        };
        let (small, large) = (time(3_000), time(24_000));
        let ratio = large.as_secs_f64() / small.as_secs_f64();
        assert!(ratio < 24.0, "{name}: 8 times the size took {ratio:.1} times the time");
    }
}

/// Returns the CPU time of this thread, which does not depend on the load of the machine.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

#[test]
fn json_nests_as_deep_as_in_go_and_no_deeper_than_the_limit() {
    let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
    for depth in [10, 10_000] {
        let limits = Limits { depth, ..Limits::default() };
        let reader = Reader::new(&limits);
        assert!(reader.read_file(nested(depth - 1).as_bytes()).is_ok());
        let error = reader.read_file(nested(depth).as_bytes()).unwrap_err();
        assert!(matches!(error, Error::TooDeep { line: 1, limit } if limit == depth), "{error}");
    }
}

/// Runs a thread with a stack of 128 KiB, in which a recursion over the document would overflow.
#[test]
fn deep_documents_need_no_deep_stack() {
    let work = || {
        let text = "- ".repeat(10_000);
        let tree = read(text.as_bytes(), Scalars::Resolved, &Limits::default()).unwrap().tree;
        assert_eq!(
            tree.root().to_json(),
            format!("{}null{}", "[".repeat(10_000), "]".repeat(10_000))
        );
        let copy = tree.clone();
        drop(tree);
        drop(copy);
        let object =
            format!("{{\"kind\":\"A\",\"a\":{}1{}}}", "[".repeat(9_999), "]".repeat(9_999));
        assert!(decode(&object).unwrap().object.is_some());
    };
    std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap().join().unwrap();
}
