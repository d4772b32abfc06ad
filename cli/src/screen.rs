//! The properties of the terminal: its width, and whether to use colours.

use std::ffi::OsStr;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use unicode_width::UnicodeWidthStr;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// The properties of standard output and standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    /// Whether standard output is a terminal.
    pub(crate) is_terminal: bool,
    /// The width of standard output in columns, or `None` if it is not a terminal.
    pub(crate) width: Option<usize>,
    /// The width of standard error in columns, if it is a terminal that can redraw lines.
    pub(crate) live: Option<usize>,
    /// The styles for standard output.
    pub(crate) out: Palette,
    /// The styles for standard error.
    pub(crate) err: Palette,
}

/// A style for each role. All styles are empty if colours are not used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Palette {
    /// The style of headings and names of columns.
    pub(crate) heading: Style,
    /// The style of less important text.
    pub(crate) dim: Style,
    /// The style of the label `error`, and of failures.
    pub(crate) error: Style,
    /// The style of the label `warning`.
    pub(crate) warning: Style,
    /// The style of the label `hint`.
    pub(crate) hint: Style,
    /// The style of successes.
    pub(crate) good: Style,
}

impl Screen {
    /// Determines the properties from the streams and the environment (`NO_COLOR`, `TERM`).
    pub(crate) fn new(color: Color) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let palette = |on_terminal| {
            if is_colourful(color, on_terminal, |name| std::env::var_os(name)) {
                Palette::colourful()
            } else {
                Palette::default()
            }
        };
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            is_terminal,
            live: terminal_size::terminal_size_of(std::io::stderr())
                .map(|(width, _)| usize::from(width.0))
                .filter(|width| *width > 0 && std::io::stderr().is_terminal() && !is_dumb),
            width: terminal_size::terminal_size_of(std::io::stdout())
                .map(|(width, _)| usize::from(width.0))
                .filter(|_| is_terminal),
            out: palette(is_terminal),
            err: palette(std::io::stderr().is_terminal()),
        }
    }
}

impl Palette {
    fn colourful() -> Self {
        Self {
            heading: Style::new().bold(),
            dim: Style::new().dimmed(),
            error: AnsiColor::Red.on_default().bold(),
            warning: AnsiColor::Yellow.on_default().bold(),
            hint: AnsiColor::Cyan.on_default().bold(),
            good: AnsiColor::Green.on_default(),
        }
    }
}

/// Returns as many of `characters` as fit into `width` columns.
pub(crate) fn take(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut taken = String::new();
    for character in characters {
        taken.push(character);
        if taken.width() > width {
            taken.pop();
            break;
        }
    }
    taken
}

fn is_colourful(
    color: Color,
    on_terminal: bool,
    variable: impl Fn(&str) -> Option<std::ffi::OsString>,
) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        // https://no-color.org: set and not empty.
        Color::Auto => {
            on_terminal
                && variable("NO_COLOR").is_none_or(|value| value.is_empty())
                && variable("TERM").is_none_or(|value| value != OsStr::new("dumb"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_used_on_terminals_unless_disabled() {
        let with = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| value.into())
        };
        assert!(is_colourful(Color::Auto, true, with("TERM", "xterm")));
        assert!(!is_colourful(Color::Auto, false, with("TERM", "xterm")));
        assert!(!is_colourful(Color::Auto, true, with("TERM", "dumb")));
        assert!(!is_colourful(Color::Auto, true, with("NO_COLOR", "1")));
        assert!(is_colourful(Color::Auto, true, with("NO_COLOR", "")));
        assert!(is_colourful(Color::Always, false, with("NO_COLOR", "1")));
        assert!(!is_colourful(Color::Never, true, with("TERM", "xterm")));
    }
}
