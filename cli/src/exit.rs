//! How the command ends.

use std::process::ExitCode;

/// The exit codes, a promise to scripts: shown by `--help` and in docs/reference/command.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done, or the reader of our output had enough (a broken pipe).
    Success = 0,
    /// Something outside of the bundle failed, such as reading a file.
    Failure = 1,
    /// The arguments make no sense; clap's code too.
    Usage = 2,
    /// What was read is no bundle, no ConfigMap, or a broken one.
    BadBundle = 3,
    /// Larger than a limit: the ConfigMap's, or one of the `--max-...`.
    TooLarge = 4,
    /// `--strict`, and something was reported.
    Reported = 5,
}

/// The exit codes for people, as the help shows them.
pub(crate) const TABLE: &str = "  0  done, or the reader of a pipe had enough
  1  something outside of the bundle failed, such as reading a file
  2  the arguments make no sense
  3  what was read is no bundle, no ConfigMap, or a broken one
  4  too large: for a ConfigMap, or for one of the limits
  5  --strict, and something was reported";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
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
        assert_eq!(TABLE.lines().count(), codes.len());
        for (line, code) in TABLE.lines().zip(codes) {
            assert!(line.trim_start().starts_with(&format!("{} ", code as u8)), "{line}");
        }
    }

    #[test]
    fn the_reference_has_the_same_table() {
        let reference = include_str!("../../docs/reference/command.md");
        for line in TABLE.lines() {
            let (code, meaning) = line.trim_start().split_once("  ").unwrap();
            let row = format!("| {code} | {} |", meaning.replace("--strict", "`--strict`"));
            assert!(reference.contains(&row), "{row}");
        }
    }
}
