//! The outcome of the unpacker for each bundle: its exit codes, and the list of outcomes. The list
//! is the last line of its log and its termination message, from which the launcher reads it.
//!
//! The exit codes are documented in `docs/reference/exit-codes.md`. Their meaning never changes,
//! because a Job's `podFailurePolicy` matches on them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The maximum size of a termination message, in bytes. The kubelet truncates longer ones.
pub const MESSAGE_SIZE: usize = 4096;

/// Defines [`Verdict`] from one list, so that no verdict can be missing from [`Verdict::ALL`] or
/// have no exit code.
macro_rules! verdicts {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)+) => {
        /// The kind of outcome of one bundle.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub enum Verdict {
            $($(#[$doc])* $name,)+
        }

        impl Verdict {
            /// All verdicts, in the order of their exit codes.
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$name),+];

            /// Returns the exit code: 0, or 10 to 89, which neither shells nor signals nor panics
            /// use.
            pub fn exit_code(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }
        }
    };
}

verdicts! {
    /// The ConfigMap was written.
    Written = 0,
    /// The ConfigMap already had the same content, so nothing was written.
    Unchanged = 0,
    /// The ConfigMap was printed (`--dry-run`).
    Printed = 0,
    /// The command line is wrong.
    Usage = 10,
    /// The bundle is invalid: a file, a link or an annotation is not legal.
    BadBundle = 11,
    /// The current user has no permission to read a file of the bundle.
    Unreadable = 12,
    /// The bundle exceeds a limit of unlade or of the API server.
    TooLarge = 13,
    /// The configuration of the API client is missing or invalid: the service account or the
    /// kubeconfig.
    Configuration = 20,
    /// The API server still denies access (401, 403) after the time in which a new Role takes
    /// effect.
    NoPermission = 21,
    /// The ConfigMap or its namespace does not exist.
    NoConfigMap = 22,
    /// The API server rejects the object, or the ConfigMap is immutable.
    Refused = 23,
    /// The certificate of the API server is not valid for its address, or is not signed by the
    /// certificate authority of the cluster.
    Untrusted = 24,
    /// Connection failures, 429, 5xx or conflicts until the deadline. A retry may succeed.
    Temporary = 30,
    /// The local system failed: a file could not be read or written.
    System = 31,
    /// A signal ended the unpacker before it finished the bundle.
    Interrupted = 32,
    /// A bug in the unpacker.
    Internal = 70,
}

impl Verdict {
    /// Checks whether the bundle was unpacked as requested.
    pub fn is_success(self) -> bool {
        self.exit_code() == 0
    }
}

/// The outcome of one bundle, for programs. Fields are added, but never removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the ConfigMap. Empty if the run ended before the first one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub config_map: String,
    /// The kind of outcome.
    pub verdict: Verdict,
    /// The reason, for people. Empty for a success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The number of files in the ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// The [digest](unlade_bundle::digest) of the content of the ConfigMap, which is also in
    /// [`DIGEST`](crate::mark::DIGEST). Present only for a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The number of findings that the reader logged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub findings: usize,
    /// Whether a [`Verdict::Temporary`] is a conflict: another client changed the ConfigMap between
    /// each read and write. A conflict has no verdict of its own, because another attempt helps as
    /// with any temporary failure.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_conflict: bool,
}

impl Outcome {
    /// Creates an outcome without details.
    pub fn new(config_map: impl Into<String>, verdict: Verdict) -> Self {
        let config_map = config_map.into();
        Self {
            config_map,
            verdict,
            message: String::new(),
            files: None,
            digest: None,
            findings: 0,
            is_conflict: false,
        }
    }

    /// Creates an outcome with a message that explains it.
    pub fn failed(
        config_map: impl Into<String>,
        verdict: Verdict,
        message: impl fmt::Display,
    ) -> Self {
        Self { message: message.to_string(), ..Self::new(config_map, verdict) }
    }
}

/// Returns the exit code of a run.
///
/// It is 0 if all bundles succeeded. Otherwise, it is the exit code of the first bundle that was
/// [`Verdict::Interrupted`] or failed for a [`Verdict::Temporary`] reason, because a retry may
/// succeed for this bundle and does not change the others. If no such bundle exists, it is the exit
/// code of the first failed bundle, in the order of the command line.
pub fn exit_code(outcomes: &[Outcome]) -> u8 {
    decisive(outcomes).map_or(0, |outcome| outcome.verdict.exit_code())
}

