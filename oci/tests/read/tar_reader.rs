//! The dialects of tar. Streams that readers read differently are errors. All others are read as in
//! Go.

use tar::EntryType;
use unlade_oci::{Error, Image};

use crate::fixture::*;

const USTAR: [u8; 8] = *b"ustar\x0000";
const GNU: [u8; 8] = *b"ustar  \0";
const V7: [u8; 8] = [0; 8];

/// A header with unchanged fields, and its data.
struct Raw {
    block: [u8; 512],
    data: Vec<u8>,
}

impl Raw {
    fn new(magic: [u8; 8], flag: u8, name: &str, data: &[u8]) -> Self {
        let mut raw = Self { block: [0; 512], data: data.to_owned() };
        for (at, value) in [(100, "0000644"), (108, "0000000"), (116, "0000000")] {
            raw = raw.with(at, value.as_bytes());
        }
        let size = format!("{:011o}", data.len());
        raw.with(0, name.as_bytes())
            .with(124, size.as_bytes())
            .with(136, b"00000000000")
            .with(156, &[flag])
            .with(257, &magic)
    }

    fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        self.block[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn bytes(mut self) -> Vec<u8> {
        self = self.with(148, b"        ");
        let sum: u32 = self.block.iter().map(|byte| u32::from(*byte)).sum();
        self = self.with(148, format!("{sum:06o}\0 ").as_bytes());
        let mut bytes = self.block.to_vec();
        bytes.extend(&self.data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

/// Returns valid or invalid PAX records for the next entry.
fn records(magic: [u8; 8], flag: u8, records: &[(&str, &str)]) -> Vec<u8> {
    let mut text = String::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        // The length includes its own digits.
        let digits = if rest.len() + 1 < 10 { 1 } else { 2 };
        text.push_str(&(rest.len() + digits).to_string());
        text.push_str(&rest);
    }
    Raw::new(magic, flag, "x", text.as_bytes()).bytes()
}

fn file(name: &str) -> Vec<u8> {
    Raw::new(USTAR, b'0', name, b"evil").bytes()
}

/// Reads a bundle with these bytes after its tar.
fn read_with_bytes(parts: &[&[u8]]) -> Result<Image, Error> {
    let tar = parts.iter().fold(Tar::bundle(), |tar, part| tar.raw(part));
    read_layers(&[Layer::plain(tar)])
}

#[track_caller]
fn refused(parts: &[&[u8]], text: &str) {
    let error = refusal(read_with_bytes(parts));
    assert!(error.contains(text), "{error}");
}

#[track_caller]
fn accepted(parts: &[&[u8]], name: &str) {
    let image =
        read_with_bytes(parts).unwrap_or_else(|error| panic!("{}", unlade_text::chain(&error)));
    assert_eq!(manifests(&image), [("csv.yaml", "kind: A"), (name, "evil")]);
}

#[test]
fn records_that_occur_twice_are_refused() {
    for (key, one, two) in
        [("path", "docs/x", "manifests/x"), ("size", "4", "5"), ("linkpath", "a", "b")]
    {
        let twice = records(USTAR, b'x', &[(key, one), (key, two)]);
        refused(&[&twice, &file("x")], &format!("the field {key} is given twice"));
    }
    let one = records(USTAR, b'x', &[("path", "docs/x")]);
    refused(&[&one, &one, &file("x")], "two extended headers of the same kind");
}

#[test]
fn records_that_are_empty_or_invalid_are_refused() {
    for (key, value) in [
        ("path", ""),
        ("path", "a\0b"),
        ("linkpath", ""),
        ("size", ""),
        ("size", "-3"),
        ("size", "+4"),
        ("size", "4 "),
        ("size", "18446744073709551616"),
        ("size", "9223372036854775808"),
        ("uid", "x"),
        ("mtime", "1.x"),
        ("uname", "a\0"),
    ] {
        let record = records(USTAR, b'x', &[(key, value)]);
        refused(&[&record, &file("x")], &format!("PAX record {key:?} is empty, or is not valid"));
    }
    for text in ["9 path=a", "3 a=b\n", "99 path=a\n", "8 patha\n", "x path=a\n", "7 =abc\n"] {
        let record = Raw::new(USTAR, b'x', "x", text.as_bytes()).bytes();
        refused(&[&record, &file("x")], "PAX record is malformed");
    }
}

#[test]
fn sparse_records_that_make_no_sparse_file_are_refused() {
    for set in [
        &[("GNU.sparse.name", "docs/readme"), ("path", "manifests/x")][..],
        &[("GNU.sparse.major", "1")],
        &[("GNU.sparse.major", "2"), ("GNU.sparse.minor", "0")],
        &[("GNU.sparse.map", "0,4")],
        &[("GNU.sparse.map", "0,5"), ("GNU.sparse.numblocks", "1"), ("GNU.sparse.size", "9")],
        &[("GNU.sparse.other", "1")],
    ] {
        let sparse = records(USTAR, b'x', set);
        refused(&[&sparse, &file("x")], "sparse file is malformed");
    }
}

#[test]
fn extended_headers_count_whatever_their_magic() {
    for magic in [USTAR, GNU, V7, *b"ustar\x0011"] {
        let path = records(magic, b'x', &[("path", "manifests/evil.yaml")]);
        accepted(&[&path, &file("docs/readme")], "evil.yaml");
        let name = Raw::new(magic, b'L', "x", b"manifests/evil.yaml\0").bytes();
        accepted(&[&name, &file("docs/readme")], "evil.yaml");
    }
}

#[test]
fn prefixes_are_read_as_go_reads_them() {
    let prefixed = |magic| Raw::new(magic, b'0', "evil.yaml", b"evil").with(345, b"manifests");
    for magic in [USTAR, *b"ustar\x0011", *b"ustar\0\0\0", GNU] {
        accepted(&[&prefixed(magic).bytes()], "evil.yaml");
    }
    // In a star header, the times are at the end of the prefix of ustar.
    let star = prefixed(USTAR).with(476, b"00000000000 00000000000 ").with(508, b"tar\0");
    accepted(&[&star.bytes()], "evil.yaml");
    // A V7 header has no fields there.
    let image = read_with_bytes(&[&prefixed(V7).bytes()]).unwrap();
    assert_eq!(manifests(&image), [("csv.yaml", "kind: A")]);
}

#[test]
fn long_names_with_data_after_a_nul_are_refused() {
    for name in [&b"manifests/a\0junk"[..], b"", b"\0"] {
        for flag in [b'L', b'K'] {
            let name = Raw::new(GNU, flag, "x", name).bytes();
            refused(&[&name, &file("x")], "long name is empty, or contains a NUL");
        }
    }
    let name = Raw::new(GNU, b'L', "x", b"manifests/a").bytes();
    let path = records(USTAR, b'x', &[("path", "manifests/b")]);
    refused(&[&name, &path, &file("x")], "the field path is given twice");
}

#[test]
fn global_headers_that_set_paths_or_sizes_are_refused() {
    for (key, value) in [("path", "manifests/x"), ("size", "9"), ("linkpath", "y")] {
        let global = records(USTAR, b'g', &[(key, value)]);
        refused(&[&global, &file("x")], &format!("global PAX header sets {key:?}"));
    }
    let path = records(USTAR, b'x', &[("path", "manifests/evil.yaml")]);
    let global = records(USTAR, b'g', &[("comment", "x")]);
    refused(&[&path, &global, &file("x")], "no entry follows the extended header");
    accepted(&[&global, &path, &file("x")], "evil.yaml");
}

#[test]
fn attributes_of_overlayfs_are_refused() {
    for key in [
        "SCHILY.xattr.trusted.overlay.opaque",
        "SCHILY.xattr.user.overlay.redirect",
        "SCHILY.xattr.user.fuseoverlayfs.opaque",
    ] {
        let attribute = records(USTAR, b'x', &[(key, "y")]);
        refused(&[&attribute, &file("x")], "is an attribute of overlayfs");
    }
    let other = records(USTAR, b'x', &[("SCHILY.xattr.user.overlays", "y")]);
    accepted(&[&other, &file("manifests/evil.yaml")], "evil.yaml");
}

#[test]
fn data_after_a_lone_zero_block_is_refused() {
    let zeros = [0; 512];
    refused(&[&zeros, &file("manifests/evil.yaml")], "a zero block is followed by other data");
    // Data after two zero blocks is not part of the archive.
    let image = read_with_bytes(&[&zeros, &zeros, &file("manifests/evil.yaml")]).unwrap();
    assert_eq!(manifests(&image).len(), 1);
}

#[test]
fn an_extended_header_without_an_entry_is_refused() {
    let path = records(USTAR, b'x', &[("path", "manifests/evil.yaml")]);
    refused(&[&path], "no entry follows the extended header");
}

#[test]
fn sizes_that_are_not_numbers_are_refused() {
    let sized = |size: &[u8]| Raw::new(GNU, b'0', "x", b"").with(124, &[0; 12]).with(124, size);
    for size in [
        &b"-1"[..],
        b"0000000000x",
        b"8",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x80\0\0\0\x80\0\0\0\0\0\0\0",
        b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        refused(&[&sized(size).bytes()], "size is negative, or overflows 63 bits");
    }
    accepted(&[&file("manifests/e"), &sized(b"\x80\0\0\0\0\0\0\0\0\0\0\0").bytes()], "e");
    let owner = Raw::new(USTAR, b'0', "x", b"").with(108, b"x");
    refused(&[&owner.bytes()], "the field uid is not a number that fits in 63 bits");
}

#[test]
fn a_file_whose_path_ends_in_a_slash_is_refused_in_the_bundle_and_nowhere_else() {
    let slash = Raw::new(USTAR, b'0', "manifests/csv.yaml/", b"evil").bytes();
    refused(&[&slash], "is a file whose path ends in a slash, not a regular file");
    let elsewhere = Raw::new(USTAR, b'0', "docs/x/", b"evil").bytes();
    assert!(read_with_bytes(&[&elsewhere]).is_ok());
    // In Unix V7, only the slash marks a directory.
    let directory = Raw::new(V7, 0, "metadata/", b"").bytes();
    assert!(read_with_bytes(&[&directory]).is_ok());
}

#[test]
fn the_last_of_two_entries_is_used() {
    accepted(&[&Raw::new(USTAR, b'0', "manifests/e", b"good").bytes(), &file("manifests/e")], "e");
}

#[test]
fn a_checksum_that_does_not_match_is_refused() {
    let mut bytes = file("manifests/e");
    bytes[0] ^= 1;
    refused(&[&bytes], "checksum does not match");
}

#[test]
fn a_mebibyte_of_records_is_read() {
    let record = "8 a=bbb\n".repeat(130_000);
    let records = Raw::new(USTAR, b'x', "x", record.as_bytes()).bytes();
    accepted(&[&records, &file("manifests/e")], "e");
    let more = Raw::new(USTAR, b'x', "x", record.repeat(2).as_bytes()).bytes();
    refused(&[&more, &file("x")], "headers of a tar entry are larger than 1048576 bytes");
}

#[test]
fn overlong_paths_are_refused_everywhere() {
    let long = "x".repeat(4_096);
    let deep = format!("{}x", "d/".repeat(129));
    for path in [&long, &deep] {
        let refused = |tar: Tar| {
            let error = refusal(read_over_bundle(tar));
            assert!(error.contains("is longer than 4095 bytes, or has more than 128"), "{error}");
            assert!(error.len() < 1_000, "{}", error.len());
        };
        refused(Tar::new().long_name(EntryType::Regular, &format!("usr/{path}")));
        refused(Tar::new().long_link(EntryType::Symlink, "usr/x", path));
        refused(Tar::new().long_link(EntryType::Link, "usr/x", path));
    }
    let tar = Tar::new().long_name(EntryType::Regular, &"x".repeat(4_095));
    assert!(read_over_bundle(tar).is_ok());
    let tar = Tar::new().long_name(EntryType::Regular, &format!("{}x", "d/".repeat(128)));
    assert!(read_over_bundle(tar).is_ok());
}
