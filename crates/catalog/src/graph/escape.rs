//! Escapes names, which are untrusted, for the languages of graphs.

use std::fmt::Write as _;

use super::MAX_TEXT;

/// Formats text within the quotes of a Mermaid label. Mermaid has no other escapes than `#NUMBER;`.
///
/// Letters, digits, spaces and the punctuation of versions and ranges remain as they are.
pub(super) fn mermaid_label(text: &str) -> String {
    escape(text, |character| " -._+/:@=!~,()*|".contains(character), |number| format!("#{number};"))
}

/// Formats a range of versions within the quotes of a Mermaid label.
pub(super) fn mermaid_range(text: &str) -> String {
    escape(text, |character| " -.+<>=!|".contains(character), |number| format!("#{number};"))
}

/// Formats text as a part of an identifier of Mermaid.
pub(super) fn mermaid_id(text: &str) -> String {
    escape(text, |character| "-._+/".contains(character), |number| format!("_{number}_"))
}

/// Escapes a text. A result that is longer than all graphs may be is cut, because the caller
/// refuses it: an escaped character can take seven bytes.
fn escape(text: &str, is_allowed: impl Fn(char) -> bool, format: impl Fn(u32) -> String) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if escaped.len() > MAX_TEXT {
            break;
        }
        if character.is_alphanumeric() || is_allowed(character) {
            escaped.push(character);
        } else {
            escaped.push_str(&format(u32::from(character)));
        }
    }
    escaped
}

/// Formats a quoted string of the DOT language.
pub(super) fn dot(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in unlade_text::escape(text).chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        _ = write!(quoted, "{character}");
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_a_label_or_a_statement() {
        let name = "a\"]\n;<b>#%{}é`";
        assert_eq!(mermaid_label(name), "a#34;#93;#10;#59;#60;b#62;#35;#37;#123;#125;é#96;");
        assert_eq!(mermaid_id("a b\"]\né"), "a_32_b_34__93__10_é");
        assert_eq!(
            mermaid_range(">=1.0.0 <2.0.0 || !3.0.0-a+b\""),
            ">=1.0.0 <2.0.0 || !3.0.0-a+b#34;"
        );
        assert_eq!(dot("a\"\\\n"), r#""a\"\\\\n""#);
    }

    #[test]
    fn names_that_are_refused_are_not_escaped_to_their_end() {
        let name = "{".repeat(MAX_TEXT / 3);
        for escaped in [mermaid_label(&name), mermaid_id(&name), mermaid_range(&name)] {
            assert!((MAX_TEXT + 1..MAX_TEXT + 10).contains(&escaped.len()), "{}", escaped.len());
        }
    }

    #[test]
    fn ordinary_names_are_not_escaped() {
        let name = "foo-operator.v1.0.0-rc.1+build";
        assert_eq!(mermaid_label(name), name);
        assert_eq!(mermaid_id(name), name);
    }
}