/// Returns the failure that determines [`exit_code`], or `None` if all bundles succeeded.
pub fn decisive(outcomes: &[Outcome]) -> Option<&Outcome> {
    let mut failures = outcomes.iter().filter(|outcome| !outcome.verdict.is_success());
    let is_retryable =
        |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Temporary | Verdict::Interrupted);
    failures.clone().find(is_retryable).or_else(|| failures.next())
}

/// Encodes the outcomes as one line of JSON of at most [`MESSAGE_SIZE`] bytes.
///
/// If they do not fit, messages are shortened. If that is not enough, successes and then failures
/// are left out, and a last entry has their number: `{"omitted": 3}`.
pub fn message(outcomes: &[Outcome]) -> String {
    const LONGEST: [usize; 6] = [usize::MAX, 1024, 256, 64, 16, 0];
    let shortest = LONGEST.iter().map(|&longest| {
        let outcomes = outcomes.iter().map(|outcome| shorten(outcome, longest));
        to_json(&outcomes.collect::<Vec<_>>(), 0)
    });
    if let Some(line) = shortest.into_iter().find(|line| line.len() <= MESSAGE_SIZE) {
        return line;
    }
    let mut kept: Vec<_> = outcomes.iter().map(|outcome| shorten(outcome, 0)).collect();
    kept.sort_by_key(|outcome| outcome.verdict.is_success());
    loop {
        let line = to_json(&kept, outcomes.len() - kept.len());
        if line.len() <= MESSAGE_SIZE || kept.pop().is_none() {
            return line;
        }
    }
}

/// Parses the outcomes in a termination message or in the end of a log. They are in the last line
/// that is a list of outcomes.
///
/// Entries with unknown verdicts, and unknown fields, come from a later version and are left out.
/// Returns an empty list if the text contains no list, if the kubelet kept only the end of it, or
/// if the text is longer than four times [`MESSAGE_SIZE`].
pub fn parse(message: &str) -> Vec<Outcome> {
    if message.len() > 4 * MESSAGE_SIZE {
        return Vec::new();
    }
    let lines = message.lines().rev().map(str::trim).filter(|line| line.starts_with('['));
    let lists = lines.filter_map(|line| serde_json::from_str::<Vec<serde_json::Value>>(line).ok());
    lists
        .map(|list| list.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()))
        .map(Iterator::collect)
        .find(|outcomes: &Vec<_>| !outcomes.is_empty())
        .unwrap_or_default()
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Outcome(&'a Outcome),
    Omitted { omitted: usize },
}

fn to_json(outcomes: &[Outcome], omitted: usize) -> String {
    let rest = (omitted > 0).then_some(Entry::Omitted { omitted });
    let entries: Vec<_> = outcomes.iter().map(Entry::Outcome).chain(rest).collect();
    // Strings and numbers always serialize.
    serde_json::to_string(&entries).unwrap_or_default()
}

