use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::*;
use unlade_yaml as yaml;

fn every_character() -> impl Iterator<Item = char> {
    '\0'..=char::MAX
}

/// Checks whether all writers must escape `character`, according to the blocks of Unicode.
fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..)
}

/// Returns a text with `character` and some characters that writers must not escape.
fn text_with(character: char) -> String {
    format!("a{character}é日")
}

#[test]
fn what_a_terminal_obeys_hides_or_reorders_is_escaped() {
    let cases = [
        ("\u{1b}[31mred", "\\u{1b}[31mred"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("a\rb\nc\td\0", "a\\rb\\nc\\td\\u{0}"),
        ("\u{7f}\u{8}", "\\u{7f}\\u{8}"),
        ("\u{202e}txt\u{2066}\u{200f}", "\\u{202e}txt\\u{2066}\\u{200f}"),
        ("zero\u{200b}width\u{feff}\u{ad}", "zero\\u{200b}width\\u{feff}\\u{ad}"),
        ("\u{e0041}\u{e000}\u{2028}", "\\u{e0041}\\u{e000}\\u{2028}"),
    ];
    for (text, escaped) in cases {
        assert_eq!(escape(text), escaped, "{text:?}");
    }
}

#[test]
fn text_of_any_language_stays_as_it_is() {
    let texts = [
        "plain 'quoted' \"text\" \\ ~",
        "é日本😀",
        "e\u{301}",
        "हिन्दी",
        "全角\u{3000}空白",
        "10\u{a0}000",
        "מה",
    ];
    for text in texts {
        assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn a_line_is_limited() {
    let text = line(&"é".repeat(1 << 20)).into_owned();
    assert!(text.len() < LINE + 100);
    assert!(text.ends_with("é… (2088960 more bytes)"), "{}", text.len());
    let hidden = line(&"\u{202e}".repeat(1 << 20)).into_owned();
    assert!(hidden.len() < 4 * LINE, "{}", hidden.len());
}

/// The writers for terminals, YAML (with all its styles) and JSON escape the same characters.
#[test]
fn every_writer_shows_the_printable_characters_and_no_others() {
    for character in every_character() {
        let is_shown = is_printable(character);
        assert!(!(is_shown && is_dangerous(character)), "{character:?}");
        let text = text_with(character);
        let has = |written: &str| written.contains(character);
        assert_eq!(has(&escape(&text)), is_shown, "{character:?}");

        let value = Value::String(text.clone());
        let mut json = Vec::new();
        serde_json::to_writer(Escaping(&mut json), &value).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(has(&json), is_shown, "{character:?} {json}");
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value, "{character:?}");
    }
}

#[test]
fn yaml_shows_the_printable_characters_and_no_others() {
    let characters: Vec<_> = every_character().collect();
    for some in characters.chunks(512) {
        // Keys, plain or quoted scalars, literal blocks, and JSON for deep values.
        let texts: Vec<_> = some.iter().copied().map(text_with).collect();
        let keys: Map<_, _> = texts.iter().map(|text| (text.clone(), Value::Null)).collect();
        let blocks: Vec<_> = texts.iter().map(|text| format!("first line\n{text}\n")).collect();
        let deep = (0..66).fold(Value::from(texts.clone()), |inner, _| Value::from(vec![inner]));
        let written = yaml::write(&json!({"a": keys, "b": texts, "c": blocks, "d": deep}));
        let shown: HashSet<_> = written.chars().collect();
        for character in some {
            // Line breaks and tabs are part of a block.
            let is_shown = is_printable(*character) || matches!(character, '\n' | '\t');
            assert_eq!(shown.contains(character), is_shown, "{character:?}");
        }
        assert!(!shown.iter().any(|c| is_dangerous(*c) && !matches!(c, '\n' | '\t')));
    }
}

#[test]
fn causes_follow_their_error_once() {
    #[derive(Debug)]
    struct Outer(&'static str, std::io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }
    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.1)
        }
    }
    let inner = || std::io::Error::other("inner");
    assert_eq!(chain(&Outer("outer", inner())), "outer: inner");
    assert_eq!(chain(&Outer("outer: inner", inner())), "outer: inner");
}

#[test]
fn bytes_are_two_lowercase_digits_each() {
    assert_eq!(hex(&[0x00, 0x0f, 0xa0, 0xff]), "000fa0ff");
}
