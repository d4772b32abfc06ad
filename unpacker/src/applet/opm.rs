//! The subcommands of `opm` that OLM's unpack Job needs: `opm alpha bundle extract` and
//! `opm version`.

mod extract;
mod flag;

use std::ffi::OsString;
use std::fmt;
use std::io::Write;

use crate::log;

pub(super) const HELP: &str = "\
unlade's replacement for the opm of OLM's unpack Job

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
        ["version"] => print(stdout, VERSION),
        ["alpha", "bundle", "extract"] => match flag::parse(flags) {
            Ok(Some(options)) => match extract::extract(&options, variable) {
                Ok(()) => 0,
                Err(failure) => fail(failure.message(), failure.hint()),
            },
            Ok(None) => print(stdout, HELP),
            Err(error) => fail(error, None),
        },
        other => {
            let command = other.iter().take(4).copied().collect::<Vec<_>>().join(" ");
            let message = format!("unknown command {command:?}: this is unlade's opm");
            fail(message, Some("use the image of operator-registry for this command"))
        }
    }
}

/// Splits the arguments into the words of the command and the rest. Upstream's flags for registries
/// may also stand before and between the words.
fn split(args: &[OsString]) -> (Vec<&str>, &[OsString]) {
    let (mut words, mut args) = (Vec::new(), args.iter());
    while !matches!(words.as_slice(), ["version"] | ["alpha", "bundle", "extract"])
        && let Some(arg) = args.next()
    {
        if !flag::is_global(arg) {
            words.push(arg.to_str().unwrap_or_default());
        }
    }
    (words, args.as_slice())
}

fn fail(message: impl fmt::Display, hint: Option<&str>) -> u8 {
    log::line("error", format_args!("opm: {message}"));
    if let Some(hint) = hint {
        log::line("hint", hint);
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
        for args in [
            &[][..],
            &["--help"],
            &["alpha", "bundle", "extract", "-h"],
            &["alpha", "bundle", "extract", "-z", "--help"],
        ] {
            assert_eq!(opm(args), (0, HELP.to_owned()), "{args:?}");
        }
    }

    #[test]
    fn flags_of_registries_may_stand_before_the_command() {
        let args = ["--skip-tls-verify", "--use-http=false", "alpha", "bundle", "extract", "-h"];
        assert_eq!(opm(&args), (0, HELP.to_owned()));
        let args = ["alpha", "--use-http", "bundle", "--skip-tls=1", "extract", "-h"];
        assert_eq!(opm(&args), (0, HELP.to_owned()));
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
