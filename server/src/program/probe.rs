//! `grpc_health_probe`: checks the health of a server, with the flags, messages and exit codes
//! of the program of that name. OLM runs it as the probe of a catalog's pod.

use std::error::Error;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{HeaderValue, USER_AGENT};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codegen::http::{self, Uri};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::address;

/// The maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 1 << 16;

/// Check the health of a gRPC server
///
/// The flags are those of `grpc_health_probe`; TLS is not supported. Exit codes: 0 if the server is
/// healthy, 1 for invalid arguments, 2 if there is no connection, 3 if the call fails, 4 if the
/// server is not healthy.
#[derive(Debug, Parser)]
#[command(name = "grpc_health_probe", version)]
struct Args {
    /// The address: a port, optionally after an IP address or `localhost`, such as `:50051`
    #[arg(long, value_parser = address::parse)]
    addr: SocketAddr,

    /// The name of the service; empty for the server as a whole
    #[arg(long, default_value = "")]
    service: String,

    /// The time to wait for a connection
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    connect_timeout: Duration,

    /// The time to wait for the response
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    rpc_timeout: Duration,

    /// The name of this client
    #[arg(long, default_value = "grpc_health_probe")]
    user_agent: String,

    /// Print how long the call took
    #[arg(short, long)]
    verbose: bool,
}

/// The reason why a server is not known to be healthy. The messages are those of the original.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("error: failed to connect service {0:?}: {1}")]
    Connect(String, String),
    #[error("timeout: failed to connect service {0:?} within {1:?}")]
    ConnectTimeout(String, Duration),
    #[error("timeout: health rpc did not complete within {0:?}")]
    RpcTimeout(Duration),
    #[error(
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)"
    )]
    Unimplemented,
    #[error("error: health rpc failed: {0}")]
    Rpc(String),
    #[error("service unhealthy (responded with {0:?})")]
    Unhealthy(&'static str),
}

impl Failure {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Connect(..) | Self::ConnectTimeout(..) => 2.into(),
            Self::RpcTimeout(_) | Self::Unimplemented | Self::Rpc(_) => 3.into(),
            Self::Unhealthy(_) => 4.into(),
        }
    }
}

pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let args = match Args::try_parse_from(arguments.into_iter().map(with_two_dashes)) {
        Ok(args) => args,
        Err(error) => {
            _ = error.print();
            return if error.use_stderr() { 1.into() } else { 0.into() };
        }
    };
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return 2.into();
        }
    };
    match runtime.block_on(check(&args)) {
        Ok(()) => {
            eprintln!("status: SERVING");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{}", unlade_text::line(&failure.to_string()));
            failure.exit_code()
        }
    }
}

async fn check(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    let address = || args.addr.to_string();
    let failed = |error: &dyn Error| Failure::Connect(address(), unlade_text::chain(error));
    let origin: Uri = format!("http://{}", args.addr).parse().map_err(|error| failed(&error))?;
    let user_agent = HeaderValue::from_str(&args.user_agent).map_err(|error| failed(&error))?;
    let sender = timeout(args.connect_timeout, connect(args.addr)).await;
    let mut sender = sender
        .map_err(|_| Failure::ConnectTimeout(address(), args.connect_timeout))?
        .map_err(|error| failed(&*error))?;
    let connected = Instant::now();
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        request.headers_mut().insert(USER_AGENT, user_agent.clone());
        sender.send_request(request)
    });
    let client = HealthClient::with_origin(service, origin);
    let mut client = client.max_decoding_message_size(MAX_RESPONSE);
    let request = Request::new(HealthCheckRequest { service: args.service.clone() });
    let response = timeout(args.rpc_timeout, client.check(request)).await;
    let response = response.map_err(|_| Failure::RpcTimeout(args.rpc_timeout))?;
    let response = response.map_err(|status| match status.code() {
        Code::Unimplemented => Failure::Unimplemented,
        Code::DeadlineExceeded => Failure::RpcTimeout(args.rpc_timeout),
        _ => Failure::Rpc(format!("{}: {}", status.code(), status.message())),
    })?;
    if args.verbose {
        let (connect, call) = (connected - start, connected.elapsed());
        eprintln!("time elapsed: connect={connect:?} rpc={call:?}");
    }
    match response.into_inner().status() {
        ServingStatus::Serving => Ok(()),
        other => Err(Failure::Unhealthy(other.as_str_name())),
    }
}

/// Connects without the channels of tonic, which reconnect, balance and queue. They would add 80 kB
/// to the program.
async fn connect(address: SocketAddr) -> Result<SendRequest<Body>, Box<dyn Error>> {
    let stream = TokioIo::new(TcpStream::connect(address).await?);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
    // If the connection fails, so does the call.
    tokio::spawn(connection);
    Ok(sender)
}

/// Adds the second dash: the original accepts `-addr` as well as `--addr`.
fn with_two_dashes(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.len() > 2 && text.starts_with('-') && !text.starts_with("--") => {
            format!("-{text}").into()
        }
        _ => argument,
    }
}

/// Parses a duration as Go's `time.ParseDuration` does, but only whole numbers of milliseconds,
/// seconds, minutes and hours.
fn parse_duration(text: &str) -> Result<Duration, String> {
    // Only zero needs no unit.
    let mut rest = if text == "0" { "0s" } else { text };
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let end = tail.find(|digit: char| digit.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let number: u32 = number.parse().map_err(|_| "a number is missing or too large")?;
        let unit = match unit {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_mins(1),
            "h" => Duration::from_hours(1),
            unit => return Err(format!("{unit:?} is not a unit; write ms, s, m or h")),
        };
        sum =
            unit.checked_mul(number).and_then(|it| sum.checked_add(it)).ok_or("it is too large")?;
        rest = tail;
    }
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(sum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_the_original() {
        let arguments = ["grpc_health_probe", "-addr=:50051", "-rpc-timeout=1m30s", "-v"];
        let args = Args::parse_from(arguments.map(|it| with_two_dashes(it.into())));
        assert_eq!(args.addr.to_string(), "127.0.0.1:50051");
        assert_eq!((args.rpc_timeout, args.verbose), (Duration::from_secs(90), true));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for text in ["", "1", "s", "1x", "99999999999s", "1.5s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