fn shorten(outcome: &Outcome, longest: usize) -> Outcome {
    let mut outcome = outcome.clone();
    if outcome.message.len() > longest {
        outcome.message.truncate(outcome.message.floor_char_boundary(longest));
        if longest > 0 {
            outcome.message.push('…');
        }
    }
    outcome
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_failure_has_its_own_code_between_10_and_89() {
        let failures = Verdict::ALL.into_iter().filter(|verdict| !verdict.is_success());
        let codes: Vec<_> = failures.map(Verdict::exit_code).collect();
        assert!(codes.iter().all(|code| (10..=89).contains(code)));
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
        assert!(codes.is_sorted());
    }

    #[test]
    fn every_verdict_is_documented_with_its_code() {
        let page = include_str!("../../../../docs/reference/exit-codes.md");
        for verdict in Verdict::ALL {
            let name = serde_json::to_value(verdict).unwrap();
            let row = format!("| {} | `{}` |", verdict.exit_code(), name.as_str().unwrap());
            assert!(page.contains(&row), "no row {row}");
        }
    }

    #[test]
    fn the_first_retryable_failure_else_the_first_failure_decides_the_exit_code() {
        let outcomes = |verdicts: &[Verdict]| {
            verdicts.iter().map(|&verdict| Outcome::new("a", verdict)).collect::<Vec<_>>()
        };
        let cases: [(&[Verdict], u8); 7] = [
            (&[], 0),
            (&[Verdict::Written, Verdict::Unchanged], 0),
            (&[Verdict::Written, Verdict::TooLarge, Verdict::BadBundle], 13),
            (&[Verdict::BadBundle, Verdict::TooLarge], 11),
            (&[Verdict::BadBundle, Verdict::Temporary], 30),
            (&[Verdict::BadBundle, Verdict::Interrupted, Verdict::Interrupted], 32),
            (&[Verdict::Temporary, Verdict::Interrupted], 30),
        ];
        for (verdicts, expected) in cases {
            assert_eq!(exit_code(&outcomes(verdicts)), expected, "{verdicts:?}");
        }
    }

    #[test]
    fn message_is_short_and_valid_whatever_the_outcomes_are() {
        let long = "\u{1}é".repeat(3_000);
        for n in [0, 1, 2, 10, 50, 300] {
            for text in ["", "short", long.as_str()] {
                let outcomes: Vec<_> = (0..n)
                    .map(|i| match i % 3 {
                        0 => Outcome::new(format!("bundle-{i}"), Verdict::Written),
                        _ => Outcome::failed(format!("bundle-{i}"), Verdict::BadBundle, text),
                    })
                    .collect();
                let line = message(&outcomes);
                assert!(line.len() <= MESSAGE_SIZE, "{} bytes", line.len());
                assert!(!line.contains('\n'));
                let entries: Vec<serde_json::Value> = serde_json::from_str(&line).unwrap();
                let omitted = entries.last().and_then(|last| last["omitted"].as_u64()).unwrap_or(0);
                let listed = entries.iter().filter(|entry| entry.get("verdict").is_some()).count();
                assert_eq!(listed as u64 + omitted, n);
            }
        }
    }

    #[test]
    fn failures_outlive_successes_in_a_message_that_is_too_long() {
        let mut outcomes = vec![Outcome::new("x".repeat(253), Verdict::Written); 40];
        outcomes.push(Outcome::failed("broken", Verdict::BadBundle, "link"));
        assert!(message(&outcomes).contains(r#""configMap":"broken""#));
    }

    #[test]
    fn outcome_reads_back() {
        let mut outcome = Outcome::failed("a", Verdict::Refused, "no");
        outcome.files = Some(3);
        outcome.is_conflict = true;
        outcome.digest = Some(format!("sha256:{}", "0".repeat(64)));
        assert_eq!(parse(&message(std::slice::from_ref(&outcome))), [outcome]);
    }

    #[test]
    fn outcomes_of_a_later_version_are_read_as_far_as_they_are_known() {
        let line = r#"[{"configMap":"a","verdict":"exhausted"},{"omitted":2},
            {"configMap":"b","verdict":"badBundle","message":"link","severity":{"level":3}}]"#;
        let outcomes = parse(&line.replace('\n', ""));
        assert_eq!(outcomes, [Outcome::failed("b", Verdict::BadBundle, "link")]);
    }

    #[test]
    fn outcomes_are_found_at_the_end_of_a_log() {
        let log = "level=info [1] starting\n[\"no list of ours\"]\n[{\"configMap\":\"a\",\"verdict\":\"written\"}]\n[exit\n";
        assert_eq!(parse(log), [Outcome::new("a", Verdict::Written)]);
    }

    #[test]
    fn a_text_without_a_list_of_outcomes_has_none() {
        let cut = &message(&[Outcome::new("a", Verdict::Written)])[1..];
        for text in ["", "[", "[]", "{}", "exec format error", "[1,null]", cut, &"[".repeat(9_000)]
        {
            assert_eq!(parse(text), [], "{text}");
        }
        let long =
            format!("{}{}", " ".repeat(20_000), message(&[Outcome::new("a", Verdict::Written)]));
        assert_eq!(parse(&long), []);
    }
}
