//! The flags of `opm alpha bundle extract` (operator-registry `cmd/opm/alpha/bundle/extract.go`).

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;

use crate::name;

/// What to extract, and where to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// `-m`: the folder with `manifests/` and `metadata/`.
    pub(super) root: PathBuf,
    /// `-n`.
    pub(super) namespace: String,
    /// `-c`.
    pub(super) config_map: String,
    /// `-l`: most bytes of all values.
    pub(super) limit: u64,
    /// `-z`.
    pub(super) is_compressed: bool,
    /// `-k`; without it the pod's service account.
    pub(super) kubeconfig: Option<PathBuf>,
}

/// What is wrong with the flags.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    Syntax(#[from] lexopt::Error),
    #[error("unknown command {0:?} for \"opm alpha bundle extract\"")]
    Argument(String),
    #[error("invalid argument {value:?} for \"--{flag}\" flag: {expected}")]
    Value { flag: &'static str, value: String, expected: &'static str },
}

/// The options; none if help is asked for.
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
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(None),
            Short('m') | Long("manifestsdir") => options.root = parser.value()?.into(),
            Short('n') | Long("namespace") => options.namespace = parser.value()?.string()?,
            Short('c') | Long("configmapname") => options.config_map = parser.value()?.string()?,
            Short('l') | Long("datalimit") => {
                let value = parser.value()?.string()?;
                let expected = "it is no number of bytes";
                options.limit = value.parse().map_err(|_| Error::Value {
                    flag: "datalimit",
                    value,
                    expected,
                })?;
            }
            Short('z') | Long("gzip") => options.is_compressed = switch(&mut parser, "gzip")?,
            Short('k') | Long("kubeconfig") => {
                options.kubeconfig = Some(PathBuf::from(parser.value()?))
                    .filter(|path| !path.as_os_str().is_empty());
            }
            // They change nothing here, as with upstream.
            Long("debug") => _ = switch(&mut parser, "debug")?,
            Long("skip-tls" | "skip-tls-verify" | "use-http") => _ = switch(&mut parser, "TLS")?,
            Value(value) => return Err(Error::Argument(value.to_string_lossy().into_owned())),
            other => return Err(other.unexpected().into()),
        }
    }
    check(&options)?;
    Ok(Some(options))
}

/// A switch, which may be given as `--gzip=false` too.
fn switch(parser: &mut lexopt::Parser, flag: &'static str) -> Result<bool, Error> {
    let Some(value) = parser.optional_value() else { return Ok(true) };
    match value.to_str() {
        Some("true" | "1" | "t" | "T" | "TRUE" | "True") => Ok(true),
        Some("false" | "0" | "f" | "F" | "FALSE" | "False") => Ok(false),
        _ => {
            let value = value.to_string_lossy().into_owned();
            Err(Error::Value { flag, value, expected: "it is neither true nor false" })
        }
    }
}

fn check(options: &Options) -> Result<(), Error> {
    if !name::is_subdomain(&options.config_map) {
        return Err(Error::Value {
            flag: "configmapname",
            value: options.config_map.clone(),
            expected: "a name is at most 253 of a-z, 0-9, - and .",
        });
    }
    if !name::is_label(&options.namespace) {
        return Err(Error::Value {
            flag: "namespace",
            value: options.namespace.clone(),
            expected: "a namespace is at most 63 of a-z, 0-9 and -",
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
        let defaults = options(&["-c", "a"]).unwrap().unwrap();
        assert_eq!(defaults.root, PathBuf::from("/"));
        assert_eq!(defaults.namespace, "openshift-operator-lifecycle-manager");
        assert!(!defaults.is_compressed);
    }

    #[test]
    fn wrong_flags_are_refused_with_their_value() {
        for (args, text) in [
            (&["-l", "1Mi", "-c", "a"][..], "\"1Mi\""),
            (&["-z=perhaps", "-c", "a"], "\"perhaps\""),
            (&["foo"], "unknown command \"foo\""),
            (&["-c", "a/b"], "\"a/b\""),
            (&[], "configmapname"),
            (&["-c", "a", "-n", "a.b"], "\"a.b\""),
        ] {
            let error = options(args).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
