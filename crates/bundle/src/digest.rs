//! The digest of a [`Content`]. It depends neither on the encoding nor on the source of the
//! content.
//!
//! The digest is the SHA-256 of the following bytes, written as `sha256:` and 64 lowercase hex
//! digits. A *number* is 8 bytes, big-endian; a *string* is the number of its bytes and then the
//! bytes. Lengths come first, so that two different contents never have the same bytes.
//!
//! 1. the string `unlade.dev/content/1` ([`DOMAIN`]),
//! 2. the number of annotations, and for each in the bytewise order of the keys: the string of its
//!    key, the string of its value,
//! 3. the number of files, and for each in the order of the directories (manifests before
//!    metadata) and then in the bytewise order of the original names: the string `manifests` or
//!    `metadata`, the string of its original name in UTF-8, the string of its bytes.
//!
//! The annotations are those that were copied out of `annotations.yaml`
//! ([`Content::annotations`]). Marks, `olm.*` and annotations of other writers are not included.

use sha2::{Digest as _, Sha256};

use crate::Content;

/// The domain, which separates this digest from all others and from its later versions.
pub const DOMAIN: &str = "unlade.dev/content/1";

/// The prefix of the digest.
pub const ALGORITHM: &str = "sha256:";

pub(crate) fn compute(content: &Content) -> String {
    let mut hash = Sha256::new();
    update_string(&mut hash, DOMAIN.as_bytes());
    update_number(&mut hash, content.annotations().len());
    for (key, value) in content.annotations() {
        update_string(&mut hash, key.as_bytes());
        update_string(&mut hash, value.as_bytes());
    }
    update_number(&mut hash, content.files().len());
    for file in content.files() {
        update_string(&mut hash, file.directory.as_str().as_bytes());
        update_string(&mut hash, file.name.as_bytes());
        update_string(&mut hash, &file.bytes);
    }
    format!("{ALGORITHM}{}", unlade_text::hex(&hash.finalize()))
}

fn update_number(hash: &mut Sha256, number: usize) {
    hash.update((number as u64).to_be_bytes());
}

fn update_string(hash: &mut Sha256, bytes: &[u8]) {
    update_number(hash, bytes.len());
    hash.update(bytes);
}
