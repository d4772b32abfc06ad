//! Names of ConfigMaps and Jobs.

use std::hash::{BuildHasher, RandomState};

use sha2::{Digest as _, Sha256};
use unlade_config_map::Encoding;
use unlade_name::check_label;
use unlade_text::{excerpt, hex};

use unlade_name::ImageReference;

#[cfg(test)]
mod tests;

/// The maximum length of a ConfigMap's name. It leaves room for a dash and the largest number of an
/// attempt in the Job's name, which must fit in the 63 characters of a label.
pub const MAX_LENGTH: usize = 52;

/// The number of hex digits of the hash in a name: 80 bits. Finding a second image for a given name
/// is infeasible. Two images with the same name, which can be found with 2^40 tries, are
/// distinguished by the annotation [`IMAGE`](unlade_config_map::protocol::record::IMAGE).
const HASH_LENGTH: usize = 20;
/// The maximum length of the tag in a name.
const MAX_TAG_LENGTH: usize = 20;

/// The given name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a valid name for the ConfigMap: {fault}")]
pub(crate) struct Error {
    /// The name, or its beginning.
    name: String,
    fault: unlade_name::Error,
}

/// Returns the name for the content of this image in this encoding. It must never change, because
/// other versions of unlade have to find the objects of this one.
pub(crate) fn derived(image: &ImageReference, encoding: Encoding) -> String {
    // A reference cannot contain a zero byte, so the hashed text is unambiguous.
    let options = match encoding {
        Encoding::Auto => String::new(),
        encoding => format!("\0encoding={encoding}"),
    };
    with_suffix(image, &hex(&Sha256::digest(format!("{image}{options}"))))
}

/// Returns a random name for this image.
pub(crate) fn generated(image: &ImageReference) -> String {
    with_suffix(image, &random())
}

/// Returns the name of the pack that fills these ConfigMaps.
pub(crate) fn pack<'n>(config_maps: impl Iterator<Item = &'n str>) -> String {
    // A name cannot contain a line break, so the hashed text is unambiguous.
    let names = config_maps.collect::<Vec<_>>().join("\n");
    let hash = hex(&Sha256::digest(names));
    format!("pack-{}", hash.get(..HASH_LENGTH).unwrap_or(&hash))
}

/// Returns random hex digits, as many as the hash in a name has.
pub(crate) fn random() -> String {
    // `RandomState` is the standard library's only source of randomness. The operating system seeds
    // it.
    let number = || u128::from(RandomState::new().hash_one(()));
    let number = (number() << 64 | number()) & ((1 << (4 * HASH_LENGTH)) - 1);
    format!("{number:0HASH_LENGTH$x}")
}

/// Checks a name that the caller chose.
pub(crate) fn given(name: &str) -> Result<String, Error> {
    match check_label(name, MAX_LENGTH) {
        Ok(()) => Ok(name.to_owned()),
        Err(fault) => Err(Error { name: excerpt::shorten(name), fault }),
    }
}

/// Returns the name of the Job for an attempt to fill the ConfigMap `name`.
pub(crate) fn job_name(name: &str, attempt: u32) -> String {
    format!("{name}-{attempt}")
}

/// Returns the number of the attempt from the name of a Job for the ConfigMap `name`. Returns
/// `None` for any other name.
pub(crate) fn attempt_number(name: &str, job: &str) -> Option<u32> {
    let digits = job.strip_prefix(name)?.strip_prefix('-')?;
    let is_number = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Returns `REPOSITORY-TAG-SUFFIX` with the last part of the repository, shortened to
/// [`MAX_LENGTH`].
fn with_suffix(image: &ImageReference, suffix: &str) -> String {
    let tag = image.tag().map(|tag| readable(tag, MAX_TAG_LENGTH)).filter(|tag| !tag.is_empty());
    let room = MAX_LENGTH - HASH_LENGTH - 1 - tag.as_ref().map_or(0, |tag| tag.len() + 1);
    let last = image.repository().rsplit('/').next().unwrap_or_default();
    let suffix = suffix.get(..HASH_LENGTH).unwrap_or(suffix);
    let parts = [Some(readable(last, room)), tag, Some(suffix.to_owned())];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// Converts `text` to lowercase, replaces each run of characters other than letters and digits with
/// a dash, and truncates the result to `length` characters.
fn readable(text: &str, length: usize) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut text = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    text.truncate(length);
    text.truncate(text.trim_end_matches('-').len());
    text
}
