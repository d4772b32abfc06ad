//! Rules: phrases by which the words of runtimes, registries and the API server are known.

use super::{Failure, Reason, Remedy};

/// What a phrase stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Lowercase; one of them is enough.
    pub(super) phrases: &'static [&'static str],
    pub(super) reason: Reason,
    /// Whether it may pass by itself, where it isn't as with the reason in general.
    pub(super) is_transient: Option<bool>,
    /// What to do, where that is more than with the reason in general.
    pub(super) hint: Option<&'static str>,
    /// What to change, if that differs from the remedies of the reason.
    pub(super) remedies: &'static [Remedy],
}

impl Rule {
    /// These phrases stand for `reason`.
    pub(super) const fn new(reason: Reason, phrases: &'static [&'static str]) -> Self {
        Self { phrases, reason, is_transient: None, hint: None, remedies: &[] }
    }

    /// It doesn't pass by itself.
    pub(super) const fn lasting(self) -> Self {
        Self { is_transient: Some(false), ..self }
    }

    /// It may pass by itself.
    pub(super) const fn passing(self) -> Self {
        Self { is_transient: Some(true), ..self }
    }

    pub(super) const fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(super) const fn remedies(self, remedies: &'static [Remedy]) -> Self {
        Self { remedies, ..self }
    }

    /// The failure with the hint and the remedies of this rule, if it has any.
    pub(super) fn advise(&self, failure: Failure) -> Failure {
        let failure = failure.hinted(self.hint);
        match self.remedies {
            [] => failure,
            remedies => failure.with_remedies(remedies),
        }
    }

    /// Whether `text`, which is lowercase, has one of the phrases.
    fn applies(&self, text: &str) -> bool {
        self.phrases.iter().any(|phrase| text.contains(phrase))
    }
}

/// The first rule that applies to `text`, in any case of letters.
pub(super) fn first<'a>(rules: &'a [Rule], text: &str) -> Option<&'a Rule> {
    let text = text.to_lowercase();
    rules.iter().find(|rule| rule.applies(&text))
}
