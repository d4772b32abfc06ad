//! Plain and quoted scalars.

use memchr::{memchr, memchr2, memchr2_iter};

use super::line::{Lines, is_end};

/// The text of a scalar, and whether it was plain.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'t> {
    Plain(&'t str),
    Quoted(&'t str),
}

impl<'t> Text<'t> {
    /// Returns the text as it is written.
    pub(super) fn text(self) -> &'t str {
        match self {
            Self::Plain(text) | Self::Quoted(text) => text,
        }
    }
}

/// The maximum length of a key in bytes. libyaml accepts 1024 characters with the colon.
pub(super) const MAX_NAME: usize = 512;

/// What the content of a line starts with.
pub(super) enum Start<'t, 's> {
    /// A key, and what follows its colon.
    Key(Text<'s>, &'t str),
    /// Not a key.
    Other,
}

/// Finds out whether the content of a line starts with a key. Returns `None` if that is not
/// certain. `scratch` is for a key with escapes.
pub(super) fn start<'t: 's, 's>(
    content: &'t str,
    scratch: &'s mut String,
) -> Option<Start<'t, 's>> {
    let bytes = content.as_bytes();
    let (name, rest) = match bytes.first()? {
        b'"' | b'\'' => match read_quoted(content, None, scratch) {
            Some((text, rest)) if is_colon(rest.as_bytes()) => (Text::Quoted(text), rest),
            _ => return Some(Start::Other),
        },
        _ if !starts_plain(bytes) => return Some(Start::Other),
        _ => {
            let ends = |&at: &usize| {
                let from = bytes.get(at..).unwrap_or(&[]);
                is_colon(from) || is_comment(bytes, at)
            };
            let Some(end) = memchr2_iter(b':', b'#', bytes).find(ends) else {
                return Some(Start::Other);
            };
            let (text, rest) = content.split_at_checked(end)?;
            if rest.as_bytes().first() == Some(&b'#') {
                return Some(Start::Other);
            }
            if text.as_bytes().last() == Some(&b' ') {
                return None;
            }
            (Text::Plain(text), rest)
        }
    };
    if content.len() - rest.len() > MAX_NAME {
        return None;
    }
    Some(Start::Key(name, rest.get(1..)?))
}

/// Reads a plain scalar, which may continue on lines that are indented deeper than `column`.
pub(super) fn plain<'t: 's, 's>(
    content: &'t str,
    column: usize,
    lines: &mut Lines<'t>,
    scratch: &'s mut String,
) -> Option<&'s str> {
    if !starts_plain(content.as_bytes()) {
        return None;
    }
    let (text, mut is_complete) = plain_line(content)?;
    if is_complete || !continues(lines, column) {
        return Some(text);
    }
    scratch.clear();
    scratch.push_str(text);
    while !is_complete && continues(lines, column) {
        fold(lines.skip_blank(), scratch);
        let line = lines.peek()?;
        lines.advance();
        if line.content.contains('\t') {
            return None;
        }
        let text;
        (text, is_complete) = plain_line(line.content)?;
        scratch.push_str(text);
    }
    Some(scratch)
}

/// Reads a quoted scalar, which may continue on the next lines.
pub(super) fn quoted<'t: 's, 's>(
    content: &'t str,
    lines: &mut Lines<'t>,
    scratch: &'s mut String,
) -> Option<&'s str> {
    let (text, rest) = read_quoted(content, Some(lines), scratch)?;
    is_end(rest).then_some(text)
}

/// Reads a quoted scalar. Also returns what follows it. Without `lines`, it must end on this line.
fn read_quoted<'t: 's, 's>(
    content: &'t str,
    mut lines: Option<&mut Lines<'t>>,
    scratch: &'s mut String,
) -> Option<(&'s str, &'t str)> {
    if let Some(found) = unescaped(content) {
        return Some(found);
    }
    let quote = *content.as_bytes().first()?;
    let mut rest = content.get(1..)?;
    scratch.clear();
    loop {
        let special = if quote == b'"' { b'\\' } else { quote };
        let Some(at) = memchr2(quote, special, rest.as_bytes()) else {
            let lines = lines.as_deref_mut()?;
            scratch.push_str(rest.trim_end_matches(' '));
            fold(lines.skip_blank(), scratch);
            rest = next_quoted_line(lines)?;
            continue;
        };
        scratch.push_str(rest.get(..at)?);
        let after = rest.get(at + 1..)?;
        rest = match (rest.as_bytes().get(at)?, after.as_bytes().first()) {
            // An escaped line break adds nothing, and each blank line after it a line break.
            (b'\\', None) => {
                let lines = lines.as_deref_mut()?;
                scratch.extend(std::iter::repeat_n('\n', lines.skip_blank()));
                next_quoted_line(lines)?
            }
            (b'\\', _) => escape(after, scratch)?,
            (b'\'', Some(b'\'')) => {
                scratch.push('\'');
                after.get(1..)?
            }
            _ => return Some((scratch, after)),
        };
    }
}

