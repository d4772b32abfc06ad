use super::*;
use crate::Limits;

/// Reads a stream in pieces of `piece` bytes. Returns the line and the JSON of each document, or
/// the error. Checks that the text of each document is at its offset.
fn read(text: &str, piece: usize) -> Vec<(u64, String)> {
    struct Slow<'t>(&'t [u8], usize);
    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(to.len());
            self.0.read(&mut to[..len])
        }
    }
    let reader = Reader::new(&Limits::default());
    let mut documents = Documents::new(Slow(text.as_bytes(), piece), &reader);
    let mut found = Vec::new();
    while let Some(part) = documents.next().unwrap() {
        let offset = usize::try_from(part.offset).unwrap();
        assert!(text.as_bytes()[offset..].starts_with(part.text), "{text:?}: {part:?}");
        assert_eq!(n_lines(&text.as_bytes()[..offset]) + 1, part.line, "{text:?}");
        let json = match part.document {
            Ok(document) => document.tree.root().to_json(),
            Err(error) => error.to_string(),
        };
        found.push((part.line, json));
    }
    found
}

/// The expected values are those of the crafted catalogs with these names, and of the Go code.
#[test]
fn streams_are_split_as_upstream_splits_them() {
    let cases: &[(&str, &[(u64, &str)])] = &[
        ("", &[]),
        ("\n\n", &[(1, "null")]),
        ("a: 1", &[(1, r#"{"a":1}"#)]),
        ("---\na: 1\n---\n", &[(1, r#"{"a":1}"#)]),
        ("a: 1\n---\n---\nb: 2\n", &[(1, r#"{"a":1}"#), (3, r#"{"b":2}"#)]),
        ("# licence\n---\na: 1\n", &[(1, "null"), (3, r#"{"a":1}"#)]),
        ("--- # comment\na: 1\r\n---  \t\nb: 2", &[(1, r#"{"a":1}"#), (4, r#"{"b":2}"#)]),
        (
            "a: 1\n---b\nc: 2\n",
            &[
                (1, r#"{"a":1}"#),
                (2, "line 2: invalid document separator: text follows ---"),
                (3, r#"{"c":2}"#),
            ],
        ),
        (
            "a: 1\n---\n- [\n---\nb: 2\n",
            &[
                (1, r#"{"a":1}"#),
                (
                    3,
                    "line 4: did not find expected node content, while parsing a flow node that begins at line 2",
                ),
                (5, r#"{"b":2}"#),
            ],
        ),
        (r#"{"a":1}{"b":"}"}"#, &[(1, r#"{"a":1}"#), (1, r#"{"b":"}"}"#)]),
        ("\n {\"a\":1}\n\n{\"b\":\n2}\n", &[(2, r#"{"a":1}"#), (4, r#"{"b":2}"#)]),
        ("{\"a\":1}\n---\n{\"b\":2}\n", &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]),
        ("{\"a\":1,}\n", &[(1, r#"{"a":1}"#)]),
        ("{\"a\":1}\nb: 2\n", &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]),
        (
            "{\"a\":1}{\"b\":2}\nc: 3\n",
            &[(1, r#"{"a":1}"#), (1, r#"{"b":2}"#), (2, "line 2: found no value")],
        ),
        ("{\"a\":1}\n[1]", &[(1, r#"{"a":1}"#), (2, "[1]")]),
        // Go counts a form feed as white space when it guesses the format, but JSON does not.
        ("\u{c} {", &[(1, "line 1: found no value")]),
        ("{\"a\":1}x", &[(1, r#"{"a":1}"#), (1, "line 1: found no value")]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(line, json)| (*line, (*json).to_owned())).collect();
        for piece in [1, 3, 1 << 20] {
            assert_eq!(read(text, piece), expected, "{text:?} in pieces of {piece}");
        }
    }
}

#[test]
fn only_white_space_of_less_than_a_buffer_comes_before_json() {
    let object = r#"{"a":1}{"b":2}"#;
    assert_eq!(read(&format!("{}{object}", " ".repeat(SNIFFED - 1)), 1 << 20).len(), 2);
    // YAML reads only the first node.
    assert_ne!(read(&format!("{}{object}", " ".repeat(SNIFFED)), 1 << 20).len(), 2);
}

#[test]
fn a_document_has_a_maximum_size_and_a_stream_has_none() {
    let limits = Limits { input: 100_000, ..Limits::default() };
    let many = "a: 1\n---\n".repeat(100_000);
    let reader = Reader::new(&limits);
    let mut documents = Documents::new(many.as_bytes(), &reader);
    let mut n_documents = 0;
    while documents.next().unwrap().is_some() {
        n_documents += 1;
    }
    assert_eq!(n_documents, 100_000);
    // The buffer is filled with more than one document at a time.
    let object = format!("{{\"a\":\"{}\"}}\n", "a".repeat(100_000));
    for large in
        ["a".repeat(1 << 20), "a\n".repeat(1 << 19), format!("{{\"{}", "a".repeat(1 << 20)), object]
    {
        let reader = Reader::new(&limits);
        let mut documents = Documents::new(large.as_bytes(), &reader);
        assert!(matches!(documents.next(), Err(StreamError::TooLarge { line: 1, .. })));
    }
}

/// Reads a stream of YAML with a budget. Returns the number of documents, the first error, and the
/// used work.
fn read_within(text: &str, limits: &Limits) -> (usize, Option<String>, u64) {
    let reader = Reader::new(limits);
    let mut documents = Documents::new(text.as_bytes(), &reader);
    let (mut n_documents, mut first) = (0, None);
    while let Some(part) = documents.next().unwrap() {
        n_documents += 1;
        first = first.or(part.document.err().map(|error| error.to_string()));
    }
    (n_documents, first, reader.work())
}

/// Each document takes less than the budget, but all of them together would take minutes for a
/// stream of 10 MiB.
#[test]
fn all_documents_of_a_stream_share_the_work() {
    let document =
        format!("---\na: {}{}{}\n", "[".repeat(120), "a,".repeat(1_000), "]".repeat(120));
    let limits = Limits { work: 200_000, ..Limits::default() };
    assert_eq!(read_within(&document, &limits).1, None);
    let stream = document.repeat(100);
    let (n_documents, error, work) = read_within(&stream, &limits);
    assert_eq!(n_documents, 100);
    assert!(error.unwrap().ends_with("units of work"));
    // Only the first documents add to the budget. Each other one counts with its bytes.
    assert!(work < 300_000 + stream.len() as u64, "{work}");
}

#[test]
fn the_work_for_a_stream_grows_with_its_size() {
    let limits = Limits { work: 1_000, ..Limits::default() };
    let stream = "---\nname: example.v1.2.3\nreplaces: example.v1.2.2\n".repeat(1_000);
    let (n_documents, error, work) = read_within(&stream, &limits);
    assert_eq!((n_documents, error), (1_000, None));
    assert!(work > 100_000);
    let limits = Limits { stream_work: 1 << 10, ..limits };
    assert!(read_within(&stream, &limits).1.unwrap().ends_with("units of work"));
}

#[test]
fn the_values_of_json_count_as_work() {
    // The object, the array and 98 numbers.
    let stream = format!("{{\"a\":[{}0]}}\n", "0,".repeat(97)).repeat(3);
    let work = 3 * (OBJECT + 100 * VALUE);
    let read = |work| read_within(&stream, &Limits { work, stream_work: 0, ..Limits::default() });
    assert_eq!(read(work), (3, None, work));
    let (n_documents, error, _) = read(work - 1);
    assert_eq!(n_documents, 3);
    assert!(error.unwrap().ends_with("units of work"));
}

/// Go limits the share of aliases in each document only.
#[test]
fn aliases_of_all_documents_of_a_stream_are_bounded() {
    let document = format!("---\na: [&a {{name: b}},{}]\n", "*a,".repeat(300));
    let limits = Limits { aliased: 9_000, ..Limits::default() };
    assert_eq!(read_within(&document.repeat(10), &limits).1, None);
    let (_, error, _) = read_within(&document.repeat(11), &limits);
    assert_eq!(error.unwrap(), "reading the texts needs more than 9000 values for aliases");
}

/// The parser has visited the open brackets at each token before it returns the first event.
#[test]
fn tokens_before_a_failure_count_as_work() {
    for comment in [String::new(), format!("#{}\n", "]".repeat(120))] {
        let document = format!("---\n{comment}{}{}@\n", "[".repeat(120), "a,".repeat(380));
        let limits = Limits { work: 200_000, ..Limits::default() };
        let reader = Reader::new(&limits);
        let stream = document.repeat(10);
        let mut documents = Documents::new(stream.as_bytes(), &reader);
        while documents.next().unwrap().is_some() {}
        let result = reader.check();
        assert!(matches!(result, Err(crate::Error::Exhausted { .. })), "{}", reader.work());
    }
}
