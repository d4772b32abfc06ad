//! The flags of `opm alpha bundle extract` (operator-registry `cmd/opm/alpha/bundle/extract.go`).

mod number;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use lexopt::prelude::*;

use crate::name;

/// The flags that every command of upstream accepts. They configure registries, which this program
/// never contacts.
const GLOBAL: [&str; 3] = ["--skip-tls", "--skip-tls-verify", "--use-http"];

const GZIP: &str = "-z, --gzip";

/// What to extract, and where to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// `-m`: the directory that contains `manifests/` and `metadata/`.
    pub(super) root: PathBuf,
    /// `-n`: the namespace.
    pub(super) namespace: String,
    /// `-c`: the name of the ConfigMap.
    pub(super) config_map: String,
    /// `-l`: the maximum size of all values, in bytes.
    pub(super) limit: u64,
    /// `-z`: whether the values are compressed.
    pub(super) is_compressed: bool,
    /// `-k`: the kubeconfig. The default is the service account of the pod.
    pub(super) kubeconfig: Option<PathBuf>,
}

/// Why the flags are invalid, in upstream's words where upstream has the same error.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{}", syntax(.0))]
    Syntax(#[from] lexopt::Error),
    #[error("unknown command {0:?} for \"opm alpha bundle extract\"")]
    Argument(String),
    #[error("invalid argument {value:?} for {flag:?} flag: {reason}")]
    Value { flag: &'static str, value: String, reason: String },
}

/// Checks whether `arg` is a flag that every command of upstream accepts.
pub(super) fn is_global(arg: &OsStr) -> bool {
    let text = arg.to_str().unwrap_or_default();
    GLOBAL.contains(&text.split_once('=').map_or(text, |(flag, _)| flag))
}

/// Parses the flags. Returns `None` if they request help.
pub(super) fn parse<'a>(
    args: impl IntoIterator<Item = &'a OsString>,
) -> Result<Option<Options>, Error> {
    let mut options = Options {
        root: "/".into(),
        namespace: "openshift-operator-lifecycle-manager".to_owned(),
        config_map: String::new(),
        limit: 1 << 20,
        is_compressed: false,
        kubeconfig: None,
    };
    let mut parser = lexopt::Parser::from_args(args);
    loop {
        let arg = match parser.next() {
            Ok(Some(arg)) => arg,
            Ok(None) => break,
            // lexopt allows no value after a switch of one letter, but pflag allows `-z=false`.
            Err(lexopt::Error::UnexpectedValue { option, value }) if option == "-z" => {
                options.is_compressed = boolean(&value, GZIP)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match arg {
            Short('h') | Long("help") => return Ok(None),
            Short('m') | Long("manifestsdir") => options.root = parser.value()?.into(),
            Short('n') | Long("namespace") => options.namespace = parser.value()?.string()?,
            Short('c') | Long("configmapname") => options.config_map = parser.value()?.string()?,
            Short('l') | Long("datalimit") => {
                let value = parser.value()?.string()?;
                options.limit = number::parse(&value).map_err(|problem| Error::Value {
                    flag: "-l, --datalimit",
                    reason: format!("strconv.ParseUint: parsing {value:?}: {problem}"),
                    value,
                })?;
            }
            Short('z') => options.is_compressed = true,
            Long("gzip") => options.is_compressed = switch(&mut parser, GZIP)?,
            Short('k') | Long("kubeconfig") => {
                options.kubeconfig = Some(PathBuf::from(parser.value()?))
                    .filter(|path| !path.as_os_str().is_empty());
            }
            // These change nothing here, as in upstream.
            Long("debug") => _ = switch(&mut parser, "--debug")?,
            Long("skip-tls") => _ = switch(&mut parser, "--skip-tls")?,
            Long("skip-tls-verify") => _ = switch(&mut parser, "--skip-tls-verify")?,
            Long("use-http") => _ = switch(&mut parser, "--use-http")?,
            Value(value) => return Err(Error::Argument(value.to_string_lossy().into_owned())),
            other => return Err(other.unexpected().into()),
        }
    }
    check(&options)?;
    Ok(Some(options))
}

/// Checks whether the arguments of `opm version` request help. It accepts any argument, but only
/// the flags of all commands.
pub(super) fn is_version_help_requested<'a>(
    args: impl IntoIterator<Item = &'a OsString>,
) -> Result<bool, Error> {
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(true),
            Long("skip-tls") => _ = switch(&mut parser, "--skip-tls")?,
            Long("skip-tls-verify") => _ = switch(&mut parser, "--skip-tls-verify")?,
            Long("use-http") => _ = switch(&mut parser, "--use-http")?,
            Value(_) => {}
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(false)
}

/// Parses a switch, which may have a value as in `--gzip=false`.
fn switch(parser: &mut lexopt::Parser, flag: &'static str) -> Result<bool, Error> {
    parser.optional_value().map_or(Ok(true), |value| boolean(&value, flag))
}

fn boolean(value: &OsStr, flag: &'static str) -> Result<bool, Error> {
    match value.to_str() {
        Some("true" | "1" | "t" | "T" | "TRUE" | "True") => Ok(true),
        Some("false" | "0" | "f" | "F" | "FALSE" | "False") => Ok(false),
        _ => {
            let value = value.to_string_lossy().into_owned();
            let reason = format!("strconv.ParseBool: parsing {value:?}: invalid syntax");
            Err(Error::Value { flag, value, reason })
        }
    }
}

/// Formats a syntax error in the words of pflag.
fn syntax(error: &lexopt::Error) -> String {
    let shorthand = |flag: &str| flag.chars().nth(1).filter(|&short| short != '-');
    match error {
        lexopt::Error::UnexpectedOption(flag) => match shorthand(flag) {
            Some(short) => format!("unknown shorthand flag: {short:?} in {flag}"),
            None => format!("unknown flag: {flag}"),
        },
        lexopt::Error::MissingValue { option: Some(flag) } => match shorthand(flag) {
            Some(short) => format!("flag needs an argument: {short:?} in {flag}"),
            None => format!("flag needs an argument: {flag}"),
        },
        error => error.to_string(),
    }
}

fn check(options: &Options) -> Result<(), Error> {
    if !name::is_subdomain(&options.config_map) {
        return Err(Error::Value {
            flag: "-c, --configmapname",
            value: options.config_map.clone(),
            reason: "expected at most 253 characters of a-z, 0-9, - and .".to_owned(),
        });
    }
    if !name::is_label(&options.namespace) {
        return Err(Error::Value {
            flag: "-n, --namespace",
            value: options.namespace.clone(),
            reason: "expected at most 63 characters of a-z, 0-9 and -".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Result<Option<Options>, Error> {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        parse(&args)
    }

    #[test]
    fn flags_have_the_meaning_of_upstream() {
        let of_olm = ["-m", "/bundle/", "-n", "olm", "-c", "0a1b", "-z"];
        let expected = Options {
            root: "/bundle/".into(),
            namespace: "olm".to_owned(),
            config_map: "0a1b".to_owned(),
            limit: 1 << 20,
            is_compressed: true,
            kubeconfig: None,
        };
        assert_eq!(options(&of_olm).unwrap().unwrap(), expected);
        let long = [
            "--manifestsdir=/bundle/",
            "--namespace=olm",
            "--configmapname",
            "0a1b",
            "--gzip=true",
            "--datalimit=1048576",
            "--debug",
            "--use-http",
            "--kubeconfig=",
        ];
        assert_eq!(options(&long).unwrap().unwrap(), expected);
        // Switches of one letter may stand together, and before a flag with a value.
        let short = ["-m=/bundle/", "-nolm", "-zc", "0a1b"];
        assert_eq!(options(&short).unwrap().unwrap(), expected);
        assert!(!options(&["-z=false", "-ca"]).unwrap().unwrap().is_compressed);
        let defaults = options(&["-c", "a"]).unwrap().unwrap();
        assert_eq!(defaults.root, PathBuf::from("/"));
        assert_eq!(defaults.namespace, "openshift-operator-lifecycle-manager");
        assert!(!defaults.is_compressed);
    }

    #[test]
    fn wrong_flags_are_refused_with_their_value() {
        for (args, text) in [
            (&["foo"][..], "unknown command \"foo\" for \"opm alpha bundle extract\""),
            (&["-c", "a/b"], "\"a/b\""),
            (&[], "configmapname"),
            (&["-c", "a", "-n", "a.b"], "\"a.b\""),
        ] {
            let error = options(args).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    /// What the real opm of operator-registry 1.73 says behind `Error: `.
    #[test]
    fn flags_that_upstream_refuses_are_refused_in_its_words() {
        for (args, text) in [
            (
                &["-l", "1Mi"][..],
                "invalid argument \"1Mi\" for \"-l, --datalimit\" flag: strconv.ParseUint: parsing \
                 \"1Mi\": invalid syntax",
            ),
            (
                &["-z=perhaps"],
                "invalid argument \"perhaps\" for \"-z, --gzip\" flag: strconv.ParseBool: parsing \
                 \"perhaps\": invalid syntax",
            ),
            (
                &["--debug=2"],
                "invalid argument \"2\" for \"--debug\" flag: strconv.ParseBool: parsing \"2\": \
                 invalid syntax",
            ),
            (&["--no-such"], "unknown flag: --no-such"),
            (&["-x"], "unknown shorthand flag: 'x' in -x"),
            (&["-zx"], "unknown shorthand flag: 'x' in -x"),
            (&["-n"], "flag needs an argument: 'n' in -n"),
            (&["--configmapname"], "flag needs an argument: --configmapname"),
        ] {
            assert_eq!(options(args).unwrap_err().to_string(), text, "{args:?}");
        }
    }

    #[test]
    fn the_flags_of_registries_are_known_in_every_form() {
        for arg in ["--skip-tls", "--skip-tls-verify=true", "--use-http"] {
            assert!(is_global(arg.as_ref()), "{arg}");
        }
        for arg in ["alpha", "--skip", "--debug", "-z", "use-http"] {
            assert!(!is_global(arg.as_ref()), "{arg}");
        }
    }
}
