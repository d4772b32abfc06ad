//! Verdicts of the unpacker.

use unlade_config_map::outcome::{self, Outcome, Verdict};

use super::{Failure, Reason};

/// How the unpacker names a conflict: it has no verdict of its own, for another try helps as with
/// any [`Verdict::Temporary`].
const CONFLICT: &str = "was changed by others each time";

/// Why the unpacker failed, from its termination message.
pub(super) fn of_message(message: &str) -> Option<Failure> {
    outcome::decisive(&outcome::parse(message)).and_then(of_outcome)
}

/// Why the unpacker failed, from its exit code alone. `whose` says what ended.
pub(super) fn of_exit_code(code: i32, whose: &str) -> Option<Failure> {
    let reason = reason(u8::try_from(code).ok()?)?;
    Some(Failure::new(reason, format!("{whose} ended with exit code {code} ({})", name(reason))))
}

fn of_outcome(outcome: &Outcome) -> Option<Failure> {
    let reason = match outcome.verdict {
        Verdict::Temporary if outcome.message.contains(CONFLICT) => Reason::Conflict,
        verdict => reason(verdict.exit_code())?,
    };
    Some(match outcome.message.as_str() {
        "" => Failure::new(reason, format!("the unpacker ended with {}", name(reason))),
        message => Failure::new(reason, message),
    })
}

/// The reason of a verdict's exit code.
fn reason(code: u8) -> Option<Reason> {
    let is_verdict = Verdict::ALL.into_iter().any(|verdict| verdict.exit_code() == code);
    Reason::of_exit_code(code).filter(|_| is_verdict)
}

/// The reason as JSON names it.
fn name(reason: Reason) -> String {
    // An enum of units always serializes, as a string.
    let name = serde_json::to_value(reason).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}
