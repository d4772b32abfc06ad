//! The subcommands of `opm` that OLM's unpack Job needs: `opm alpha bundle extract` and
//! `opm version`.

mod extract;
mod flag;
mod log;

use std::ffi::OsString;
use std::io::Write;

use crate::log as stderr;
use crate::serve::Failure;

pub(super) const HELP: &str = "\
unlade's stand-in for the opm of OLM's unpack Job

Usage:
  opm alpha bundle extract -m DIRECTORY -n NAMESPACE -c CONFIGMAP [-z] [-l BYTES] [-k KUBECONFIG]
  opm version

For all other commands of opm, use the image of operator-registry.
";

/// The output of `opm version`, in upstream's format.
const VERSION: &str =
    concat!("Version: version.Version{OpmVersion:\"unlade-", env!("CARGO_PKG_VERSION"), "\"}\n");

/// Runs `opm` with `args`, which do not include its name. `variable` reads environment variables.
/// Returns the exit code, which is 0 or 1 as in upstream.
pub(super) fn run(
    args: &[OsString],
    variable: impl Fn(&str) -> Option<OsString>,
    stdout: &mut dyn Write,
) -> u8 {
    let (words, flags) = split(args);
    match words.as_slice() {
        [] | ["help" | "-h" | "--help", ..] => print(stdout, HELP),
        ["version"] => match flag::is_version_help_requested(flags) {
            Ok(false) => print(stdout, VERSION),
            Ok(true) => print(stdout, HELP),
            Err(error) => failed(&error.to_string(), None),
        },
        ["alpha", "bundle", "extract"] => {
            let options = match flag::parse(flags) {
                Ok(Some(options)) => options,
                Ok(None) => return print(stdout, HELP),
                Err(error) => return failed(&error.to_string(), None),
            };
            let connection = match extract::connect(&options, &variable) {
                Ok(connection) => connection,
                // Upstream reports this error only in its log.
                Err(failure) => return fatal(&failure),
            };
            let image = variable("CONTAINER_IMAGE").and_then(|image| image.into_string().ok());
            let image = image.filter(|image| !image.is_empty());
            match extract::extract(&options, &connection, image) {
                Ok(()) => 0,
                Err(failure) => {
                    let message =
                        format!("error loading manifests from directory: {}", failure.message());
                    failed(&message, failure.hint())
                }
            }
        }
        other => {
            let command = other.iter().take(4).copied().collect::<Vec<_>>().join(" ");
            let message = format!("unknown command {command:?}: this is unlade's opm");
            failed(&message, Some("use the image of operator-registry for this command"))
        }
    }
}

/// Splits the arguments into the words of the command, and its flags and their values. Upstream's
/// flags for registries may also stand before and between the words.
fn split(args: &[OsString]) -> (Vec<&str>, Vec<&OsString>) {
    let (mut words, mut flags) = (Vec::new(), Vec::new());
    for arg in args {
        let is_whole = matches!(words.as_slice(), ["version"] | ["alpha", "bundle", "extract"]);
        if is_whole || flag::is_global(arg) {
            flags.push(arg);
        } else {
            words.push(arg.to_str().unwrap_or_default());
        }
    }
    (words, flags)
}

fn failed(message: &str, hint: Option<&str>) -> u8 {
    stderr::plain(format_args!("Error: {message}"));
    if let Some(hint) = hint {
        stderr::plain(format_args!("hint: {hint}"));
    }
    1
}

fn fatal(failure: &Failure) -> u8 {
    let message =
        format!("cluster config failed: Cannot load config for REST client: {}", failure.message());
    log::logged("fatal", &message, &[]);
    if let Some(hint) = failure.hint() {
        stderr::plain(format_args!("hint: {hint}"));
    }
    1
}

fn print(stdout: &mut dyn Write, text: &str) -> u8 {
    // The reader may have closed the pipe, which does not matter.
    let _ = stdout.write_all(text.as_bytes());
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opm(args: &[&str]) -> (u8, String) {
        let mut stdout = Vec::new();
        let args: Vec<_> = args.iter().map(Into::into).collect();
        let code = run(&args, |_| None, &mut stdout);
        (code, String::from_utf8(stdout).unwrap())
    }

    #[test]
    fn version_and_help_are_printed() {
        let (code, text) = opm(&["version"]);
        assert_eq!((code, text.starts_with("Version: version.Version{")), (0, true), "{text}");
        for args in [&[][..], &["--help"], &["alpha", "bundle", "extract", "-h"]] {
            assert_eq!(opm(args), (0, HELP.to_owned()), "{args:?}");
        }
    }

    #[test]
    fn flags_of_registries_may_stand_before_the_command() {
        let args = ["--skip-tls-verify", "--use-http=false", "alpha", "bundle", "extract", "-h"];
        assert_eq!(opm(&args), (0, HELP.to_owned()));
        let args = ["alpha", "--use-http", "bundle", "--skip-tls=1", "extract", "-h"];
        assert_eq!(opm(&args), (0, HELP.to_owned()));
        let args = ["alpha", "--use-http=x", "bundle", "extract", "-h"];
        assert_eq!(opm(&args), (1, String::new()), "its value counts there, too");
    }

    /// The opm of operator-registry 1.73 does the same.
    #[test]
    fn version_takes_any_argument_and_no_flag() {
        for args in [&["foo"][..], &["--use-http"], &["--", "-o"], &["-"]] {
            assert_eq!(opm(&[&["version"], args].concat()), (0, VERSION.to_owned()), "{args:?}");
        }
        assert_eq!(opm(&["version", "-h"]), (0, HELP.to_owned()));
        for args in [&["-o", "json"][..], &["--output=json"], &["--debug"], &["--use-http=x"]] {
            assert_eq!(opm(&[&["version"], args].concat()), (1, String::new()), "{args:?}");
        }
        assert_eq!(opm(&["--use-http=x", "version"]), (1, String::new()));
    }

    #[test]
    fn unknown_commands_and_flags_are_errors() {
        for args in [&["serve", "/configs"][..], &["alpha", "bundle", "unpack"], &["render"]] {
            assert_eq!(opm(args), (1, String::new()), "{args:?}");
        }
        assert_eq!(opm(&["alpha", "bundle", "extract", "--no-such"]).0, 1);
        assert_eq!(opm(&["alpha", "bundle", "extract", "-c", "name"]).0, 1, "no server exists");
    }
}
