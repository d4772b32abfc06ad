//! Starts the log.

use std::io;

use tracing::level_filters::LevelFilter;

use super::args::{Args, LogFormat};

/// Writes the log to standard error from now on.
pub(crate) fn start(args: &Args) {
    let level = if args.debug { LevelFilter::DEBUG } else { LevelFilter::INFO };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
    match args.log_format {
        LogFormat::Text => log.with_ansi(false).with_target(false).init(),
        LogFormat::Json => log.json().with_target(false).init(),
    }
}
