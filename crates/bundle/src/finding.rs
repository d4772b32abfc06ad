//! Findings: what a reader dropped or ignored, or read differently from how it is written.

use std::fmt;

use serde::{Deserialize, Serialize};

use unlade_text::excerpt;

mod list;

pub use list::{MAX_LISTED, listed, listed_items};

/// One observation of a reader. A reader never drops anything without a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The reason, in a form that programs can match on.
    pub reason: Reason,
    /// The file, ConfigMap key or annotation that the finding is about. Empty if the finding is
    /// about the whole bundle.
    #[serde(default)]
    pub subject: String,
    /// The message for people: a lowercase fragment.
    #[serde(default)]
    pub message: String,
    /// The number of omitted findings that this finding stands for. It is 0 for an ordinary
    /// finding. [`count`] includes these findings.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
}

/// The reason for a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Reason {
    /// An annotation whose key is reserved for Kubernetes, OLM or unlade. A reader always ignores
    /// it.
    ReservedAnnotation,
    /// An entry of `annotations.yaml` that Kubernetes rejects, if the reader drops it instead
    /// of failing.
    IllegalAnnotation,
    /// A file that cannot be in the ConfigMap with the others, if the reader drops it instead
    /// of failing. Either its name has no legal key, or a later file has the same key.
    IllegalFile,
    /// `annotations.yaml` does not exist, is empty, is in `manifests/`, or exists twice.
    AnnotationsFile,
    /// No annotation names the package.
    NoPackage,
    /// No annotation names a channel.
    NoChannels,
    /// `manifests.v1` or `metadata.v1` names a path that the reader does not use.
    PathIgnored,
    /// A file that does not decode as a Kubernetes object. Upstream silently drops it.
    Undecodable,
    /// Content after the first document of a file. Upstream never reads it.
    FurtherDocuments,
    /// A document without content. Upstream keeps it as an object without a kind.
    NilObject,
    /// An object without a name. No cluster accepts it.
    NamelessObject,
    /// An object that another file of the bundle contains as well.
    DuplicateObject,
    /// No ClusterServiceVersion.
    NoCsv,
    /// More than one ClusterServiceVersion. Upstream uses the last one.
    SeveralCsvs,
    /// `olm.contentEncoding` has an unknown value. The data is read as plain text.
    UnknownEncoding,
    /// A key in the field (`data` or `binaryData`) that upstream does not read in this encoding.
    UnreadKey,
    /// A value that does not fit the type in OLM, such as an invalid version or range.
    InvalidValue,
    /// A CRD that the CSV owns, but that the bundle does not contain (design 000.3).
    MissingCrd,
    /// Dependencies, properties or a package manifest that the reader already took from another
    /// file.
    Shadowed,
    /// A file of `metadata/` that OLM does not use, such as the configuration of a pipeline.
    UnusedFile,
    /// Findings that were not kept or not passed on. `Finding::omitted` is their number, if it is
    /// known.
    Omitted,
    /// A reason of a later version of unlade, which was read from a ConfigMap.
    #[serde(other)]
    Unknown,
}

impl Reason {
    /// Checks whether the bundle loses something, so that a strict reader refuses it.
    ///
    /// Reserved annotations, annotations in a file other than `annotations.yaml`, ignored paths,
    /// and files of `metadata/` that OLM does not use are not losses.
    pub fn is_loss(self) -> bool {
        !matches!(
            self,
            Self::ReservedAnnotation | Self::AnnotationsFile | Self::PathIgnored | Self::UnusedFile
        )
    }
}

/// The maximum number of findings that one reader keeps. Further findings are only counted. Lists
/// for people are shorter ([`MAX_LISTED`]).
pub const MAX_KEPT: usize = 10_000;

/// A collection of findings: the first [`MAX_KEPT`], and the number of the others.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    count: usize,
}

impl Finding {
    /// Creates a finding about `subject`. Long texts are [truncated](unlade_text::excerpt).
    pub fn new(reason: Reason, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let cut = |text: String, max| excerpt::truncate(&text, max).unwrap_or(text);
        Self {
            reason,
            subject: cut(subject.into(), excerpt::SIZE),
            message: cut(message.into(), excerpt::MESSAGE_SIZE),
            omitted: 0,
        }
    }

    /// Creates the finding that stands for `number` omitted findings.
    pub fn omitted(number: usize) -> Self {
        let (noun, verb) = if number == 1 { ("finding", "is") } else { ("findings", "are") };
        let message = format!("{number} more {noun} {verb} not listed");
        Self { omitted: number, ..Self::new(Reason::Omitted, "", message) }
    }
}

/// Returns the number of findings, including omitted ones.
pub fn count<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> usize {
    let numbers = findings.into_iter().map(|finding| finding.omitted.max(1));
    numbers.fold(0, usize::saturating_add)
}

impl Findings {
    /// Adds a finding. A finding that stands for omitted ones only increases their number.
    pub fn push(&mut self, finding: Finding) {
        self.count = self.count.saturating_add(count([&finding]));
        if self.kept.len() < MAX_KEPT && finding.omitted == 0 {
            self.kept.push(finding);
        }
    }

    /// Returns the number of findings, including those that were not kept.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends the findings of `others`.
    pub fn append(&mut self, others: Self) {
        let omitted = others.count - others.kept.len();
        self.extend(others.kept);
        self.count = self.count.saturating_add(omitted);
    }

    /// Converts the collection into a list. If there are more than [`MAX_KEPT`] findings, the last
    /// one has the number of the others.
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
        let mut collected = Self::default();
        collected.extend(findings);
        collected
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
        findings.extend((0..MAX_KEPT + 3).map(|n| Finding::new(Reason::NoCsv, "", n.to_string())));
        assert_eq!(findings.count(), MAX_KEPT + 3);
        let mut all = Findings::default();
        all.append(findings);
        let all = all.into_vec();
        assert_eq!(all.len(), MAX_KEPT + 1);
        assert_eq!(all[MAX_KEPT].reason, Reason::Omitted);
        assert_eq!(all[MAX_KEPT].message, "3 more findings are not listed");
        assert_eq!(all[MAX_KEPT].omitted, 3);
        assert_eq!(count(&all), MAX_KEPT + 3);

        // A second reader that continues from there adds to the same number.
        let mut again = Findings::from(all);
        again.push(Finding::new(Reason::NoCsv, "", "another"));
        assert_eq!(again.count(), MAX_KEPT + 4);
        assert_eq!(again.into_vec()[MAX_KEPT].omitted, 4);
    }
}
