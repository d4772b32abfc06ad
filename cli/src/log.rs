//! `--verbose`: writes what the launcher and kube's client log to standard error.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use unlade_text as text;

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text for each event
    #[default]
    Text,
    /// One JSON document per line for each event
    Json,
}

/// Starts logging: nothing at `verbosity` 0, phases and decisions at 1, and also requests and
/// watches from 2 on. No level shows headers or bodies of requests, because they contain
/// credentials.
pub(crate) fn start(verbosity: u8, format: LogFormat) {
    let Some(targets) = targets(verbosity) else { return };
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Stderr(format));
    let registry = tracing_subscriber::registry().with(targets);
    // This fails if a logger is already set, which is fine.
    _ = match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    };
}

/// Returns which events are logged. The level is never `TRACE`, because kube logs the headers of
/// responses there. Only the requests of kube's client are logged, because it logs the whole body
/// of a response that it cannot parse, which may be a Secret.
fn targets(verbosity: u8) -> Option<Targets> {
    let ours =
        |level| Targets::new().with_targets([("unlade_launcher", level), ("unlade::", level)]);
    match verbosity {
        0 => None,
        1 => Some(ours(Level::INFO)),
        _ => {
            Some(ours(Level::DEBUG).with_targets([("kube_client::client::builder", Level::DEBUG)]))
        }
    }
}

/// Standard error, with control characters escaped, so that foreign text cannot control the
/// terminal.
#[derive(Debug, Clone, Copy)]
struct Stderr(LogFormat);

impl MakeWriter<'_> for Stderr {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for Stderr {
    /// Expects a whole event, because the formatter writes each event at once.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(event);
        writeln!(io::stderr(), "{}", shown(self.0, line.trim_end_matches('\n')))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Returns the line as it is written. A JSON document remains one: nothing is cut, and unprintable
/// characters, which can only be part of its strings, are escaped as JSON escapes them.
fn shown(format: LogFormat, line: &str) -> String {
    if format == LogFormat::Text {
        return text::line(line).into_owned();
    }
    let mut json = String::with_capacity(line.len());
    for character in line.chars() {
        if text::is_printable(character) {
            json.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                _ = write!(json, "\\u{unit:04x}");
            }
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_stay_json_whatever_they_quote() {
        let text = format!("a\u{202e}b\u{7f}\u{e0001}{}", "x".repeat(9 << 10));
        let line = serde_json::to_string(&text).unwrap();
        let shown = shown(LogFormat::Json, &line);
        assert!(shown.chars().all(text::is_printable), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn nothing_is_logged_at_the_level_that_shows_headers() {
        assert!(targets(0).is_none());
        for verbosity in 1..=u8::MAX {
            let targets = targets(verbosity).unwrap();
            for target in
                ["unlade_launcher", "kube_client::client::builder", "hyper_util", "rustls"]
            {
                assert!(!targets.would_enable(target, &Level::TRACE), "{target} at {verbosity}");
            }
            assert!(targets.would_enable("unlade_launcher::launch", &Level::INFO));
            let requests = "kube_client::client::builder";
            assert_eq!(targets.would_enable(requests, &Level::DEBUG), verbosity > 1);
            for bodies in ["kube_client::client", "kube_client", "kube"] {
                assert!(!targets.would_enable(bodies, &Level::ERROR), "{bodies} at {verbosity}");
            }
            assert!(!targets.would_enable("hyper_util", &Level::DEBUG));
        }
    }
}
