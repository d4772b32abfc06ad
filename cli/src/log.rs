//! `--verbose`: writes what the launcher and kube's client log to standard error.

use std::io::{self, Write};

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use unlade_format::text;

/// How log lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line of text for each event
    #[default]
    Text,
    /// A JSON document for each event, one a line
    Json,
}

/// Starts logging: nothing at `verbosity` 0, phases and decisions at 1, and also requests and
/// watches from 2 on. No level shows headers or bodies of requests, because they contain
/// credentials.
pub(crate) fn start(verbosity: u8, format: LogFormat) {
    let Some(targets) = targets(verbosity) else { return };
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Stderr);
    let registry = tracing_subscriber::registry().with(targets);
    // This fails if a logger is already set, which is fine.
    _ = match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    };
}

/// Which events are logged. The level is never `TRACE`, because kube logs the headers of responses
/// there.
fn targets(verbosity: u8) -> Option<Targets> {
    let ours =
        |level| Targets::new().with_targets([("unlade_launcher", level), ("unlade_cli", level)]);
    match verbosity {
        0 => None,
        1 => Some(ours(Level::INFO)),
        _ => Some(ours(Level::DEBUG).with_targets([
            ("kube", Level::DEBUG),
            ("kube_client", Level::DEBUG),
            ("kube_runtime", Level::DEBUG),
        ])),
    }
}

/// Standard error, with control characters escaped, so that foreign text cannot control the
/// terminal.
#[derive(Debug, Clone, Copy)]
struct Stderr;

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
        writeln!(io::stderr(), "{}", text::line(line.trim_end_matches('\n')))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_logged_at_the_level_that_shows_headers() {
        assert!(targets(0).is_none());
        for verbosity in 1..=u8::MAX {
            let targets = targets(verbosity).unwrap();
            for target in ["unlade_launcher", "kube_client::client", "hyper_util", "rustls"] {
                assert!(!targets.would_enable(target, &Level::TRACE), "{target} at {verbosity}");
            }
            assert!(targets.would_enable("unlade_launcher::launch", &Level::INFO));
            assert_eq!(targets.would_enable("kube_client::client", &Level::DEBUG), verbosity > 1);
            assert!(!targets.would_enable("hyper_util", &Level::DEBUG));
        }
    }
}
