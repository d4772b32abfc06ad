//! Unusual and large documents, whose cost must be proportional to their size.

use unlade_yaml::{Limits, to_json};

/// The size of a large part, in bytes. A parser with quadratic time would need hours.
const LARGE: usize = 1_000_000;

fn json(text: impl AsRef<[u8]>) -> Result<String, String> {
    to_json(text.as_ref(), &Limits::default()).map_err(|error| error.to_string())
}

fn numbered(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

#[test]
fn large_documents_are_read() {
    let x = "x".repeat(LARGE);
    let binary = "eHh4".repeat(LARGE / 4);
    let items = format!("a: {}{}{}", "[".repeat(60), "b,".repeat(450_000), "]".repeat(60));
    for (what, text, part) in [
        ("a scalar", format!("a: {x}"), x.as_str()),
        ("a key", format!("? {x}\n: b"), r#"xx":"b""#),
        ("an anchor", format!("a: &{x} b\nc: *{x}"), r#""c":"b""#),
        ("a tag", format!("a: !{x} b"), r#"{"a":"b"}"#),
        ("keys", numbered(90_000, |n| format!("a{n}: b\n")), r#""a89999":"b""#),
        ("anchors", numbered(60_000, |n| format!("- &a{n} b\n- *a{n}\n")), r#""b","b""#),
        ("tags", "- !!str a\n".repeat(50_000), r#""a","a""#),
        ("binary", format!("a: !!binary {binary}"), "xxxx"),
        ("an escaped tag", format!("a: !<%41{x}> b"), r#"{"a":"b"}"#),
        ("documents", "a: 1\n---\n".repeat(100_000), r#"{"a":1}"#),
        ("comments", "# c\n".repeat(LARGE / 4) + "a: 1", r#"{"a":1}"#),
        ("line ends of Windows", "a: |\r\n".to_owned() + &"  b\r\n".repeat(LARGE / 5), "b\\nb"),
        ("line separators", format!("a: \"{}\"", "\u{2028}".repeat(300_000)), "a"),
        ("blank indents", format!("a: |\n{}  b", "  \n".repeat(LARGE / 3)), r"\nb"),
        ("items in brackets", items, r#""b","b""#),
        ("digits", format!("a: {}", "1".repeat(LARGE)), "a"),
        ("digits of a hexadecimal number", format!("a: 0x{}", "f".repeat(LARGE)), "a"),
        ("underscores", format!("a: 1{}", "_".repeat(LARGE)), "a"),
        ("a timestamp", format!("a: 2001-01-01T00:00:00.{}Z", "1".repeat(LARGE)), "a"),
        ("a number without a float", "a: 1e1000000000".to_owned(), r#""1e1000000000""#),
        ("a byte order mark", "\u{feff}a: 1".to_owned(), r#"{"a":1}"#),
    ] {
        let json = json(text).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(json.contains(part), "{what}: {json:.200}");
        assert!(json.len() <= 6 * LARGE + 100, "{what}: {} bytes", json.len());
    }
}

#[test]
fn text_that_is_invalid_or_does_not_fit_its_tag_is_refused_with_its_line() {
    let utf_16: Vec<u8> = "a: 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (text, expected) in [
        (&b"a: 1\nb: \0\n"[..], "line 2: control characters are not allowed"),
        (b"a: 1\nb: \xff\n", "line 2: "),
        (b"a: \xed\xa0\x80\n", "line 1: "),
        (br#"a: "\ud800""#, "line 1: "),
        (&[&[0xff, 0xfe][..], &utf_16, b"x"].concat(), "line 2: "),
        (b"a: !!binary '%%%'\n", "line 1: "),
        (b"a: !!int x\n", "line 1: "),
    ] {
        let error = json(text).unwrap_err();
        assert!(error.starts_with(expected) && error.len() < 200, "{expected}: {error}");
    }
    assert_eq!(json([&[0xff, 0xfe][..], &utf_16].concat()).unwrap(), r#"{"a":1}"#);
}

#[test]
fn equal_keys_are_one_and_the_last_counts() {
    let text = numbered(200_000, |n| format!("a: {n}\n"));
    assert_eq!(json(text).unwrap(), r#"{"a":199999}"#);
}
