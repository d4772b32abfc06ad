//! Literal and folded block scalars.

use super::line::{Lines, is_end};

/// Whether the line breaks at the end are kept.
enum Chomping {
    Strip,
    Clip,
    Keep,
}

/// Reads a block scalar into `scratch`. `header` is the rest of the line from its indicator on, and
/// `column` is the column of the collection around it.
///
/// Follows `yaml_parser_scan_block_scalar` of go-yaml v2.
pub(super) fn read(
    header: &str,
    column: usize,
    lines: &mut Lines<'_>,
    scratch: &mut String,
) -> Option<()> {
    let is_folded = header.starts_with('>');
    let header = header.get(1..)?;
    let (chomping, deeper, len) = match header.as_bytes() {
        [b'-', digit @ b'1'..=b'9', ..] | [digit @ b'1'..=b'9', b'-', ..] => {
            (Chomping::Strip, Some(digit), 2)
        }
        [b'+', digit @ b'1'..=b'9', ..] | [digit @ b'1'..=b'9', b'+', ..] => {
            (Chomping::Keep, Some(digit), 2)
        }
        [digit @ b'1'..=b'9', ..] => (Chomping::Clip, Some(digit), 1),
        [b'-', ..] => (Chomping::Strip, None, 1),
        [b'+', ..] => (Chomping::Keep, None, 1),
        _ => (Chomping::Clip, None, 0),
    };
    if !is_end(header.get(len..)?) {
        return None;
    }
    scratch.clear();
    let indent = match deeper {
        Some(digit) => column + usize::from(digit - b'0'),
        None => first_column(lines.clone()).filter(|&first| first > column)?,
    };
    // The number of line breaks since the last line, which are not in `scratch` yet.
    let mut n_breaks = 0;
    let mut was_blank = true;
    let mut is_empty = true;
    while let Some(text) = lines.peek_whole() {
        let line = lines.peek()?;
        if line.content.is_empty() && text.len() <= indent {
            lines.advance();
            n_breaks += 1;
            continue;
        }
        if line.column < indent {
            break;
        }
        let text = text.get(indent..)?;
        let is_blank = text.starts_with([' ', '\t']);
        // A line break between two lines of text becomes a space. The first line has none before
        // it.
        if is_folded && n_breaks > 0 && !was_blank && !is_blank {
            n_breaks -= 1;
            if n_breaks == 0 {
                scratch.push(' ');
            }
        }
        scratch.extend(std::iter::repeat_n('\n', n_breaks));
        scratch.push_str(text);
        was_blank = is_blank;
        is_empty = false;
        n_breaks = 1;
        lines.advance();
    }
    if is_empty || lines.is_unfinished() {
        return None;
    }
    match chomping {
        Chomping::Strip => {}
        Chomping::Clip => scratch.push('\n'),
        Chomping::Keep => scratch.extend(std::iter::repeat_n('\n', n_breaks)),
    }
    Some(())
}

/// Returns the column of the first line with text. Returns `None` if a blank line before it is
/// indented deeper, or if there is no such line.
fn first_column(mut lines: Lines<'_>) -> Option<usize> {
    let mut widest = 0;
    loop {
        let line = lines.peek()?;
        if !line.content.is_empty() {
            let is_certain = widest <= line.column && !line.content.starts_with('\t');
            return is_certain.then_some(line.column);
        }
        widest = widest.max(line.column);
        lines.advance();
    }
}
