//! YAML files: nesting, aliases, and what our reader changes for the library.

use unlade_yaml::FLOW_DEPTH;

use super::{FROM_BOUNDED, FROM_SLOW, Family, count, repeat};
use crate::Entry;

/// A depth slightly below the limit of Go for indentations.
const DEEP: usize = 9_990;
/// The size from which the limit of nesting is reached.
const FROM_DEEP: usize = 32 << 10;
/// The maximum number of places in a text that are patched.
const PATCHES: usize = 16;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Yaml, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    family("flow-open", |n| repeat("[", n).into()).from(FROM_DEEP),
    family("flow-closed", |n| values(n, &nested("[", "]", "x"))).from(FROM_SLOW),
    family("flow-mappings", |n| values(n, &nested("{a: ", "}", "x"))).from(FROM_SLOW),
    family("flow-items", |n| nested_value(&repeat("a,", n))).from(FROM_SLOW),
    // For each colon, the text is changed and parsed again, with all brackets.
    family("flow-colons", |n| nested_value(&(repeat("a,", n) + &"a:,".repeat(PATCHES))))
        .from(FROM_SLOW),
    family("flow-flat", |n| object(&format!("a: [{}b]", repeat("b,", n)))),
    family("flow-pairs", |n| object(&format!("a: {{{}b: c}}", repeat("b: c,", n)))),
    family("dashes", |n| repeat("- ", n).into()).from(FROM_DEEP),
    family("indents", |n| {
        let depth = usize::isqrt(2 * n).min(DEEP);
        (0..depth).fold(String::new(), |text, level| text + &" ".repeat(level) + "a:\n").into()
    })
    // All are nested deeper than the composer of the block style reads, and deeper than any text
    // that is written again.
    .from(16 << 10),
    family("question-marks", |n| repeat("? ", n).into()).from(FROM_DEEP),
    family("colons", |n| object(&format!("a: {{{}}}", repeat("a:,", n)))),
    family("colons-late", |n| {
        object(&format!("b: \"{}\"\na: {{{}}}", "x".repeat(n / 2), repeat("a:,", n / 2)))
    }),
    family("colons-after-private-use", |n| {
        let private: String = ('\u{e000}'..'\u{f8f0}').collect();
        object(&format!("b: \"{}\"\na: {{{}}}", repeat(&private, n / 2), repeat("a:,", n / 2)))
    }),
    family("escaped-quotes", |n| object(&format!("a: [{}]", repeat("\"\\'\",", n)))),
    family("escaped-quotes-in-one", |n| object(&format!("a: \"{}\"", repeat("\\'", n)))),
    family("tags-with-commas", |n| object(&format!("a: [{}]", repeat("!a,b x, ", n)))),
    family("tags-with-commas-in-one", |n| object(&format!("a: [!a{} x]", repeat(",[]", n)))),
    family("byte-order-marks", |n| object(&repeat("a\u{feff}: b\n", n))),
    family("bombs", |n| count(n, |bomb| bomb_of_aliases(bomb, 9)).into()),
    family("aliases-of-long", |n| {
        let (text, aliases) = ("x".repeat(n / 2), repeat("*a,", n / 2));
        object(&format!("a: &a {text}\nb: [{aliases}]"))
    })
    .from(FROM_BOUNDED),
    family("aliases-of-short", |n| object(&format!("a: &a x\nb: [{}]", repeat("*a,", n)))),
    family("alias-unknown", |n| object(&format!("a: *{}", "x".repeat(n)))),
    family("anchors", |n| object(&count(n, |n| format!("a{n}: &a{n} *a0\n")))),
    family("anchors-used", |n| object(&count(n, |n| format!("a{n}: &a{n} x\nb{n}: *a{n}\n")))),
    family("merges-wide", |n| {
        let keys = count(n / 2, |n| format!("k{n}: x, "));
        object(&format!("a: &a {{{keys}}}\n{}", count(n / 2, |n| format!("b{n}: {{<<: *a}}\n"))))
    })
    .from(FROM_BOUNDED),
    family("merges-in-a-row", |n| {
        object(&count(n, |n| match n {
            0 => "a0: &a0 {k: x}\n".to_owned(),
            n => format!("a{n}: &a{n} {{<<: *a{}, k{n}: x}}\n", n - 1),
        }))
    }),
    family("merges-of-many", |n| {
        object(&format!("a: &a {{k: x}}\nb:\n  <<: [{}]", repeat("*a,", n)))
    }),
    family("keys", |n| object(&count(n, |n| format!("k{n}: x\n")))),
    family("keys-descending", |n| object(&count(n, |n| format!("k{:07}: x\n", 9_999_999 - n)))),
    family("same-keys", |n| object(&repeat("k: x\n", n))),
    family("long-key", |n| object(&format!("? {}\n: x", "k".repeat(n)))),
    family("long-plain", |n| object(&format!("a: {}", "x".repeat(n)))),
    family("long-plain-lines", |n| object(&format!("a: {}", repeat("x\n ", n)))),
    family("long-quoted", |n| object(&format!("a: \"{}\"", repeat("\\x41", n)))),
    family("long-literal", |n| object(&format!("a: |\n{}", repeat("  x\n\n", n)))),
    family("long-folded", |n| object(&format!("a: >\n{}", repeat("  x\n", n)))),
    family("long-tag", |n| object(&format!("a: !<{}> x", repeat("%41", n)))),
    family("long-anchor", |n| object(&format!("a: &{} x", "x".repeat(n)))),
    family("tags", |n| object(&repeat("- !!str x\n", n))),
    family("binary", |n| object(&format!("a: !!binary {}", "A".repeat(n)))),
    family("directives", |n| count(n, |n| format!("%TAG !a{n}! b\n")).into()),
    family("comments", |n| object(&repeat("# c\n", n))),
    family("blank-lines", |n| object(&"\n".repeat(n))),
    family("blanks", |n| object(&format!("a:{}x", " ".repeat(n)))),
    family("tabs", |n| object(&format!("a:{}x", "\t".repeat(n)))),
    family("line-separators", |n| object(&repeat("\u{2028}", n))),
    family("carriage-returns", |n| object(&"\r".repeat(n))),
    family("documents", |n| repeat("---\na: b\n", n).into()),
    family("document-ends", |n| repeat("...\n", n).into()),
    family("digits", |n| object(&format!("a: {}", "9".repeat(n)))),
    family("digits-with-underscores", |n| object(&format!("a: {}", repeat("9_", n)))),
    family("exponent", |n| object(&format!("a: 1e{}", "9".repeat(n)))),
    family("fraction", |n| object(&format!("a: 0.{}", "3".repeat(n)))),
    family("hexadecimal", |n| object(&format!("a: 0x{}", "f".repeat(n)))),
    family("sexagesimal", |n| object(&format!("a: 1{}", repeat(":59", n)))),
    family("timestamp", |n| object(&format!("a: 2001-01-01T00:00:00.{}", "1".repeat(n)))),
    family("floats", |n| object(&repeat("- 1.7976931348623157e308\n", n))),
    family("nul", |n| {
        let mut text = object(&format!("a: {}", "x".repeat(n)));
        text.push(0);
        text
    }),
    family("utf-16", |n| {
        let text = format!("\u{feff}a: {}\n", "x".repeat(n / 2));
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }),
];

