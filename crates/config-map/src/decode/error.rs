//! The errors of decoding ConfigMaps.

use unlade_bundle::{annotation::CONTENT_ENCODING, content, key};
use unlade_text::excerpt;

use crate::{gzip, mark};

/// An error that prevents ConfigMaps from being decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No ConfigMap was passed.
    #[error("expected one ConfigMap, got none")]
    Missing,
    /// Several ConfigMaps were passed, but a bundle is in one ConfigMap.
    #[error("expected one ConfigMap, got {count}")]
    Several {
        /// The number of ConfigMaps.
        count: usize,
    },
    /// The ConfigMap was filled by unlade, but its marks were changed since.
    #[error(transparent)]
    Mark(#[from] mark::Error),
    /// `olm.contentEncoding` has an unknown value, and unlade filled the ConfigMap.
    #[error(
        "the annotation {CONTENT_ENCODING} names the unknown encoding {:?}", excerpt::shorten(.encoding)
    )]
    Encoding {
        /// The value.
        encoding: String,
    },
    /// The number of files differs from the recorded number.
    #[error("the ConfigMap contains {found} files, but {expected} were written")]
    Files {
        /// The number of files that were written ([`mark::FILES`]).
        expected: usize,
        /// The number of keys in `data` and `binaryData`.
        found: usize,
    },
    /// The content differs from the content that was written.
    #[error(
        "the content was changed after it was written: its digest is {found}, but {} is recorded",
        excerpt::shorten(.expected)
    )]
    Digest {
        /// The recorded digest ([`mark::DIGEST`]).
        expected: String,
        /// The digest of the present content.
        found: String,
    },
    /// A mark names a key that does not exist.
    #[error("the annotation {mark} names {:?}, which does not exist", excerpt::shorten(.key))]
    Unknown {
        /// The mark.
        mark: &'static str,
        /// The key of a value or of an annotation.
        key: String,
    },
    /// A value is not in the field to which the encoder writes it, so OLM would read another
    /// content. The digest does not depend on the field.
    #[error(
        "the key {:?} is in {found}, but the file was written to {expected}", excerpt::shorten(.key)
    )]
    Field {
        /// The key.
        key: String,
        /// The field that has the key.
        found: &'static str,
        /// The field that should have it.
        expected: &'static str,
    },
    /// OLM reads this annotation, and it was not copied from the bundle.
    #[error("the annotation {key} was added after the ConfigMap was filled")]
    Added {
        /// The key of the annotation.
        key: &'static str,
    },
    /// [`mark::NAMES`] contains a file name that has a different key.
    #[error(
        "the file name {:?} does not have the key {:?}", excerpt::shorten(.name), excerpt::shorten(.key)
    )]
    Name {
        /// The key.
        key: String,
        /// The file name in the mark.
        name: String,
    },
    /// A key is not legal in Kubernetes.
    #[error("the key {:?} is not valid", excerpt::shorten(.key))]
    Key {
        /// The key.
        key: String,
        /// The reason.
        #[source]
        source: key::Error,
    },
    /// A key is in both `data` and `binaryData`.
    #[error("the key {:?} is in both data and binaryData", excerpt::shorten(.key))]
    Twice {
        /// The key.
        key: String,
    },
    /// A value does not decode.
    #[error("failed to decode the value of {:?}", excerpt::shorten(.key))]
    Value {
        /// The key of the value.
        key: String,
        /// The reason.
        #[source]
        source: gzip::Error,
    },
    /// All values together are larger than the limit when decoded.
    #[error("the values up to the key {:?} decode to more than {limit} bytes", excerpt::shorten(.key))]
    TooLarge {
        /// The key of the value that exceeds the limit.
        key: String,
        /// The limit.
        limit: usize,
    },
    /// The files or annotations are not a valid content.
    #[error(transparent)]
    Content(#[from] content::Error),
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Mark(mark::Error::Version { .. }) => Some(
                "use the version of unlade that filled the ConfigMap, or unpack the bundle again",
            ),
            Self::Mark(_)
            | Self::Files { .. }
            | Self::Digest { .. }
            | Self::Unknown { .. }
            | Self::Field { .. }
            | Self::Added { .. } => {
                Some("unpack the bundle again: the ConfigMap was changed after it was filled")
            }
            Self::Several { .. } => Some("pass one ConfigMap at a time"),
            _ => None,
        }
    }
}
