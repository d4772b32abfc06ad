//! The flags of `opm alpha bundle extract` (operator-registry `cmd/opm/alpha/bundle/extract.go`).
//! All of upstream's are accepted; OLM passes `-m`, `-n`, `-c` and `-z`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use lexopt::prelude::*;
use unlade_name::{MAX_LABEL, check_label, check_subdomain};

/// The flags that every command of upstream accepts. They configure registries, which this program
/// never contacts.
const GLOBAL: [&str; 3] = ["--skip-tls", "--skip-tls-verify", "--use-http"];

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

/// Checks whether `arg` is a flag that every command of upstream accepts.
pub(super) fn is_global(arg: &OsStr) -> bool {
    let text = arg.to_str().unwrap_or_default();
    GLOBAL.contains(&text.split_once('=').map_or(text, |(flag, _)| flag))
}

/// Parses the flags. Returns `None` if they request help.
pub(super) fn parse(args: &[OsString]) -> Result<Option<Options>, lexopt::Error> {
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
            // lexopt allows no value after a switch of one letter, but upstream allows `-z=false`.
            Err(lexopt::Error::UnexpectedValue { option, value }) if option == "-z" => {
                options.is_compressed = value.parse_with(boolean)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        match arg {
            Short('h') | Long("help") => return Ok(None),
            Short('m') | Long("manifestsdir") => options.root = parser.value()?.into(),
            Short('n') | Long("namespace") => {
                let namespace = |text: &str| check_label(text, MAX_LABEL).map(|()| text.to_owned());
                options.namespace = parser.value()?.parse_with(namespace)?;
            }
            Short('c') | Long("configmapname") => {
                let name = |text: &str| check_subdomain(text).map(|()| text.to_owned());
                options.config_map = parser.value()?.parse_with(name)?;
            }
            Short('l') | Long("datalimit") => options.limit = parser.value()?.parse()?,
            Short('z') => options.is_compressed = true,
            Long("gzip") => options.is_compressed = switch(&mut parser)?,
            Short('k') | Long("kubeconfig") => {
                options.kubeconfig = Some(PathBuf::from(parser.value()?))
                    .filter(|path| !path.as_os_str().is_empty());
            }
            // These change nothing here.
            Long("debug" | "skip-tls" | "skip-tls-verify" | "use-http") => {
                switch(&mut parser)?;
            }
            other => return Err(other.unexpected()),
        }
    }
    if options.config_map.is_empty() {
        return Err("-c, --configmapname is required".into());
    }
    Ok(Some(options))
}

/// Parses a switch, which may have a value as in `--gzip=false`.
fn switch(parser: &mut lexopt::Parser) -> Result<bool, lexopt::Error> {
    parser.optional_value().map_or(Ok(true), |value| value.parse_with(boolean))
}

/// Parses a boolean as Go does.
fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "true" | "1" | "t" | "T" | "TRUE" | "True" => Ok(true),
        "false" | "0" | "f" | "F" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Result<Option<Options>, lexopt::Error> {
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
            (&["foo"][..], "unexpected argument \"foo\""),
            (&["-c", "a/b"], "\"a/b\": it must consist of"),
            (&[], "--configmapname is required"),
            (&["-c", "a", "-n", "a.b"], "\"a.b\": it must consist of"),
            (&["-l", "1Mi"], "\"1Mi\": invalid digit"),
            (&["-z=perhaps"], "\"perhaps\": expected true or false"),
            (&["--debug=2"], "\"2\": expected true or false"),
            (&["--no-such"], "invalid option '--no-such'"),
            (&["-zx"], "invalid option '-x'"),
            (&["-n"], "missing argument for option '-n'"),
            (&["--configmapname"], "missing argument for option '--configmapname'"),
        ] {
            let error = options(args).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
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
