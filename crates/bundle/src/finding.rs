//! What a reader noticed and did not take, or took otherwise than written.

use std::fmt;

use serde::{Deserialize, Serialize};

use unlade_text::excerpt;

mod list;

pub use list::{LISTED, listed, listed_items};

/// One thing that a reader noticed: nothing is dropped without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// Why, in a form that programs can match on.
    pub reason: Reason,
    /// The file, ConfigMap key or annotation that it is about; empty if it is about the whole.
    #[serde(default)]
    pub subject: String,
    /// What happened, for people: a lowercase fragment.
    #[serde(default)]
    pub message: String,
    /// The number of findings that this one stands for because they were not kept; 0 for an
    /// ordinary finding. [`count`] includes them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
}

/// Why something was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Reason {
    /// An annotation whose key belongs to Kubernetes, OLM or unlade: never taken from a bundle.
    ReservedAnnotation,
    /// An entry of `annotations.yaml` that Kubernetes refuses, where that is no error.
    IllegalAnnotation,
    /// A file that one ConfigMap cannot hold beside the others, where that is no error: without a
    /// legal key, or with the key of a later one.
    IllegalFile,
    /// `annotations.yaml` is missing, empty, lies in `manifests/`, or is there twice.
    AnnotationsFile,
    /// No annotation names the package.
    NoPackage,
    /// No annotation names a channel.
    NoChannels,
    /// `manifests.v1` or `metadata.v1` names a path that is not used.
    PathIgnored,
    /// A file that does not decode as a Kubernetes object: upstream drops it.
    Undecodable,
    /// Content after the first document of a file: upstream never reads it.
    FurtherDocuments,
    /// A document without content, which upstream keeps as an object without kind.
    NilObject,
    /// An object without a name, which no cluster accepts.
    NamelessObject,
    /// An object that another file of the bundle contains as well.
    DuplicateObject,
    /// No ClusterServiceVersion.
    NoCsv,
    /// More than one ClusterServiceVersion: the last one wins.
    SeveralCsvs,
    /// `olm.contentEncoding` has a value that is not known: read as plain data.
    UnknownEncoding,
    /// A key in the field (`data` or `binaryData`) that the encoding leaves unread.
    UnreadKey,
    /// A value that a type of OLM cannot hold, such as an unparsable version or range.
    InvalidValue,
    /// A CRD that the CSV owns is not in the bundle (000.3).
    MissingCrd,
    /// Dependencies, properties or a package that another file of the bundle gives already.
    Shadowed,
    /// A file of `metadata/` that says nothing of the bundle, such as settings of a pipeline.
    UnusedFile,
    /// Findings that were not kept, or not passed on: `Finding::omitted` has their number if it is
    /// known.
    Omitted,
    /// A reason of a later version of unlade, read from a ConfigMap.
    #[serde(other)]
    Unknown,
}

/// Most findings of one reader that are kept; the others are counted. People are shown fewer
/// ([`FINDINGS`](unlade_finding::LISTED)).
pub const MOST: usize = 10_000;

/// Findings as they come: the first [`MOST`], and the number of the others.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    count: usize,
}

impl Finding {
    /// A finding about `subject`. Both texts are [cut](unlade_text::excerpt).
    pub fn new(reason: Reason, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let cut = |text: String, most| excerpt::of(&text, most).unwrap_or(text);
        Self {
            reason,
            subject: cut(subject.into(), excerpt::SIZE),
            message: cut(message.into(), excerpt::MESSAGE_SIZE),
            omitted: 0,
        }
    }

    /// The finding that stands for `number` others.
    pub fn omitted(number: usize) -> Self {
        let (noun, verb) = if number == 1 { ("finding", "was") } else { ("findings", "were") };
        let message = format!("{number} more {noun} {verb} left out");
        Self { omitted: number, ..Self::new(Reason::Omitted, "", message) }
    }
}

/// The number of findings, including those that a finding stands for.
pub fn count<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> usize {
    let numbers = findings.into_iter().map(|finding| finding.omitted.max(1));
    numbers.fold(0, usize::saturating_add)
}

impl Findings {
    /// Adds a finding. A finding that stands for others only adds to their number.
    pub fn push(&mut self, finding: Finding) {
        self.count = self.count.saturating_add(count([&finding]));
        if self.kept.len() < MOST && finding.omitted == 0 {
            self.kept.push(finding);
        }
    }

    /// How many there are, those that are not kept included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes those of `others` at the end.
    pub fn append(&mut self, others: Self) {
        let omitted = others.count - others.kept.len();
        self.extend(others.kept);
        self.count = self.count.saturating_add(omitted);
    }

    /// The findings; if there are more than [`MOST`], the last says how many.
    pub fn into_vec(mut self) -> Vec<Finding> {
        let omitted = self.count - self.kept.len();
        if omitted > 0 {
            self.kept.push(Finding::omitted(omitted));
        }
        self.kept
    }
}

impl Extend<Finding> for Findings {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

impl From<Vec<Finding>> for Findings {
    fn from(findings: Vec<Finding>) -> Self {
        let mut taken = Self::default();
        taken.extend(findings);
        taken
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.subject.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.subject, self.message)
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_finding_are_bounded() {
        let long = "x".repeat(1 << 20);
        let finding = Finding::new(Reason::NoCsv, long.as_str(), long.as_str());
        assert!(finding.to_string().len() < 1_200);
        assert!(finding.subject.ends_with("... (1048576 bytes)"), "{}", finding.subject);
    }

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut findings = Findings::default();
        findings.extend((0..MOST + 3).map(|n| Finding::new(Reason::NoCsv, "", n.to_string())));
        assert_eq!(findings.count(), MOST + 3);
        let mut all = Findings::default();
        all.append(findings);
        let all = all.into_vec();
        assert_eq!(all.len(), MOST + 1);
        assert_eq!(all[MOST].reason, Reason::Omitted);
        assert_eq!(all[MOST].message, "3 more findings were left out");
        assert_eq!(all[MOST].omitted, 3);
        assert_eq!(count(&all), MOST + 3);

        // A second reader that continues from there adds to the same number.
        let mut again = Findings::from(all);
        again.push(Finding::new(Reason::NoCsv, "", "another"));
        assert_eq!(again.count(), MOST + 4);
        assert_eq!(again.into_vec()[MOST].omitted, 4);
    }
}
