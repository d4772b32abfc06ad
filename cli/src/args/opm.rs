//! The arguments of `opm`, for a link of this name to `unlade`.
//!
//! Scripts call `opm`, and our catalog commands have its options. Only the names of the commands
//! and two options differ.

use std::ffi::OsString;
use std::path::Path;

/// The commands of `opm` 1.73, and ours.
const COMMANDS: [(&[&str], &[&str]); 10] = [
    (&["alpha", "convert-template"], &["catalog", "template", "convert"]),
    (&["alpha", "list"], &["catalog", "list"]),
    (&["alpha", "render-graph"], &["catalog", "graph"]),
    (&["alpha", "render-template"], &["catalog", "template", "render"]),
    (&["generate", "dockerfile"], &["catalog", "generate", "dockerfile"]),
    (&["init"], &["catalog", "init"]),
    (&["migrate"], &["catalog", "migrate"]),
    (&["render"], &["catalog", "render"]),
    (&["validate"], &["catalog", "validate"]),
    (&["version"], &["--version"]),
];

/// The commands that contact no registry, so that ours do not have the options for registries.
const LOCAL: [&[&str]; 3] =
    [&["alpha", "convert-template"], &["generate", "dockerfile"], &["init"]];

/// The options of `opm` for registries, and ours. In `opm`, every command has them.
const OPTIONS: [(&str, &str); 2] =
    [("--skip-tls-verify", "--tls-verify=false"), ("--use-http", "--plain-http")];

/// Translates the arguments of a process that was started as `opm`. Other arguments stay as they
/// are. The first one is the name of the program.
pub(crate) fn translate(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    let name = arguments.first().and_then(|name| Path::new(name).file_name());
    if name.is_none_or(|name| name != "opm") {
        return arguments;
    }
    let program = arguments.drain(..1).collect::<Vec<_>>();
    let mut options = Vec::new();
    arguments.retain(|argument| {
        let found = OPTIONS.iter().find(|(theirs, _)| argument == theirs);
        options.extend(found.map(|(_, ours)| OsString::from(ours)));
        found.is_none()
    });
    let called = |(theirs, _): &&(&[&str], &[&str])| {
        theirs.len() <= arguments.len() && theirs.iter().zip(&arguments).all(|(a, b)| a == b)
    };
    let Some((theirs, ours)) = COMMANDS.iter().find(called) else {
        return [program, options, arguments].concat();
    };
    if LOCAL.contains(theirs) {
        options.clear();
    }
    let ours = ours.iter().map(OsString::from).collect();
    let rest = arguments.split_off(theirs.len());
    [program, ours, options, rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(arguments: &str) -> String {
        let arguments = translate(arguments.split(' ').map(OsString::from));
        let texts: Vec<_> = arguments.iter().map(|it| it.to_str().unwrap()).collect();
        texts.join(" ")
    }

    #[test]
    fn commands_of_opm_are_those_of_catalogs() {
        for (theirs, ours) in [
            ("opm validate a", "opm catalog validate a"),
            ("/bin/opm render a -o yaml", "/bin/opm catalog render a -o yaml"),
            ("opm alpha list bundles a", "opm catalog list bundles a"),
            ("opm alpha render-template a", "opm catalog template render a"),
            ("opm --use-http render a", "opm catalog render --plain-http a"),
            ("opm render a --skip-tls-verify", "opm catalog render --tls-verify=false a"),
            ("opm init a --use-http", "opm catalog init a"),
            ("opm --skip-tls-verify generate dockerfile a", "opm catalog generate dockerfile a"),
            ("opm version", "opm --version"),
            ("opm serve a", "opm serve a"),
            ("opm", "opm"),
            ("unlade validate a", "unlade validate a"),
        ] {
            assert_eq!(translated(theirs), ours);
        }
    }
}
