//! [`Rule`]: phrases that identify messages of container runtimes, registries and the API server.

use super::{Failure, Reason, Remedy};

/// The meaning of some phrases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Lowercase phrases, one of which has to occur in the message.
    pub(super) phrases: &'static [&'static str],
    pub(super) reason: Reason,
    /// The transience, if it differs from the default of the reason.
    pub(super) is_transient: Option<bool>,
    /// The hint, if it differs from the default of the reason.
    pub(super) hint: Option<&'static str>,
    /// The remedies, if they differ from the default of the reason.
    pub(super) remedies: &'static [Remedy],
}

impl Rule {
    /// Returns a rule that maps these phrases to `reason`.
    pub(super) const fn new(reason: Reason, phrases: &'static [&'static str]) -> Self {
        Self { phrases, reason, is_transient: None, hint: None, remedies: &[] }
    }

    /// Returns the rule for failures that waiting does not help.
    pub(super) const fn permanent(self) -> Self {
        Self { is_transient: Some(false), ..self }
    }

    /// Returns the rule for failures that may be temporary.
    pub(super) const fn transient(self) -> Self {
        Self { is_transient: Some(true), ..self }
    }

    pub(super) const fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(super) const fn remedies(self, remedies: &'static [Remedy]) -> Self {
        Self { remedies, ..self }
    }

    /// Returns the failure with the transience and the advice of this rule. A hint replaces all
    /// advice of the reason, and remedies alone keep the hint of the reason.
    pub(super) fn apply(&self, failure: Failure) -> Failure {
        let is_transient = self.is_transient.unwrap_or(failure.is_transient);
        let failure = failure.with_transience(is_transient);
        match (self.hint, self.remedies) {
            (Some(hint), remedies) => failure.with_advice(hint, remedies),
            (None, []) => failure,
            (None, remedies) => Failure { remedies: remedies.to_vec(), ..failure },
        }
    }

    /// Checks whether the lowercase `text` contains one of the phrases.
    fn matches(&self, text: &str) -> bool {
        self.phrases.iter().any(|phrase| text.contains(phrase))
    }
}

/// Returns the first rule that matches `text`, ignoring case.
pub(super) fn find_first<'a>(rules: &'a [Rule], text: &str) -> Option<&'a Rule> {
    let text = text.to_lowercase();
    rules.iter().find(|rule| rule.matches(&text))
}
