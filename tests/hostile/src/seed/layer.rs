//! Layers with headers and records that readers of tar files read differently.

use crate::tape::{Tape, flag};

/// The positions of fields in a header.
mod place {
    use std::ops::Range;

    pub(super) const SIZE: Range<usize> = 124..136;
    pub(super) const FLAG: Range<usize> = 156..157;
    pub(super) const MAGIC: Range<usize> = 257..265;
    pub(super) const PREFIX: Range<usize> = 345..500;
    /// The map of the old sparse format of GNU: an offset and a length.
    pub(super) const MAP: Range<usize> = 386..410;
    pub(super) const REAL_SIZE: Range<usize> = 483..495;
}

const NAME: &str = "manifests/a.yaml";
const DATA: &[u8] = b"kind: A\n";

/// Returns the layers.
pub(super) fn odd() -> Vec<Vec<u8>> {
    let records: [&[(&str, &str)]; 9] = [
        &[("path", NAME), ("path", "manifests/b.yaml")],
        &[("path", "")],
        &[("size", "3")],
        &[("size", "8"), ("size", "520")],
        &[("size", "+8")],
        &[("linkpath", NAME), ("mtime", "1.5"), ("uid", "-1"), ("hdrcharset", "BINARY")],
        &[
            ("GNU.sparse.major", "1"),
            ("GNU.sparse.minor", "0"),
            ("GNU.sparse.name", NAME),
            ("GNU.sparse.realsize", "1000"),
        ],
        &[("GNU.sparse.size", "1000"), ("GNU.sparse.numblocks", "1"), ("GNU.sparse.map", "0,8")],
        &[
            ("GNU.sparse.size", "1000"),
            ("GNU.sparse.numblocks", "1"),
            ("GNU.sparse.offset", "0"),
            ("GNU.sparse.numbytes", "8"),
        ],
    ];
    let changes: [&[(std::ops::Range<usize>, &[u8])]; 12] = [
        &[(place::MAGIC, b"ustar  \0")],
        &[(place::MAGIC, b"\0\0\0\0\0\0\0\0")],
        &[(place::MAGIC, b"ustar\x0011")],
        &[(place::MAGIC, b"ustar 00")],
        &[(place::PREFIX, b"manifests")],
        &[(place::PREFIX, b"pre\xfffix")],
        &[(place::MAGIC, b"ustar  \0"), (place::PREFIX, b"manifests")],
        &[(place::SIZE, b"\x80\0\0\0\0\0\0\0\0\0\0\x08")],
        &[(place::SIZE, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")],
        &[(place::SIZE, b" 10 ")],
        &[
            (place::MAGIC, b"ustar  \0"),
            (place::FLAG, b"S"),
            (place::MAP, b"00000000000\x0000000000010\0"),
            (place::REAL_SIZE, b"00000001750\0"),
        ],
        &[(place::FLAG, b"S")],
    ];
    let file = |tape: Tape| tape.file(NAME, DATA);
    let mut tapes: Vec<_> =
        records.iter().map(|records| file(Tape::new().pax(records.iter().copied()))).collect();
    tapes.extend(changes.iter().map(|changes| file(Tape::new()).with_last_header(1, changes)));
    // A name of GNU and one of PAX, a name twice, and PAX records for all entries.
    let named = || Tape::new().entry(flag::LONG_NAME, b"././@LongLink", b"", b"manifests/l.yaml\0");
    tapes.push(file(named().pax([("path", "manifests/p.yaml")])));
    tapes.push(file(named().entry(flag::LONG_NAME, b"", b"", b"manifests/m.yaml\0junk")));
    let global = Tape::new().pax([("path", "manifests/g.yaml")]);
    tapes.push(file(global.with_last_header(1, &[(place::FLAG, b"g")])));
    tapes.into_iter().map(Tape::end).collect()
}
