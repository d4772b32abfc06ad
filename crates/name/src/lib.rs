//! The names of Kubernetes objects, labels and annotations, with the rules of the API server, and
//! references of images, with those of the kubelet.
//!
//! Each function checks one kind of name. Its error says which part of the name is wrong.
//!
//! ```
//! use unlade_name::{Error, MAX_LABEL, check_annotation_key, check_label, check_subdomain};
//!
//! assert_eq!(check_subdomain("etcdoperator.v0.9.4"), Ok(()));
//! assert_eq!(check_label("etcdoperator.v0.9.4", MAX_LABEL), Err(Error::Label));
//! assert_eq!(check_annotation_key("example.com/Team"), Ok(()));
//! ```

mod entry;
pub mod image;
mod object;
mod qualified;

pub use entry::{covered_length, covers, without_api_version};
pub use image::ImageReference;
pub use object::{MAX_LABEL, MAX_SUBDOMAIN, check_label, check_subdomain};
pub use qualified::{check_annotation_key, check_label_key, check_label_value};

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is not a DNS label.
    #[error(
        "it must consist of lowercase letters, digits and '-', and begin and end with a letter or \
         digit"
    )]
    Label,
    /// The name is not a DNS subdomain.
    #[error(
        "it must consist of lowercase letters, digits, '-' and '.', and each part between dots \
         must begin and end with a letter or digit"
    )]
    Subdomain,
    /// The name has more than this number of characters.
    #[error("it is longer than {0} characters")]
    TooLong(usize),
    /// The key has more than one slash.
    #[error("it has more than one '/'")]
    Slashes,
    /// Nothing comes before the slash of the key.
    #[error("its prefix is empty")]
    EmptyPrefix,
    /// The part of the key before the slash is not a DNS subdomain.
    #[error("its prefix is not a DNS subdomain")]
    Prefix,
    /// The part of the key before the slash is too long.
    #[error("its prefix is longer than {MAX_SUBDOMAIN} characters")]
    PrefixTooLong,
    /// The key is empty, or nothing comes after its slash.
    #[error("its name is empty")]
    EmptyName,
    /// The key, or the part of it after the slash, has other characters than Kubernetes allows.
    #[error("its name must consist of letters and digits, with '-', '_' or '.' between them")]
    Name,
    /// The key, or the part of it after the slash, is too long.
    #[error("its name is longer than {MAX_LABEL} characters")]
    NameTooLong,
    /// The value of a label has other characters than Kubernetes allows.
    #[error("its value must consist of letters and digits, with '-', '_' or '.' between them")]
    Value,
    /// The value of a label is too long.
    #[error("its value is longer than {MAX_LABEL} characters")]
    ValueTooLong,
}

/// Checks whether `text` begins and ends with a byte that is `outer`, and has only such bytes and
/// those of `inner` between them.
fn is_word(text: &str, outer: impl Fn(&u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&outer)
        && bytes.last().is_some_and(&outer)
        && bytes.iter().all(|byte| outer(byte) || inner.contains(byte))
}
