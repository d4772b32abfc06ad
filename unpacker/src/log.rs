//! Writes log lines to standard error. Each message is one line, even if it quotes a bundle.

use std::error::Error;
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

/// Returns the messages of `error` and its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_their_error() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(chain(&error), "outer: inner");
    }
}
