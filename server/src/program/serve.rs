//! Serves a catalog with the arguments of `opm serve`.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use unlade_server::{CacheState, Listeners, Metas, OpmCacheError, Options, Server};

use super::args::{Args, CacheFormat};
use super::log;

/// The reason why `--cache-only` left no cache.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the cache to {directory}: {failure}")]
struct NoCache {
    directory: String,
    failure: String,
}

/// The port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}")]
struct Listen {
    address: SocketAddr,
    source: io::Error,
}

/// A catalog that can be served, also with the HTTP API of catalogd.
struct Loaded {
    server: Server,
    metas: Option<Metas>,
}

/// A signal has ended `--cache-only`.
#[derive(Debug, thiserror::Error)]
#[error("a signal stopped the program before the cache was written")]
struct Stopped;

type Failure = Box<dyn Error + Send + Sync>;

pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let args = match Args::parse_all(arguments) {
        Ok(args) => args,
        Err(error) => {
            _ = error.print();
            // Like `opm`, whose only exit code for a failure is 1.
            return u8::from(error.use_stderr()).into();
        }
    };
    log::start(&args);
    let args = Arc::new(args);
    match try_run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Users read both with `kubectl`, which prints them as they are.
            let message = unlade_text::chain(&*error);
            let message = unlade_text::line(&message);
            eprintln!("error: {message}");
            // The log of the container also has the message, so a failure here loses nothing.
            if let Some(path) = args.termination_log() {
                _ = fs::write(path, format!("{message}\n"));
            }
            ExitCode::FAILURE
        }
    }
}

fn try_run(args: &Arc<Args>) -> Result<(), Failure> {
    if args.ignored.pprof_addr.as_ref().is_some_and(|address| !address.is_empty()) {
        tracing::warn!("--pprof-addr is ignored, because this server has no profiler");
    }
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(run_until_signal(args));
    // A catalog that is still being read must not keep the program from ending.
    runtime.shutdown_background();
    ended
}

async fn run_until_signal(args: &Arc<Args>) -> Result<(), Failure> {
    // As process 1 of a container, the program gets only the signals that it handles.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut stop = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    };
    tracing::debug!("reading the catalog");
    let loading = spawn_blocking({
        let args = Arc::clone(args);
        move || load(&args)
    });
    let loaded = tokio::select! {
        loaded = loading => loaded??,
        () = stop() => return if args.cache_only { Err(Stopped.into()) } else { Ok(()) },
    };
    match loaded {
        Some(loaded) => serve(loaded, args, stop()).await,
        None => Ok(()),
    }
}

/// Reads the catalog, and returns it unless only the caches are wanted.
fn load(args: &Args) -> Result<Option<Loaded>, Failure> {
    let mut options = Options::default();
    options.cache = args.cache_dir().map(Path::to_owned);
    options.digest = args.metrics_addr.is_some();
    if args.cache_only {
        // With several threads, the order of the texts in the cache would be different each time.
        options.limits.threads = NonZeroUsize::MIN;
    }
    let server = Server::load(&args.catalog, &options)?;
    report(server.cache());
    if args.cache_only {
        write_caches(&server, args)?;
        return Ok(None);
    }
    let metas = args.http_addr.map(|_| Metas::load(&args.catalog, &options)).transpose()?;
    Ok(Some(Loaded { server, metas }))
}

/// Logs why a cache was not used. The reason can quote the cache, which can come from others.
fn report(cache: &CacheState) {
    let line = |text| unlade_text::line(text);
    match cache {
        CacheState::Written { reason } => {
            tracing::info!("the cache was not used: {}; wrote a new cache", line(reason));
        }
        CacheState::Unusable { reason, failure } => {
            let (reason, failure) = (line(reason), line(failure));
            tracing::warn!(
                "the cache was not used: {reason}; failed to write a new cache: {failure}"
            );
        }
        _ => {}
    }
}

/// Logs a warning that can contain names from the catalog.
fn warn(message: &str) {
    tracing::warn!("{}", unlade_text::line(message));
}

/// Fails if the caches are not complete: an image is built with them.
fn write_caches(server: &Server, args: &Args) -> Result<(), Failure> {
    let Some(directory) = args.cache_dir() else { return Ok(()) };
    if let CacheState::Unusable { failure, .. } = server.cache() {
        let (directory, failure) = (directory.display().to_string(), failure.clone());
        return Err(NoCache { directory, failure }.into());
    }
    if args.cache_format == CacheFormat::Unlade {
        return Ok(());
    }
    match server.write_opm_cache(&args.catalog, directory) {
        // This server can serve the catalog. opm can build its own format, which has no such
        // limits.
        Err(error @ (OpmCacheError::Name(_) | OpmCacheError::Size { .. })) => {
            warn(&format!("{error}; opm cannot use this cache"));
        }
        written => written?,
    }
    Ok(())
}

async fn serve(
    Loaded { server, metas }: Loaded,
    args: &Args,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Failure> {
    // All addresses, as opm does.
    let grpc = listen((Ipv6Addr::UNSPECIFIED, args.port).into()).await?;
    let port = grpc.local_addr()?.port();
    let mut listeners = Listeners::from(grpc);
    if let Some(address) = args.metrics_addr {
        let listener = listen(address).await?;
        tracing::info!(address = %listener.local_addr()?, "serving metrics");
        listeners.metrics = Some(listener);
    }
    if let (Some(address), Some(metas)) = (args.http_addr, metas) {
        let listener = listen(address).await?;
        tracing::info!(address = %listener.local_addr()?, "serving the HTTP API");
        listeners.http = Some((listener, metas));
    }
    let (catalog, cache) = (args.catalog.display().to_string(), server.cache());
    tracing::info!(catalog = %unlade_text::line(&catalog), port, %cache, "serving the catalog");
    server.serve(listeners, stop).await?;
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Listen> {
    let bind = async |address| TcpListener::bind(address).await;
    let listener = match bind(address).await {
        // The machine has no IPv6.
        Err(error)
            if address.ip() == Ipv6Addr::UNSPECIFIED
                && matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL)
                ) =>
        {
            bind((Ipv4Addr::UNSPECIFIED, address.port()).into()).await
        }
        listener => listener,
    };
    listener.map_err(|source| Listen { address, source })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;

    #[test]
    fn a_cache_does_not_forge_or_fill_the_log() {
        let key = format!("x`\n2026 ERROR stopped \u{202e}{}", "k".repeat(1 << 20));
        let (reason, failure) = (format!("unknown field `{key}"), "the disk is full".to_owned());
        let written = CacheState::Written { reason: reason.clone() };
        let unusable = CacheState::Unusable { reason, failure };
        for (cache, end) in [(written, "; wrote a new cache\n"), (unusable, "the disk is full\n")] {
            let mut file = tempfile::tempfile().unwrap();
            let log = tracing_subscriber::fmt().with_writer(Arc::new(file.try_clone().unwrap()));
            tracing::subscriber::with_default(log.finish(), || report(&cache));
            let mut text = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut text).unwrap();
            assert!(text.len() < 10_000, "{} bytes", text.len());
            assert!(text.contains(r"x`\n2026 ERROR stopped \u{202e}kkk"), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.ends_with(end), "{text}");
        }
    }
}
