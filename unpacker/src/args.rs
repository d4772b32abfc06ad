//! Parses the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use unlade_config_map::Encoding;
use unlade_name::{MAX_LABEL, check_label, check_subdomain};

use crate::serve::{self, Bundle, Output};

/// The command that the command line requests.
#[derive(Debug)]
pub(crate) enum Command {
    /// Fill ConfigMaps.
    Serve(Box<serve::Options>),
    /// Copy the binary to this path.
    Install(PathBuf),
    /// Print a text.
    Print(&'static str),
}

/// Why the command line is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("a command is required: serve or install DEST")]
    NoCommand,
    #[error("unknown command {0:?}")]
    Command(String),
    #[error("install requires exactly one DEST")]
    Destination,
    #[error("--bundle is required")]
    NoBundle,
    #[error("the ConfigMap {0} is given twice")]
    Twice(String),
    #[error("invalid value {value:?} for --{flag}: {expected}")]
    Value { flag: &'static str, value: String, expected: &'static str },
    #[error("invalid value {value:?} for --{flag}: {fault}")]
    Name { flag: &'static str, value: String, fault: unlade_name::Error },
    #[error(transparent)]
    Syntax(#[from] lexopt::Error),
}

/// The output of `--version`.
pub(crate) const VERSION: &str = concat!("unlade-unpacker ", env!("CARGO_PKG_VERSION"), "\n");

/// The output of `--help`.
pub(crate) const HELP: &str = include_str!("args/help.txt");

/// Parses the arguments, which do not include the name of the program.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, Error> {
    let mut parser = lexopt::Parser::from_args(args);
    match parser.next()? {
        None => Err(Error::NoCommand),
        Some(Short('h') | Long("help")) => Ok(Command::Print(HELP)),
        Some(Short('V') | Long("version")) => Ok(Command::Print(VERSION)),
        Some(Value(command)) if command == "help" => Ok(Command::Print(HELP)),
        Some(Value(command)) if command == "serve" => serve(&mut parser),
        Some(Value(command)) if command == "install" => install(&mut parser),
        Some(Value(command)) => Err(Error::Command(command.to_string_lossy().into_owned())),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn install(parser: &mut lexopt::Parser) -> Result<Command, Error> {
    let mut destination = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Print(HELP)),
            Value(path) if destination.is_none() && !path.is_empty() => destination = Some(path),
            Value(_) => return Err(Error::Destination),
            other => return Err(other.unexpected().into()),
        }
    }
    destination.map(|path| Command::Install(path.into())).ok_or(Error::Destination)
}

fn serve(parser: &mut lexopt::Parser) -> Result<Command, Error> {
    let mut options = serve::Options::default();
    let mut first_image = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Print(HELP)),
            Long("bundle") => options.bundles.push(bundle(&text(parser, "bundle")?)?),
            Long("source-image") => {
                let image = Some(text(parser, "source-image")?);
                match options.bundles.last_mut() {
                    Some(bundle) => bundle.source_image = image,
                    None => first_image = image,
                }
            }
            Long("source-image-from-env") => options.source_image_from_env = true,
            Short('n') | Long("namespace") => {
                options.namespace = Some(namespace(parser.value()?.string()?)?);
            }
            Long("encoding") => options.encoding = encoding(&text(parser, "encoding")?)?,
            Long("attempt") => {
                options.attempt = Some(checked(
                    parser,
                    "attempt",
                    |id| {
                        !id.is_empty()
                            && id.len() <= 253
                            && id.chars().all(|c| c.is_ascii_graphic())
                    },
                    "expected 1 to 253 printable ASCII characters without spaces",
                )?);
            }
            Long("kubeconfig") => options.kubeconfig = Some(parser.value()?.into()),
            Long("context") => options.context = Some(text(parser, "context")?),
            Long("dry-run") => options.dry_run = true,
            Short('o') | Long("output") => options.output = output(&text(parser, "output")?)?,
            Long("max-files") => options.limits.files = count(parser, "max-files")?,
            Long("max-file-size") => options.limits.file_size = size(parser, "max-file-size")?,
            Long("max-total-size") => options.limits.total_size = size(parser, "max-total-size")?,
            Long("deadline") => options.policy.deadline = duration(parser, "deadline")?,
            Long("permission-wait") => {
                options.policy.permission = duration(parser, "permission-wait")?;
            }
            Long("request-timeout") => {
                options.policy.request = duration(parser, "request-timeout")?;
            }
            Long("termination-log") => options.termination_log = Some(parser.value()?.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if let (Some(bundle), Some(image)) = (options.bundles.first_mut(), first_image) {
        bundle.source_image.get_or_insert(image);
    }
    check(&options)?;
    Ok(Command::Serve(Box::new(options)))
}

