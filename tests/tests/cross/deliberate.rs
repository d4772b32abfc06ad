//! Each has a row in docs/compatibility.md.

use std::collections::BTreeSet;

/// In both encodings.
const BOTH: &str = "";
const PLAIN: &str = "plain";

const TYPED: &str = "crafted/annotations-typed";
const TYPED2: &str = "crafted/annotations-typed2";

/// Bundle, encoding and difference.
const DELIBERATE: [(&str, &str, &str); 20] = [
    // Scalars of annotations.yaml are copied as they are written.
    (TYPED, BOTH, "annotation operators.operatorframework.io.bundle.channel.default.v1"),
    (TYPED, BOTH, "annotation operators.operatorframework.io.bundle.channels.v1"),
    (TYPED, BOTH, "annotation operators.operatorframework.io.bundle.metadata.v1"),
    (TYPED, BOTH, "annotation operators.operatorframework.io.bundle.package.v1"),
    (TYPED2, BOTH, "annotation operators.operatorframework.io.bundle.channels.v1"),
    (TYPED2, BOTH, "annotation operators.operatorframework.io.bundle.manifests.v1"),
    (TYPED2, BOTH, "annotation operators.operatorframework.io.bundle.mediatype.v1"),
    (TYPED2, BOTH, "annotation operators.operatorframework.io.bundle.package.v1"),
    // Text that is not UTF-8 is in the binaryData of a plain ConfigMap, unchanged.
    ("crafted/bom", PLAIN, "key utf16be.yaml"),
    ("crafted/bom", PLAIN, "key utf16le.yaml"),
    ("crafted/not-utf8", PLAIN, "key blob.bin"),
    ("crafted/not-utf8", PLAIN, "key comment.yaml"),
    ("crafted/not-utf8", PLAIN, "key latin1.yaml"),
    ("crafted/not-utf8", PLAIN, "our loader of ours"),
    ("crafted/not-utf8", PLAIN, "upstream's loader of ours"),
    // Files without a legal key are dropped.
    ("crafted/name-dotdot", BOTH, "taken"),
    ("crafted/name-long", BOTH, "taken"),
    // Flow collections nest at most 128 deep.
    ("crafted/deep-nesting", BOTH, "our loader of ours"),
    ("crafted/deep-nesting", BOTH, "our loader of upstream's"),
    // A link that leaves its directory is an error.
    ("crafted/symlink-outside", BOTH, "refused"),
];

/// Returns the expected differences for a bundle in an encoding.
pub(crate) fn differences(bundle: &str, encoding: &str) -> BTreeSet<String> {
    let is_meant = |of: &str| of == BOTH || of == encoding;
    let rows = DELIBERATE.iter().filter(|(name, of, _)| *name == bundle && is_meant(of));
    rows.map(|(.., difference)| (*difference).to_owned()).collect()
}
