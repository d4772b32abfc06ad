//! What a reader noticed and did not take, or took otherwise than written.

use std::fmt;

use serde::Serialize;

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
}

impl Finding {
    /// A finding about `subject`.
    pub fn new(reason: Reason, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, subject: subject.into(), message: message.into() }
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
