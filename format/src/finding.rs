//! What a reader noticed and did not take, or took otherwise than written.

use std::fmt;

use serde::Serialize;

use crate::excerpt;

/// One thing that a reader noticed: nothing is dropped without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Why, in a form that programs can match on.
    pub reason: Reason,
    /// The file, ConfigMap key or annotation that it is about; empty if it is about the whole.
    pub subject: String,
    /// What happened, for people: a lowercase fragment.
    pub message: String,
}

/// Why something was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
    /// `manifests.v1` or `metadata.v1` names a path that is not used.
    PathIgnored,
    /// A file that does not decode as a Kubernetes object: upstream drops it.
    Undecodable,
    /// Content after the first document of a file: upstream never reads it.
    FurtherDocuments,
    /// A document without content, which upstream keeps as an object without kind.
    NilObject,
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
    /// More findings than [`MOST`]: the others are counted.
    Omitted,
}

/// Most findings of one reader that are kept; the others are counted. People are shown fewer
/// ([`FINDINGS`](crate::text::FINDINGS)).
pub const MOST: usize = 10_000;

/// Findings as they come: the first [`MOST`], and the number of the others.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    count: usize,
}

impl Finding {
    /// A finding about `subject`. Both texts are [cut](crate::excerpt).
    pub fn new(reason: Reason, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let cut = |text: String, most| excerpt::of(&text, most).unwrap_or(text);
        Self {
            reason,
            subject: cut(subject.into(), excerpt::SIZE),
            message: cut(message.into(), excerpt::MESSAGE_SIZE),
        }
    }
}

impl Findings {
    /// Takes a finding.
    pub fn push(&mut self, finding: Finding) {
        if self.kept.len() < MOST {
            self.kept.push(finding);
        }
        self.count += 1;
    }

    /// How many there are, those that are not kept included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes those of `others` at the end.
    pub fn append(&mut self, others: Self) {
        let omitted = others.count - others.kept.len();
        self.extend(others.kept);
        self.count += omitted;
    }

    /// The findings; if there are more than [`MOST`], the last says how many.
    pub fn into_vec(mut self) -> Vec<Finding> {
        let omitted = self.count - self.kept.len();
        if omitted > 0 {
            let message = format!("{omitted} more findings are not kept");
            self.kept.push(Finding::new(Reason::Omitted, "", message));
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
        assert_eq!(all[MOST].message, "3 more findings are not kept");
    }
}
