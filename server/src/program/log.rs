//! Starts the log.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::args::{Args, LogFormat};

/// Writes the log to standard error from now on.
pub(crate) fn start(args: &Args) {
    let level = if args.debug { LevelFilter::DEBUG } else { LevelFilter::INFO };
    // With `--debug`, the libraries for HTTP would log every frame.
    let targets = Targets::new().with_default(LevelFilter::INFO).with_target("unlade", level);
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
    let log = log.with_target(false);
    match args.log_format {
        LogFormat::Text => log.with_ansi(false).finish().with(targets).init(),
        LogFormat::Json => log.json().finish().with(targets).init(),
    }
}