/// Returns the next line of a quoted scalar, without its indentation.
fn next_quoted_line<'t>(lines: &mut Lines<'t>) -> Option<&'t str> {
    let line = lines.peek()?;
    // A document marker could be at the start of the line.
    if line.column == 0 || line.content.contains('\t') {
        return None;
    }
    lines.advance();
    Some(line.content)
}

/// Returns the text of a quoted scalar, and what follows it, if the scalar ends on this line and
/// has no escapes.
pub(super) fn unescaped(content: &str) -> Option<(&str, &str)> {
    let quote = *content.as_bytes().first()?;
    let body = content.get(1..)?;
    let bytes = body.as_bytes();
    let end = match quote {
        b'"' => memchr2(quote, b'\\', bytes).filter(|&at| bytes.get(at) == Some(&quote)),
        _ => memchr(quote, bytes).filter(|&at| bytes.get(at + 1) != Some(&quote)),
    }?;
    Some((body.get(..end)?, body.get(end + 1..)?))
}

/// Adds the character of an escape sequence to `scratch`, and returns what follows the sequence.
/// Rare escapes are left to the library.
fn escape<'t>(after: &'t str, scratch: &mut String) -> Option<&'t str> {
    let (c, len) = match after.as_bytes().first()? {
        b'"' => ('"', 1),
        b'\\' => ('\\', 1),
        b' ' => (' ', 1),
        b'n' => ('\n', 1),
        b't' => ('\t', 1),
        b'r' => ('\r', 1),
        b'u' => (char::from_u32(hex(after.get(1..5)?)?)?, 5),
        b'x' => (char::from_u32(hex(after.get(1..3)?)?)?, 3),
        _ => return None,
    };
    scratch.push(c);
    after.get(len..)
}

fn hex(digits: &str) -> Option<u32> {
    digits.bytes().try_fold(0, |value, digit| Some(value * 16 + char::from(digit).to_digit(16)?))
}

/// Adds the line break after which `n_blank` blank lines follow.
fn fold(n_blank: usize, scratch: &mut String) {
    match n_blank {
        0 => scratch.push(' '),
        _ => scratch.extend(std::iter::repeat_n('\n', n_blank)),
    }
}

/// Returns the text of one line of a plain scalar, and whether a comment ends the scalar. Returns
/// `None` if the line contains the colon of a mapping.
fn plain_line(content: &str) -> Option<(&str, bool)> {
    let bytes = content.as_bytes();
    for at in memchr2_iter(b':', b'#', bytes) {
        let from = bytes.get(at..)?;
        if is_colon(from) {
            return None;
        }
        if is_comment(bytes, at) {
            return Some((content.get(..at)?.trim_end_matches(' '), true));
        }
    }
    Some((content.trim_end_matches(' '), false))
}

/// Checks whether a plain scalar in a collection at `column` continues after blank lines.
fn continues(lines: &Lines<'_>, column: usize) -> bool {
    let mut line = lines.peek();
    if line.is_some_and(|line| line.content.is_empty()) {
        let mut lines = lines.clone();
        lines.skip_blank();
        line = lines.peek();
    }
    line.is_some_and(|line| line.column > column && line.content.as_bytes().first() != Some(&b'#'))
}

/// Checks whether a comment starts at `at`.
fn is_comment(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    bytes.get(at) == Some(&b'#') && before == Some(&b' ')
}

/// Checks whether `from` starts with the colon of a mapping.
fn is_colon(from: &[u8]) -> bool {
    matches!(from, [b':'] | [b':', b' ', ..])
}

/// Checks whether a plain scalar can start like this in a block collection. Some other scalars are
/// left to the library.
fn starts_plain(bytes: &[u8]) -> bool {
    match bytes {
        [b'-', second, ..] => !matches!(second, b' ' | b'\t'),
        [
            b'-' | b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!'
            | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' | b' ' | b'\t',
            ..,
        ]
        | [] => false,
        _ => true,
    }
}
