//! How the command ends.

use std::process::ExitCode;

use unlade_launcher::Reason;

/// The exit codes, a promise to scripts: shown by `--help` and in docs/reference/command.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or the reader of our output had enough (a broken pipe).
    Success,
    /// Something outside of the bundle failed, such as reading a file.
    Failure,
    /// The arguments make no sense; clap's code too.
    Usage,
    /// What was read is no bundle, no ConfigMap, or a broken one.
    BadBundle,
    /// Larger than a limit: the ConfigMap's, or one of the `--max-...`.
    TooLarge,
    /// `--strict`, and something was reported.
    Reported,
    /// Something on a cluster failed; each reason has a code of its own.
    Cluster(Reason),
}

impl Exit {
    /// Its number.
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

/// The exit codes for people, as the help shows them.
pub(crate) const TABLE: &str = "  0  done, or the reader of a pipe had enough
  1  something outside of the bundle failed, such as reading a file
  2  the arguments make no sense
  3  what was read is no bundle, no ConfigMap, or a broken one
  4  too large: for a ConfigMap, or for one of the limits
  5  --strict, and something was reported
  10 to 89  something on the cluster failed, a code for each reason: docs/reference/exit-codes.md";

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
        assert_eq!(TABLE.lines().count(), codes.len() + 1);
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
            let row = row.replace("docs/reference/exit-codes.md", "[exit-codes.md](exit-codes.md)");
            assert!(reference.contains(&row), "{row}");
        }
    }
}
