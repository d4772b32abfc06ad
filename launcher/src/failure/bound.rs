//! How long the texts of a failure may be: it is written into an annotation, and shown.

use super::Failure;

/// How many lines of a log a failure keeps.
pub const LOG_LINES: usize = 10;

/// Most bytes of a text.
const TEXT: usize = 1024;

/// Most bytes of a failure as JSON.
pub(super) const FAILURE: usize = 4096;

impl Failure {
    /// The same with every text cut to 1 KiB, or to less if it takes that to be at most 4 KiB as
    /// JSON. Lines of the log are cut to a quarter of that, and are at most [`LOG_LINES`].
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let surplus = self.evidence.log.len().saturating_sub(LOG_LINES);
        self.evidence.log.drain(..surplus);
        for longest in [TEXT, 512, 256, 128, 32] {
            self.cut(longest);
            // Strings, numbers and lists always serialize.
            if serde_json::to_string(&self).is_ok_and(|json| json.len() <= FAILURE) {
                return self;
            }
        }
        // Control characters take six bytes each as JSON; of 32 bytes they do no harm.
        self.evidence.log.clear();
        self
    }

    fn cut(&mut self, longest: usize) {
        cut(&mut self.message, longest);
        let evidence = &mut self.evidence;
        let texts = [&mut evidence.object, &mut evidence.said, &mut evidence.container];
        let texts = texts.into_iter().chain([&mut evidence.state, &mut self.hint]);
        texts.flatten().for_each(|text| cut(text, longest));
        evidence.log.iter_mut().for_each(|line| cut(line, longest / 4));
    }
}

/// `text`, with its end replaced by an ellipsis if it has more than `longest` bytes.
pub(super) fn cut(text: &mut String, longest: usize) {
    const ELLIPSIS: char = '…';
    if text.len() > longest {
        let kept = longest.saturating_sub(ELLIPSIS.len_utf8());
        text.truncate(text.floor_char_boundary(kept));
        text.push(ELLIPSIS);
    }
}

/// A text of others, as a sentence quotes it: one line, at most 300 bytes.
pub(super) fn quoted(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&mut line, 300);
    format!("\"{line}\"")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Evidence, Reason};

    #[test]
    fn text_is_cut_between_characters() {
        let mut text = "ééééé".to_owned();
        cut(&mut text, 8);
        assert_eq!(text, "éé…");
        cut(&mut text, 8);
        assert_eq!(text, "éé…");
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
        let failure = Failure::new(Reason::Killed, "a".repeat(TEXT)).with_log(["line"].into_iter());
        assert_eq!(failure.clone().bounded(), failure);
        assert_eq!(failure.message.len(), TEXT);
    }

    proptest! {
        #[test]
        fn failure_is_at_most_4_kib_of_json_whatever_others_said(
            text in "(\u{1}|é|x|\n){0,3000}",
            n_lines in 0usize..40,
        ) {
            let said = Some(text.clone());
            let mut failure = Failure::new(Reason::Killed, &text).seen(Evidence {
                object: said.clone(),
                said: said.clone(),
                container: said.clone(),
                state: said.clone(),
                ..Evidence::default()
            });
            failure.hint = said;
            let failure = failure.with_log(std::iter::repeat_n(text.as_str(), n_lines));
            prop_assert!(serde_json::to_string(&failure).unwrap().len() <= FAILURE);
        }
    }
}
