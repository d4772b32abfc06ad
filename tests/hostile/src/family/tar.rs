//! Layers: names, links, records and streams that expand.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{Family, noise, repeat};
use crate::Entry;
use crate::image::gzip;
use crate::tape::{Tape, flag};

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Tar, name, generate)
}

/// The decompressed size of a stream that compresses extremely well, in bytes.
const BOMB: usize = 1 << 20;

pub(super) const FAMILIES: &[Family] = &[
    family("files", |n| entries(n, 512, |tape, n| tape.file(&format!("manifests/f{n}"), b""))),
    family("same-file", |n| entries(n, 1024, |tape, _| tape.file("manifests/a", b"x"))),
    family("other-files", |n| entries(n, 512, |tape, n| tape.file(&format!("usr/f{n}"), b""))),
    family("directories", |n| {
        entries(n, 512, |tape, n| {
            tape.entry(flag::DIRECTORY, format!("manifests/{n}/").as_bytes(), b"", b"")
        })
    }),
    family("deep-directories", |n| {
        entries(n, 512, |tape, n| {
            let name = format!("manifests/{}", "d/".repeat(n % 45));
            tape.entry(flag::DIRECTORY, name.as_bytes(), b"", b"")
        })
    }),
    family("long-names", |n| {
        let name = "n".repeat(4_000);
        entries(n, 5_632, |tape, n| tape.long(flag::FILE, &format!("manifests/{name}{n}"), "", b""))
    }),
    family("long-name", |n| {
        tar(Tape::new().long(flag::FILE, &format!("manifests/{}", "n".repeat(n)), "", b""))
    }),
    family("deep-name", |n| {
        tar(Tape::new().long(flag::FILE, &format!("manifests/{}x", repeat("a/", n)), "", b""))
    }),
    family("deep-names", |n| {
        let name = "a/".repeat(2_000);
        entries(n, 5_632, |tape, n| tape.long(flag::FILE, &format!("manifests/{name}{n}"), "", b""))
    }),
    family("hard-link-deep", |n| {
        let target = repeat("a/", n) + "x";
        tar(Tape::new().long(flag::HARD_LINK, "manifests/h.yaml", &target, b""))
    }),
    family("hard-links-deep", |n| {
        let target = "a/".repeat(2_000);
        entries(n, 5_632, |tape, n| {
            tape.long(flag::HARD_LINK, &format!("manifests/h{n}"), &format!("{target}{n}"), b"")
        })
    }),
    family("hard-links", |n| {
        entries(n, 512, |tape, n| {
            let target = format!("usr/f{n}");
            tape.entry(
                flag::HARD_LINK,
                format!("manifests/h{n}").as_bytes(),
                target.as_bytes(),
                b"",
            )
        })
    }),
    family("hard-links-in-a-row", |n| {
        entries(n, 512, |tape, n| {
            let (name, target) = (format!("manifests/h{n}"), format!("manifests/h{}", n + 1));
            tape.entry(flag::HARD_LINK, name.as_bytes(), target.as_bytes(), b"")
        })
    }),
    family("links", |n| {
        entries(n, 512, |tape, n| {
            let target = format!("../usr/f{n}");
            tape.entry(flag::SYMLINK, format!("manifests/l{n}").as_bytes(), target.as_bytes(), b"")
        })
    }),
    family("link-deep", |n| {
        let target = repeat("../a/", n) + "x";
        tar(Tape::new().long(flag::SYMLINK, "manifests/l.yaml", &target, b""))
    }),
    family("links-long", |n| {
        let target = "t".repeat(4_000);
        entries(n, 5_632, |tape, n| {
            tape.long(flag::SYMLINK, &format!("manifests/l{n}"), &target, b"")
        })
    }),
    family("links-in-a-row", |n| {
        entries(n, 512, |tape, n| {
            let target = format!("l{}", n + 1);
            tape.entry(flag::SYMLINK, format!("manifests/l{n}").as_bytes(), target.as_bytes(), b"")
        })
    }),
    family("links-of-directories", |n| {
        entries(n, 512, |tape, n| {
            let target = format!("l{}", n + 1);
            tape.entry(flag::SYMLINK, format!("l{n}").as_bytes(), target.as_bytes(), b"")
        })
    }),
    family("deep-entries-beside-a-link", |n| deep_entries("a", n)),
    family("deep-entries-beneath-a-link", |n| deep_entries("l", n)),
    family("deep-hard-links-beneath-a-link", |n| {
        let deep = format!("l/{}x", "a/".repeat(47));
        let link = Tape::new().entry(flag::SYMLINK, b"l", b"x", b"");
        let add =
            |tape: Tape, _| tape.entry(flag::HARD_LINK, deep.as_bytes(), deep.as_bytes(), b"");
        tar((0..n / 512).fold(link, add))
    }),
    family("gzip-of-deep-entries-beneath-a-link", |n| {
        let tar = deep_entries("l", BOMB);
        let one = gzip(tar.get(..tar.len() - 1024).unwrap_or_default());
        one.repeat((n / one.len()).max(1))
    }),
    family("whiteouts", |n| {
        entries(n, 1024, |tape, n| {
            tape.file(&format!("manifests/f{n}"), b"").file(&format!("manifests/.wh.f{n}"), b"")
        })
    }),
    family("opaque", |n| {
        entries(n, 512, |tape, n| tape.file(&format!("manifests/d{n}/.wh..wh..opq"), b""))
    }),
    family("pax-records", |n| {
        let records = (0..n / 12).map(|_| ("a", "v"));
        tar(Tape::new().pax(records).file("manifests/a", b""))
    }),
    family("pax-paths", |n| {
        let path = "manifests/".to_owned() + &"p".repeat(1_000);
        entries(n, 2_560, |tape, n| {
            let path = format!("{path}{n}");
            tape.pax([("path", path.as_str())]).file("manifests/a", b"")
        })
    }),
    family("pax-headers", |n| entries(n, 1024, |tape, _| tape.pax([("a", "v")]))),
    family("long-name-headers", |n| {
        entries(n, 1024, |tape, _| tape.entry(flag::LONG_NAME, b"././@LongLink", b"", b"name"))
    }),
    family("incompressible", |n| tar(Tape::new().file("manifests/a", &noise(n)))),
    family("gzip-of-zeros", |n| {
        let zeros = gzip(&vec![0; BOMB]);
        let members = (n / zeros.len()).max(1);
        let mut tar = Tape::new().entry(flag::FILE, b"usr/zeros", b"", b"").end();
        set_size(&mut tar, members * BOMB);
        [gzip(tar.get(..512).unwrap_or_default()), zeros.repeat(members)].concat()
    }),
    family("gzip-of-names", |n| {
        // A name of a MiB takes a KiB.
        let entry = |n: usize| {
            let name = format!("manifests/{}{n}", "n".repeat((1 << 20) - 4_096));
            let tar = Tape::new().long(flag::FILE, &name, "", b"").end();
            gzip(tar.get(..tar.len() - 1024).unwrap_or_default())
        };
        let size = entry(0).len();
        (0..(n / size).max(1)).flat_map(entry).collect()
    }),
    family("gzip-of-entries", |n| {
        let tar = entries(BOMB, 512, |tape, n| tape.file(&format!("usr/f{n}"), b""));
        let one = gzip(tar.get(..tar.len() - 1024).unwrap_or_default());
        one.repeat((n / one.len()).max(1))
    }),
    family("gzip-empty-members", |n| gzip(b"").repeat(n / gzip(b"").len())),
    family("zstd-of-zeros", |n| {
        let zeros = compress_to_vec(&vec![0_u8; BOMB][..], CompressionLevel::Fastest);
        zeros.repeat((n / zeros.len()).max(1))
    })
    // At 8 KiB, the limit of an unpacked layer ends the growth.
    .from(1 << 10),
    family("zstd-frames", |n| {
        let empty = compress_to_vec(&[][..], CompressionLevel::Fastest);
        empty.repeat(n / empty.len())
    }),
    family("zstd-blocks", |n| zstd(&ONE_BYTE.repeat(n / ONE_BYTE.len()))),
    family("zstd-tables", |n| zstd(&TABLES.repeat(n / TABLES.len()))),
    family("gzip-tables", |n| [gzip_prefix(&Tape::bundle().end()), gzip_tables(n)].concat()),
    family("no-tar", |n| vec![b'x'; n]),
    family("zeros", |n| vec![0; n]),
    Family::new(Entry::Extract, "gzip-of-images", |n| {
        // A catalog of more than 256 MiB is refused for its size before its content is read.
        let images = gzip(&catalog_of_images());
        let members = (n / images.len()).clamp(1, 250);
        let mut tar = Tape::new().entry(flag::FILE, b"manifests/catalog.json", b"", b"").end();
        set_size(&mut tar, members * BOMB);
        let (header, end) = tar.split_at(512);
        [gzip(header), images.repeat(members), gzip(end)].concat()
    }),
];

