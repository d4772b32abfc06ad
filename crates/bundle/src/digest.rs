//! The digest of a [`Content`]: the same however it is encoded and wherever it was read.
//!
//! It is the SHA-256 of the following bytes, written as `sha256:` and 64 lowercase hex digits.
//! A *number* is 8 bytes, big-endian; a *string* is the number of its bytes and then the bytes.
//! Lengths come first, so that no two contents give the same bytes.
//!
//! 1. the string `unlade.dev/content/1` ([`DOMAIN`]),
//! 2. the number of annotations, and for each in the bytewise order of the keys: the string of its
//!    key, the string of its value,
//! 3. the number of files, and for each in the order of the directories (manifests before
//!    metadata) and then in the bytewise order of the original names: the string `manifests` or
//!    `metadata`, the string of its original name in UTF-8, the string of its bytes.
//!
//! The annotations are those that were copied out of `annotations.yaml`
//! ([`Content::annotations`]); marks, `olm.*` and annotations of others are not in it.

use sha2::{Digest as _, Sha256};

use crate::Content;

/// What separates this digest from all others, and from later versions of it.
pub const DOMAIN: &str = "unlade.dev/content/1";

/// What the digest starts with.
pub const ALGORITHM: &str = "sha256:";

pub(crate) fn of(content: &Content) -> String {
    let mut hash = Sha256::new();
    string(&mut hash, DOMAIN.as_bytes());
    number(&mut hash, content.annotations().len());
    for (key, value) in content.annotations() {
        string(&mut hash, key.as_bytes());
        string(&mut hash, value.as_bytes());
    }
    number(&mut hash, content.files().len());
    for file in content.files() {
        string(&mut hash, file.directory.as_str().as_bytes());
        string(&mut hash, file.name.as_bytes());
        string(&mut hash, &file.bytes);
    }
    let mut text = ALGORITHM.to_owned();
    for byte in hash.finalize() {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    text
}

fn number(hash: &mut Sha256, number: usize) {
    hash.update((number as u64).to_be_bytes());
}

fn string(hash: &mut Sha256, bytes: &[u8]) {
    number(hash, bytes.len());
    hash.update(bytes);
}