fn object(rest: &str) -> Vec<u8> {
    format!("kind: A\n{rest}\n").into_bytes()
}

/// Nests `inner` as deep as flow collections may be nested.
fn nested(open: &str, close: &str, inner: &str) -> String {
    format!("{}{inner}{}", open.repeat(FLOW_DEPTH), close.repeat(FLOW_DEPTH))
}

fn nested_value(items: &str) -> Vec<u8> {
    format!("a: {}\n", nested("[", "]", items)).into()
}

/// Repeats a value up to `size` bytes.
fn values(size: usize, value: &str) -> Vec<u8> {
    count(size, |n| format!("a{n}: {value}\n")).into()
}

/// Lists of aliases of lists of aliases, `levels` deep.
fn bomb_of_aliases(bomb: usize, levels: usize) -> String {
    (0..levels).fold(String::new(), |text, level| {
        let item = if level == 0 { "x".to_owned() } else { format!("*b{bomb}l{}", level - 1) };
        text + &format!("b{bomb}l{level}: &b{bomb}l{level} [{}]\n", vec![item; 9].join(","))
    })
}

#[cfg(test)]
mod tests {
    use unlade_yaml::{Limits, Reader, Scalars};

    use super::*;

    /// A text that is too deep is refused at once, so that its cost would not grow with its size.
    #[test]
    fn nested_texts_are_read_to_their_end() {
        for name in ["flow-closed", "flow-mappings", "flow-items", "flow-colons"] {
            let family = FAMILIES.iter().find(|family| family.name == name).unwrap();
            let [small, large] = [32, 64].map(|kib| {
                let reader = Reader::new(&Limits::default());
                let result = reader.read(&family.input(kib << 10), Scalars::Resolved);
                assert!(result.is_ok(), "{name}: {result:?}");
                reader.work()
            });
            assert!(large > small * 19 / 10, "{name}: {small}, {large}");
        }
    }
}
