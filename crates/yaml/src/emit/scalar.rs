//! Writes scalars: chooses their style, and folds and escapes them.

use super::Emitter;
use crate::{resolve, timestamp};

/// The width after which a line is folded, in characters.
const BEST_WIDTH: usize = 80;

/// The result of `yaml_emitter_analyze_scalar` for a text.
struct Analysis {
    is_plain_allowed: bool,
    is_single_quoted_allowed: bool,
    is_block_allowed: bool,
}

impl Emitter {
    /// Writes a text. Its further lines have the indentation `indent`. A simple key has one line.
    pub(super) fn text(&mut self, text: &str, indent: usize, is_simple_key: bool) {
        let found = analyze(text);
        if text.contains('\n') && found.is_block_allowed && !is_simple_key {
            self.literal(text, indent);
        } else if text.contains('\n') || !is_resolved_as_text(text) {
            self.double_quoted(text, indent, is_simple_key);
        } else if found.is_plain_allowed {
            self.plain(text, indent, is_simple_key);
        } else if found.is_single_quoted_allowed {
            self.single_quoted(text, indent, is_simple_key);
        } else {
            self.double_quoted(text, indent, is_simple_key);
        }
    }

    /// Writes a plain scalar, which has no line breaks.
    pub(super) fn plain(&mut self, text: &str, indent: usize, is_simple_key: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let is_space = c == ' ';
            let is_fold = is_space && !is_simple_key && !spaces && self.column > BEST_WIDTH;
            if is_fold && chars.peek() != Some(&' ') {
                self.indent(indent);
            } else {
                self.put(c);
            }
            if !is_space {
                self.indention = false;
            }
            spaces = is_space;
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, indent: usize, is_simple_key: bool) {
        self.indicator("'", true, false, false);
        let (mut spaces, mut breaks, mut is_first) = (false, false, true);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                let is_fold = !is_simple_key && !spaces && self.column > BEST_WIDTH && !is_first;
                if is_fold && chars.peek().is_some_and(|&next| next != ' ') {
                    self.indent(indent);
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break('\n');
                }
                self.put_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.indent(indent);
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
            is_first = false;
        }
        self.indicator("'", false, false, false);
    }

    fn double_quoted(&mut self, text: &str, indent: usize, is_simple_key: bool) {
        self.indicator("\"", true, false, false);
        // go-yaml tests the first character in place of each character.
        let is_bom = text.starts_with('\u{feff}');
        let (mut spaces, mut is_first) = (false, true);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if is_bom || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                escape(c).chars().for_each(|c| self.put(c));
                spaces = false;
            } else if c == ' ' {
                let is_fold = !is_simple_key && !spaces && self.column > BEST_WIDTH && !is_first;
                match chars.peek() {
                    Some(&next) if is_fold => {
                        self.indent(indent);
                        if next == ' ' {
                            self.put('\\');
                        }
                    }
                    _ => self.put(c),
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
            is_first = false;
        }
        self.indicator("\"", false, false, false);
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.indicator("|", true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator("2", false, false, false);
        }
        let mut from_end = text.chars().rev().map(is_break);
        match (from_end.next(), from_end.next()) {
            (Some(false) | None, _) => self.indicator("-", false, false, false),
            (Some(true), Some(true) | None) => self.indicator("+", false, false, false),
            (Some(true), Some(false)) => {}
        }
        self.put_break('\n');
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.put_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.indent(indent);
                }
                self.put(c);
                self.indention = false;
                breaks = false;
            }
        }
    }
}

fn analyze(text: &str) -> Analysis {
    let mut is_block_indicator = text.starts_with("---") || text.starts_with("...");
    let (mut line_breaks, mut special_characters) = (false, false);
    let (mut break_space, mut space_break) = (false, false);
    let (mut previous_space, mut previous_break) = (false, false);
    let mut preceded_by_whitespace = true;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let followed_by_blank = chars.peek().is_none_or(|&(_, next)| next == ' ' || next == '\t');
        is_block_indicator |= match c {
            '#' => preceded_by_whitespace || at == 0,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`' => at == 0,
            '?' | '-' => at == 0 && followed_by_blank,
            ':' => followed_by_blank,
            _ => false,
        };
        special_characters |= !is_printable(c);
        if c == ' ' {
            break_space |= previous_break;
        } else if is_break(c) {
            line_breaks = true;
            space_break |= previous_space;
        }
        previous_space = c == ' ';
        previous_break = is_break(c);
        preceded_by_whitespace = matches!(c, ' ' | '\t' | '\0') || is_break(c);
    }
    let is_edge = |c: char| c == ' ' || is_break(c);
    let is_broken = space_break || special_characters;
    Analysis {
        is_plain_allowed: !(text.starts_with(is_edge)
            || text.ends_with(is_edge)
            || break_space
            || is_broken
            || line_breaks
            || is_block_indicator),
        is_single_quoted_allowed: !(break_space || is_broken),
        is_block_allowed: !(text.is_empty() || text.ends_with(' ') || is_broken),
    }
}

/// Checks whether go-yaml reads the plain scalar `text` as text.
fn is_resolved_as_text(text: &str) -> bool {
    resolve::resolve(None, text) == Ok(resolve::Value::Text)
        && !timestamp::is_timestamp(text)
        && !is_base_60(text)
}

/// Checks whether YAML 1.1 has a number in base 60 here:
/// `^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let whole = text.trim_end_matches(is_digit).strip_suffix('.').unwrap_or(text);
    let mut parts = whole.split(':');
    let is_first = parts.next().is_some_and(|part| {
        part.starts_with(|c: char| c.is_ascii_digit()) && part.chars().all(is_digit)
    });
    let mut n_parts = 0;
    let are_parts = parts.all(|part| {
        n_parts += 1;
        match part.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [first, digit] => (b'0'..=b'5').contains(first) && digit.is_ascii_digit(),
            _ => false,
        }
    });
    is_first && are_parts && n_parts > 0
}

/// Checks whether go-yaml prints the character as it is.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Checks whether the character is a line break in YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn escape(c: char) -> String {
    let letter = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        c => {
            return match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{letter}")
}
