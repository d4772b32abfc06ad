//! The exit codes of the command.

use std::process::ExitCode;

use unlade_launcher::Reason;

/// The exit codes. Scripts rely on them; `--help` and docs/reference/command.md list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded, or the reader of its output closed the pipe.
    Success,
    /// Something other than the bundle failed, such as reading a file.
    Failure,
    /// The arguments are invalid; clap uses the same code.
    Usage,
    /// The input is not a bundle, a catalog or a ConfigMap, or it is invalid.
    BadBundle,
    /// The input is larger than a limit: that of a ConfigMap, or one of the `--max-...`.
    TooLarge,
    /// `--strict` was given, and either a finding reports a loss or the catalog has a warning.
    Reported,
    /// An operation on the cluster failed; each reason has a code of its own.
    Cluster(Reason),
}

impl Exit {
    /// Returns the number of the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::BadBundle => 3,
            Self::TooLarge => 4,
            Self::Reported => 5,
            Self::Cluster(reason) => reason.exit_code(),
        }
    }
}

/// The exit codes, as the help shows them.
pub(crate) const TABLE: &str = concat!(
    "  0  success, or the reader of the output closed the pipe
  1  something else failed, such as a check or reading a file; or the compared catalogs differ
  2  the arguments are invalid
  3  the input is not a bundle, a catalog or a ConfigMap, or it is invalid
  4  the input is larger than a ConfigMap or one of the limits allows
  5  --strict was given, and either a finding reports a loss or the catalog has a warning
  10 to 89  an operation on the cluster failed; each reason has a code: ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/reference/exit-codes.md
  130, 143  Ctrl-C or SIGTERM ended `unlade launch` at once"
);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_table_at_its_number() {
        let codes = [
            Exit::Success,
            Exit::Failure,
            Exit::Usage,
            Exit::BadBundle,
            Exit::TooLarge,
            Exit::Reported,
        ];
        assert_eq!(TABLE.lines().count(), codes.len() + 2);
        for (line, code) in TABLE.lines().zip(codes) {
            assert!(line.trim_start().starts_with(&format!("{} ", code.code())), "{line}");
        }
        let of_cluster = Reason::ALL.map(|reason| Exit::Cluster(reason).code());
        assert!(of_cluster.iter().all(|code| (10..90).contains(code)), "{of_cluster:?}");
    }

    #[test]
    fn the_reference_has_the_same_table() {
        let reference = include_str!("../../docs/reference/command.md");
        for line in TABLE.lines() {
            let (code, meaning) = line.trim_start().split_once("  ").unwrap();
            let row = format!("| {code} | {} |", meaning.replace("--strict", "`--strict`"));
            let row = row.replace(
                concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/reference/exit-codes.md"),
                "[exit-codes.md](exit-codes.md)",
            );
            assert!(reference.contains(&row), "{row}");
        }
    }
}
