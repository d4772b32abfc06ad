//! Writes log lines to standard error. Each message is one line, even if it quotes a bundle.

use std::fmt;
use std::io::Write;

use unlade_text as text;

/// Logs `message` as one line.
pub(crate) fn line(level: &str, message: impl fmt::Display) {
    let message = format!("{level}: {message}");
    let message = text::line(&message);
    if cfg!(test) {
        // The test harness captures only `eprintln`.
        eprintln!("{message}");
    } else {
        // If standard error is closed, the message cannot be reported anywhere.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}
