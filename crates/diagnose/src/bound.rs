//! Limits on the size of the texts of a cluster that are read, and of a failure, which is written
//! into an annotation.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Failure, ObjectRef};

/// The maximum number of log lines in a failure.
pub const MAX_LOG_LINES: usize = 10;

/// How much of the beginning and of the end of a text of the cluster is read, in bytes.
const MAX_END: usize = 4096;

/// The maximum size of a text, in bytes.
const MAX_TEXT: usize = 1024;

const ELLIPSIS: char = '…';

/// The maximum size of a failure as JSON, in bytes.
pub(super) const MAX_FAILURE: usize = 4096;

impl Failure {
    /// Returns the failure with every text truncated to 1 KiB, or to less if that is necessary for
    /// a JSON of at most 4 KiB. At most [`MAX_LOG_LINES`] lines of the log are kept, each truncated
    /// to a quarter of that size. Repeated remedies are removed.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let surplus = self.evidence.log.len().saturating_sub(MAX_LOG_LINES);
        self.evidence.log.drain(..surplus);
        // A failure that was read from an annotation can repeat a remedy.
        let mut seen = HashSet::new();
        self.remedies.retain(|remedy| seen.insert(*remedy));
        for longest in [MAX_TEXT, 512, 256, 128, 32] {
            self.cut(longest);
            // Serialization cannot fail: there are only strings, numbers and lists.
            if serde_json::to_string(&self).is_ok_and(|json| json.len() <= MAX_FAILURE) {
                break;
            }
        }
        self
    }

    fn cut(&mut self, longest: usize) {
        cut(&mut self.message, longest);
        let evidence = &mut self.evidence;
        if let Some(ObjectRef(object)) = &mut evidence.object {
            cut(object, longest);
        }
        let texts = [&mut evidence.message, &mut evidence.container, &mut evidence.state];
        texts.into_iter().chain([&mut self.hint]).flatten().for_each(|text| cut(text, longest));
        evidence.log.iter_mut().for_each(|line| cut(line, longest / 4));
    }
}

/// Returns a text of the cluster, such as the message of an event, without its middle if it is
/// longer than 8 KiB. A user with permission to create events can write a megabyte into one. The
/// end is kept, because the decisive error comes last in CRI-O's messages.
pub fn without_middle(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * MAX_END {
        return Cow::Borrowed(text);
    }
    let (begin, rest) = text.split_at(text.floor_char_boundary(MAX_END));
    let (_, end) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(MAX_END)));
    Cow::Owned(format!("{begin}{ELLIPSIS}{end}"))
}

/// Truncates `text` to `longest` bytes. An ellipsis replaces the end.
pub(super) fn cut(text: &mut String, longest: usize) {
    if text.len() > longest {
        let kept = longest.saturating_sub(ELLIPSIS.len_utf8());
        text.truncate(text.floor_char_boundary(kept));
        text.push(ELLIPSIS);
    }
}

/// Quotes a text of another program for use in a sentence: one line, at most 300 bytes.
pub(super) fn quoted(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&mut line, 300);
    format!("\"{line}\"")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Evidence, Reason, Remedy};

    #[test]
    fn text_is_cut_between_characters() {
        let mut text = "ééééé".to_owned();
        cut(&mut text, 8);
        assert_eq!(text, "éé…");
        cut(&mut text, 8);
        assert_eq!(text, "éé…");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let long = format!("a{}z", "é".repeat(MAX_END));
        let kept = without_middle(&long);
        assert_eq!(kept.len(), 2 * MAX_END - 2 + ELLIPSIS.len_utf8());
        assert!(kept.starts_with("aé") && kept.contains("é…é") && kept.ends_with("éz"), "{kept}");
        let short = "é".repeat(MAX_END);
        assert_eq!(without_middle(&short), short);
    }

    #[test]
    fn log_keeps_its_last_lines() {
        let lines: Vec<_> = (0..30).map(|i| format!("line {i}")).collect();
        let failure = Failure::new(Reason::Killed, "x").with_log(lines.iter().map(String::as_str));
        assert_eq!(failure.evidence.log.first().unwrap(), "line 20");
        assert_eq!(failure.evidence.log.last().unwrap(), "line 29");
    }

    #[test]
    fn short_failure_stays_as_it_is() {
        let failure =
            Failure::new(Reason::Killed, "a".repeat(MAX_TEXT)).with_log(["line"].into_iter());
        assert_eq!(failure.clone().bounded(), failure);
        assert_eq!(failure.message.len(), MAX_TEXT);
    }

    proptest! {
        #[test]
        fn failure_is_at_most_4_kib_of_json_whatever_it_quotes(
            text in "(\u{1}|é|x|\n){0,3000}",
            n_lines in 0usize..40,
            n_remedies in 0usize..1_000,
        ) {
            let quoted = Some(text.clone());
            let mut failure = Failure::new(Reason::Killed, &text).with_evidence(Evidence {
                object: quoted.clone().map(ObjectRef),
                message: quoted.clone(),
                container: quoted.clone(),
                state: quoted.clone(),
                ..Evidence::default()
            });
            failure.hint = quoted;
            failure.remedies = [Remedy::PullSecret, Remedy::Check].repeat(n_remedies);
            let failure = failure.with_log(std::iter::repeat_n(text.as_str(), n_lines));
            prop_assert!(serde_json::to_string(&failure).unwrap().len() <= MAX_FAILURE);
        }
    }
}
