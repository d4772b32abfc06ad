//! Classification of the unpacker's verdicts.

use unlade_config_map::protocol::outcome::{self, Outcome, Verdict};

use super::{Failure, Reason};

/// Classifies a failure of the unpacker by its termination message.
pub(super) fn from_message(message: &str) -> Option<Failure> {
    outcome::decisive(&outcome::parse(message)).and_then(from_outcome)
}

/// Classifies a failure of the unpacker by its exit code alone. `subject` names what exited.
pub(super) fn from_exit_code(code: i32, subject: &str) -> Option<Failure> {
    let reason = reason(u8::try_from(code).ok()?)?;
    Some(Failure::new(reason, format!("{subject} failed with exit code {code} ({})", name(reason))))
}

fn from_outcome(outcome: &Outcome) -> Option<Failure> {
    let reason = match outcome.verdict {
        Verdict::Temporary if outcome.is_conflict => Reason::Conflict,
        verdict => reason(verdict.exit_code())?,
    };
    Some(match outcome.message.as_str() {
        "" => Failure::new(reason, format!("the unpacker failed with {}", name(reason))),
        message => Failure::new(reason, message),
    })
}

/// Returns the reason with the exit code of a verdict.
fn reason(code: u8) -> Option<Reason> {
    let is_verdict = Verdict::ALL.into_iter().any(|verdict| verdict.exit_code() == code);
    Reason::from_exit_code(code).filter(|_| is_verdict)
}

/// Returns the name of the reason in JSON.
fn name(reason: Reason) -> String {
    // A unit variant always serializes as a string.
    let name = serde_json::to_value(reason).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}
