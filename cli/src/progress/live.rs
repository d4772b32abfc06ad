//! [`Live`]: lines of a terminal that are redrawn in place.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;
use unlade_text as text;

use crate::screen::take;

/// The last lines of a terminal, which are redrawn in place.
#[derive(Debug)]
pub(crate) struct Live<W> {
    to: W,
    width: usize,
    n_drawn: usize,
}

/// A line of texts, each with a style. All texts are escaped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl<W: Write> Live<W> {
    /// Creates an empty display on a terminal with `width` columns.
    pub(crate) fn new(to: W, width: usize) -> Self {
        Self { to, width, n_drawn: 0 }
    }

    /// Replaces the lines on the terminal with `lines`.
    pub(crate) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut text = match self.n_drawn {
            0 => "\r".to_owned(),
            n => format!("\r\u{1b}[{n}A"),
        };
        for line in lines {
            text.push_str("\u{1b}[2K");
            // A line that wraps would occupy two rows, and the cursor would not move up far enough.
            line.write(&mut text, self.width.saturating_sub(1));
            text.push('\n');
        }
        // Clears the rest if fewer lines are drawn than before.
        text.push_str("\u{1b}[J");
        self.n_drawn = lines.len();
        self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush())
    }

    /// Removes the lines from the terminal.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if self.n_drawn == 0 { Ok(()) } else { self.draw(&[]) }
    }

    /// Leaves the lines on the terminal, followed by a blank line.
    pub(crate) fn keep(&mut self) -> io::Result<()> {
        self.n_drawn = 0;
        self.to.write_all(b"\n").and_then(|()| self.to.flush())
    }
}

impl Line {
    /// Creates a line with `text`.
    pub(crate) fn new(text: &str) -> Self {
        Self::default().text(text)
    }

    /// Appends `text`.
    pub(crate) fn text(self, text: &str) -> Self {
        self.styled(Style::new(), text)
    }

    /// Appends `text` in `style`.
    pub(crate) fn styled(mut self, style: Style, text: &str) -> Self {
        self.0.push((style, text::line(text).into_owned()));
        self
    }

    /// Writes as much of the line as fits into `width` columns.
    fn write(&self, to: &mut String, width: usize) {
        let all: usize = self.0.iter().map(|(_, text)| text.width()).sum();
        let is_cut = all > width;
        let mut room = if is_cut { width.saturating_sub(1) } else { width };
        for (style, text) in &self.0 {
            let taken = take(text.chars(), room);
            room -= taken.width();
            _ = write!(to, "{style}{taken}{style:#}");
            if taken.len() < text.len() {
                break;
            }
        }
        if is_cut {
            to.push('…');
        }
    }
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;

    fn drawn(pictures: &[&[Line]]) -> String {
        let mut text = Vec::new();
        let mut live = Live::new(&mut text, 11);
        for picture in pictures {
            live.draw(picture).unwrap();
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_picture_is_drawn_over_the_one_before() {
        assert_eq!(
            drawn(&[&[Line::new("a"), Line::new("b")], &[Line::new("c")]]),
            "\r\u{1b}[2Ka\n\u{1b}[2Kb\n\u{1b}[J\r\u{1b}[2A\u{1b}[2Kc\n\u{1b}[J"
        );
    }

    #[test]
    fn lines_never_wrap_and_styles_end() {
        let red = AnsiColor::Red.on_default();
        let line = Line::new("0123").styled(red, "4567日本").text("tail");
        let text = drawn(&[&[line]]);
        let (_, line) = text.split_once("[2K").unwrap();
        assert!(line.starts_with(&format!("0123{red}4567{red:#}…\n")), "{line:?}");
        assert!(drawn(&[&[Line::new("0123456789")]]).contains("0123456789\n"));
    }

    #[test]
    fn escape_sequences_in_messages_have_no_effect() {
        let text = drawn(&[&[Line::new("\u{1b}[A\n")]]);
        assert!(text.contains("\\u{1b}[A\\n"), "{text:?}");
    }
}
