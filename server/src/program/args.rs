//! The arguments of the program, which are those of `opm serve`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};

use super::address;

/// Serve a file-based catalog to OLM over gRPC
///
/// Accepts the arguments of `opm serve`, and a few more.
#[derive(Debug, Parser)]
#[command(name = "unlade-server", version, args_override_self = true)]
pub(crate) struct Args {
    /// The directory of the catalog, or a single file
    #[arg(value_name = "CATALOG")]
    pub(crate) catalog: PathBuf,

    /// The port to listen on
    #[arg(short, long, default_value_t = 50051, value_name = "PORT")]
    pub(crate) port: u16,

    /// Serve metrics for Prometheus at this address: a port, optionally after an IP address or
    /// `localhost`, such as `:8080`
    #[arg(long, value_parser = address::parse_local, value_name = "ADDRESS")]
    pub(crate) metrics_addr: Option<SocketAddr>,

    /// Also serve the HTTP API of catalogd at this address; this reads the catalog a second time
    #[arg(long, value_parser = address::parse_local, value_name = "ADDRESS")]
    pub(crate) http_addr: Option<SocketAddr>,

    /// The file to write the reason for a failure to; Kubernetes shows it in the pod status
    #[arg(
        short,
        long,
        default_value = "/dev/termination-log",
        value_name = "FILE",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    termination_log: PathBuf,

    /// The directory of the cache; a cache that does not match the catalog is not used
    #[arg(
        long,
        value_name = "DIRECTORY",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    cache_dir: Option<PathBuf>,

    /// Read and check the catalog, write its cache, and exit without serving it
    #[arg(long)]
    pub(crate) cache_only: bool,

    /// The caches that --cache-only writes
    #[arg(long, value_enum, default_value_t = CacheFormat::Both, value_name = "FORMAT")]
    pub(crate) cache_format: CacheFormat,

    /// The format of the log, on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,

    /// Log debug messages
    #[arg(long)]
    pub(crate) debug: bool,

    #[command(flatten)]
    pub(crate) ignored: Ignored,
}

impl Args {
    /// Parses the arguments of the program.
    pub(crate) fn parse_all(
        arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::command().mut_args(accept_value).try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }

    /// Returns the directory of the cache. An empty one means none, as for opm.
    pub(crate) fn cache_dir(&self) -> Option<&Path> {
        self.cache_dir.as_deref().filter(|directory| !directory.as_os_str().is_empty())
    }

    /// Returns the file for the reason for a failure. An empty one means none, as for opm.
    pub(crate) fn termination_log(&self) -> Option<&Path> {
        Some(&*self.termination_log).filter(|file| !file.as_os_str().is_empty())
    }
}

/// Lets a flag have a value, such as `--debug=false`, as opm's library for arguments does.
fn accept_value(arg: Arg) -> Arg {
    if !matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg;
    }
    arg.action(ArgAction::Set)
        .value_name("BOOL")
        .num_args(0..=1)
        .require_equals(true)
        .default_value("false")
        .default_missing_value("true")
        .hide_default_value(true)
        .hide_possible_values(true)
}

/// The arguments of opm that have no effect here.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of opm")]
pub(crate) struct Ignored {
    /// Accepted for compatibility with opm, and ignored: the cache is always compared with the
    /// catalog
    #[arg(long)]
    cache_enforce_integrity: bool,

    /// Accepted for compatibility with opm, and ignored: this server has no profiler
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) pprof_addr: Option<String>,

    /// Accepted for compatibility with opm, and ignored: this server has no profiler
    #[arg(long)]
    pprof_capture_profiles: bool,

    /// Accepted for compatibility with opm, and ignored: nothing is fetched
    #[arg(long, hide = true)]
    skip_tls: bool,

    /// Accepted for compatibility with opm, and ignored: nothing is fetched
    #[arg(long, hide = true)]
    skip_tls_verify: bool,

    /// Accepted for compatibility with opm, and ignored: nothing is fetched
    #[arg(long, hide = true)]
    use_http: bool,
}

/// The caches that an image can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheFormat {
    /// Caches for this server and for opm, so that both can serve the catalog
    Both,
    /// A cache for this server only, which takes less space; opm cannot serve the catalog from it
    Unlade,
}

/// The format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines of text
    Text,
    /// A JSON object in each line
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Args, clap::Error> {
        Args::parse_all([&["unlade-server", "catalog"], arguments].concat())
    }

    #[test]
    fn arguments_are_those_of_opm() {
        let args = parse(&["--cache-only", "--cache-dir=", "--termination-log="]).unwrap();
        assert!(args.cache_only && !args.debug);
        assert_eq!((args.cache_dir(), args.termination_log()), (None, None));
        let args = parse(&["--cache-dir", "", "-t", "log"]).unwrap();
        assert_eq!((args.cache_dir(), args.termination_log()), (None, Some(Path::new("log"))));
        // The last one counts.
        let args = parse(&["--port=1", "--debug", "-p", "2", "--debug=false", "--cache-dir=a"]);
        let args = args.unwrap();
        assert_eq!((args.port, args.debug, args.cache_only), (2, false, false));
        assert_eq!(args.cache_dir(), Some(Path::new("a")));
        let ignored = ["--skip-tls", "--skip-tls-verify=true", "--use-http=false"];
        parse(&ignored).unwrap();
        parse(&["--pprof-capture-profiles=true", "--cache-enforce-integrity=false"]).unwrap();
        for wrong in [["--debug=maybe"].as_slice(), &["another-catalog"], &["--port="]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