/// Returns a catalog of [`BOMB`] bytes that consists mostly of the images of a bundle.
fn catalog_of_images() -> Vec<u8> {
    let image = |n| format!(r#"{{"image":"{n:0200}"}},"#);
    let start =
        r#"{"schema":"olm.bundle","package":"tea","name":"tea","image":"i","relatedImages":["#;
    let end = r#"{}],"properties":[]}"#;
    let n_images = (BOMB - start.len() - end.len()) / image(0).len();
    let images: String = (0..n_images).map(image).collect();
    let mut text = [start, &images, end].concat().into_bytes();
    text.resize(BOMB, b' ');
    text
}

/// A block of zstd that repeats a zero once.
const ONE_BYTE: &[u8] = &[0x0a, 0, 0, 0];
/// A block of zstd with 4 bytes of content, for which a decoder builds a table of literals and
/// three of sequences.
const TABLES: &[u8] = &[
    0x94, 0, 0, 0x12, 0xc0, 0, 0x80, 0x10, 0x02, 0x01, 0xa8, 0xf4, 0x3f, 0xf3, 0x1f, 0xf4, 0x3f, 0,
    0, 0, 0x04,
];

/// Returns a frame of zstd with a layer and further blocks.
fn zstd(blocks: &[u8]) -> Vec<u8> {
    let raw = |size: usize, is_last: usize| {
        u32::try_from(size << 3 | is_last).unwrap_or_default().to_le_bytes().into_iter().take(3)
    };
    let layer = Tape::bundle().end();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    frame.extend(raw(layer.len(), 0));
    frame.extend(layer);
    frame.extend(blocks);
    frame.extend(raw(0, 1));
    frame
}

/// Returns the beginning of a gzip stream, with this content.
pub(super) fn gzip_prefix(content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    for chunk in content.chunks(0xffff) {
        let size = u16::try_from(chunk.len()).unwrap_or_default();
        bytes.push(0);
        bytes.extend(size.to_le_bytes());
        bytes.extend((!size).to_le_bytes());
        bytes.extend(chunk);
    }
    bytes
}

/// Returns blocks of DEFLATE without content, for each of which a decoder builds three tables.
pub(super) fn gzip_tables(size: usize) -> Vec<u8> {
    let mut bits = Vec::new();
    let mut put = |value: u32, n_bits: u32| bits.extend((0..n_bits).map(|at| value >> at & 1));
    // Four blocks end at the end of a byte.
    for _ in 0..4 {
        put(0, 1);
        put(2, 2);
        // 257 literals and lengths, one distance, and 18 lengths of codes.
        put(0, 5);
        put(0, 5);
        put(14, 4);
        // The third length is for the code of many zeros, and the last one for 1.
        (0..18).for_each(|at| put(u32::from(at == 2 || at == 17), 3));
        // 256 zeros, and 1 for the end of the block and for the distance. The code of 1 is 0, and
        // that of many zeros is 1.
        put(1, 1);
        put(138 - 11, 7);
        put(1, 1);
        put(118 - 11, 7);
        put(0, 2);
        put(0, 1);
    }
    let byte = |bits: &[u32]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | *bit);
    let bytes: Vec<_> =
        bits.chunks(8).map(|bits| u8::try_from(byte(bits)).unwrap_or_default()).collect();
    bytes.repeat(size / bytes.len())
}

/// Creates entries of a path of 100 bytes in `top`, beside a link `l`.
fn deep_entries(top: &str, size: usize) -> Vec<u8> {
    let path = format!("{top}/{}x", "a/".repeat(48));
    let link = Tape::new().entry(flag::SYMLINK, b"l", b"x", b"");
    tar((0..size / 512).fold(link, |tape, _| tape.file(&path, b"")))
}

/// Creates as many entries as fit into `size` bytes, if each takes `each` bytes.
fn entries(size: usize, each: usize, add: impl Fn(Tape, usize) -> Tape) -> Vec<u8> {
    tar((0..size / each).fold(Tape::new(), add))
}

fn tar(tape: Tape) -> Vec<u8> {
    tape.end()
}

/// Makes the first header claim a file of `size` bytes.
fn set_size(tar: &mut [u8], size: usize) {
    if let Some(field) = tar.get_mut(124..135) {
        field.iter_mut().zip(format!("{size:011o}").bytes()).for_each(|(to, from)| *to = from);
    }
    crate::tape::mend(tar);
}