fn check(options: &serve::Options) -> Result<(), Error> {
    if options.bundles.is_empty() {
        return Err(Error::NoBundle);
    }
    let mut names: Vec<_> = options.bundles.iter().map(|bundle| &bundle.config_map).collect();
    names.sort_unstable();
    match names.array_windows().find(|[a, b]| a == b) {
        Some([name, _]) => Err(Error::Twice((*name).clone())),
        None => Ok(()),
    }
}

/// Parses `[ROOT=]CONFIGMAP`. The root may contain `=`, but a name never does.
fn bundle(value: &str) -> Result<Bundle, Error> {
    let (root, config_map) = value.rsplit_once('=').unwrap_or(("/", value));
    let (flag, owned) = ("bundle", value.to_owned());
    if root.is_empty() {
        return Err(Error::Value { flag, value: owned, expected: "expected [ROOT=]CONFIGMAP" });
    }
    check_subdomain(config_map).map_err(|fault| Error::Name { flag, value: owned, fault })?;
    Ok(Bundle { root: root.into(), config_map: config_map.to_owned(), source_image: None })
}

fn namespace(value: String) -> Result<String, Error> {
    match check_label(&value, MAX_LABEL) {
        Ok(()) => Ok(value),
        Err(fault) => Err(Error::Name { flag: "namespace", value, fault }),
    }
}

fn encoding(value: &str) -> Result<Encoding, Error> {
    match value {
        "auto" => Ok(Encoding::Auto),
        "plain" => Ok(Encoding::Plain),
        "gzip" => Ok(Encoding::Gzip),
        _ => Err(Error::Value {
            flag: "encoding",
            value: value.to_owned(),
            expected: "expected auto, plain or gzip",
        }),
    }
}

fn output(value: &str) -> Result<Output, Error> {
    match value {
        "yaml" => Ok(Output::Yaml),
        "json" => Ok(Output::Json),
        _ => {
            let expected = "expected yaml or json";
            Err(Error::Value { flag: "output", value: value.to_owned(), expected })
        }
    }
}

fn text(parser: &mut lexopt::Parser, flag: &'static str) -> Result<String, Error> {
    checked(parser, flag, |text| !text.is_empty(), "a value is required")
}

fn checked(
    parser: &mut lexopt::Parser,
    flag: &'static str,
    is_legal: impl Fn(&str) -> bool,
    expected: &'static str,
) -> Result<String, Error> {
    let value = parser.value()?.string()?;
    if is_legal(&value) { Ok(value) } else { Err(Error::Value { flag, value, expected }) }
}

fn count(parser: &mut lexopt::Parser, flag: &'static str) -> Result<usize, Error> {
    let value = parser.value()?.string()?;
    value.parse().map_err(|_| Error::Value { flag, value, expected: "expected a number" })
}

/// Parses a number of bytes, optionally with the suffix `Ki` or `Mi`.
fn size(parser: &mut lexopt::Parser, flag: &'static str) -> Result<usize, Error> {
    let value = parser.value()?.string()?;
    let (number, unit) = match (value.strip_suffix("Ki"), value.strip_suffix("Mi")) {
        (Some(number), _) => (number, 1 << 10),
        (_, Some(number)) => (number, 1 << 20),
        _ => (value.as_str(), 1),
    };
    let bytes = number.parse().ok().and_then(|number: usize| number.checked_mul(unit));
    let expected = "expected a number of bytes, optionally followed by Ki or Mi";
    bytes.ok_or(Error::Value { flag, value, expected })
}

/// Parses a number of seconds, or a number with the suffix `ms`, `s` or `m`.
fn duration(parser: &mut lexopt::Parser, flag: &'static str) -> Result<Duration, Error> {
    let value = parser.value()?.string()?;
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let milliseconds: Option<u64> = match value.get(digits.len()..) {
        Some("ms") => Some(1),
        Some("" | "s") => Some(1_000),
        Some("m") => Some(60_000),
        _ => None,
    };
    digits
        .parse::<u32>()
        .ok()
        .and_then(|number| milliseconds?.checked_mul(number.into()))
        .map(Duration::from_millis)
        .ok_or(Error::Value {
            flag,
            value,
            expected: "expected a number of seconds, or one followed by ms, s or m",
        })
}

#[cfg(test)]
mod tests;
