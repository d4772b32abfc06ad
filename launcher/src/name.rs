//! Names of objects.

use std::hash::{BuildHasher, RandomState};

use unlade_config_map::Encoding;

use crate::{ImageReference, sha256};

#[cfg(test)]
mod tests;

/// Most characters in the name of a ConfigMap: the Job's then has room for a dash and the largest
/// number of an attempt within the 63 of a label.
pub(crate) const LENGTH: usize = 52;

/// Hex digits of the hash in a name: 80 bits. Nobody finds a second image for the name of a given
/// one, and a pair of images of one name, which takes 2^40 tries, is told apart by the annotation
/// [`IMAGE`](unlade_config_map::record::IMAGE).
const HASH_LENGTH: usize = 20;
/// Most characters of the tag in a name.
const TAG_LENGTH: usize = 20;

/// A name was given that can't be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no name for the ConfigMap: 1 to {LENGTH} lower-case letters, digits and inner \
     dashes are allowed"
)]
pub(crate) struct Error {
    /// The name.
    pub(crate) name: String,
}

/// The name for the content of this image in this encoding. It is the same for ever: other versions
/// of unlade must find what this one has made.
pub(crate) fn derived(image: &ImageReference, encoding: Encoding) -> String {
    // No reference has a zero byte.
    let options = match encoding {
        Encoding::Auto => String::new(),
        encoding => format!("\0encoding={encoding}"),
    };
    with_suffix(image, &sha256::hex_of(format!("{image}{options}").as_bytes()))
}

/// A random name for this image.
pub(crate) fn generated(image: &ImageReference) -> String {
    with_suffix(image, &random())
}

/// As many random hex digits as a hash has in a name.
pub(crate) fn random() -> String {
    // The standard library's only source of randomness: keys of the operating system's.
    let number = || u128::from(RandomState::new().hash_one(()));
    let number = (number() << 64 | number()) & ((1 << (4 * HASH_LENGTH)) - 1);
    format!("{number:0HASH_LENGTH$x}")
}

/// A name that someone chose.
pub(crate) fn given(name: &str) -> Result<String, Error> {
    if name.len() <= LENGTH && is_label(name) {
        Ok(name.to_owned())
    } else {
        let shown = name.get(..name.floor_char_boundary(200)).unwrap_or_default();
        Err(Error { name: shown.to_owned() })
    }
}

/// The name of the Job that is this attempt to fill the ConfigMap `name`.
pub(crate) fn job_name(name: &str, attempt: u32) -> String {
    format!("{name}-{attempt}")
}

/// Which attempt to fill the ConfigMap `name` this Job is; none if it isn't named so.
pub(crate) fn attempt_of(name: &str, job: &str) -> Option<u32> {
    let digits = job.strip_prefix(name)?.strip_prefix('-')?;
    let is_number = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// `REPOSITORY-TAG-SUFFIX`, of the repository the last part, shortened to [`LENGTH`].
fn with_suffix(image: &ImageReference, suffix: &str) -> String {
    let tag = image.tag().map(|tag| readable(tag, TAG_LENGTH)).filter(|tag| !tag.is_empty());
    let room = LENGTH - HASH_LENGTH - 1 - tag.as_ref().map_or(0, |tag| tag.len() + 1);
    let last = image.repository().rsplit('/').next().unwrap_or_default();
    let suffix = suffix.get(..HASH_LENGTH).unwrap_or(suffix);
    let parts = [Some(readable(last, room)), tag, Some(suffix.to_owned())];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// `text` in lower case, what isn't a letter or digit as one dash, at most `length` characters.
fn readable(text: &str, length: usize) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut text = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    text.truncate(length);
    text.truncate(text.trim_end_matches('-').len());
    text
}

/// Whether `name` can be a DNS label (RFC 1123), its length aside.
fn is_label(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_legal) && !name.starts_with('-') && !name.ends_with('-')
}
