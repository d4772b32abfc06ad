//! Reports errors and warnings on standard error: each once, with all its causes, and with a hint
//! where one is known.

use std::fmt::Display;
use std::io::{self, Write as _};

use unlade_bundle::{Finding, finding};
use unlade_text as text;

use crate::{
    error::{Error, evidence},
    exit::Exit,
    screen::Screen,
};

/// Reports `error` with its evidence and its hint, and returns its exit code.
pub(crate) fn report(error: &Error, screen: &Screen) -> Exit {
    let exit = error.exit();
    if exit != Exit::Success && !matches!(error, Error::Different) {
        print_labelled("error", screen.err.error, &text::chain(error));
        for line in error.failure().map(evidence::lines).unwrap_or_default() {
            _ = writeln!(io::stderr(), "  {}", text::line(&line));
        }
        if let Some(hint) = error.hint() {
            print_labelled("hint", screen.err.hint, &hint);
        }
    }
    exit
}

/// Warns about the findings of a bundle, as many as [`finding::listed`] lists.
pub(crate) fn warn_findings<'f>(findings: impl IntoIterator<Item = &'f Finding>, screen: &Screen) {
    for line in finding::listed(findings) {
        print_labelled("warning", screen.err.warning, &line);
    }
}

/// Warns about other items, as many as [`finding::listed_items`] lists.
pub(crate) fn warn<T: Display>(what: impl IntoIterator<Item = T>, screen: &Screen) {
    for line in finding::listed_items(what) {
        print_labelled("warning", screen.err.warning, &line);
    }
}

/// Returns a warning without a style, for code that does not know the [`Screen`].
pub(crate) fn plain_warning(text: &str) -> String {
    format!("warning: {text}")
}

/// Writes a line to standard error.
pub(crate) fn note(text: &str) {
    _ = writeln!(io::stderr(), "{}", text::line(text));
}

fn print_labelled(label: &str, style: anstyle::Style, text: &str) {
    // If standard error fails, the error cannot be reported anywhere.
    _ = writeln!(io::stderr(), "{style}{label}{style:#}: {}", text::line(text));
}
