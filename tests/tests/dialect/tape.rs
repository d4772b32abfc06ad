use std::io::{self, Read};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use unlade_oci::Limits;
use unlade_oci::tar_reader::{Kind, each};

use crate::{Case, Random, compare, hex};

#[test]
#[ignore = "needs Go"]
fn accepted_layers_are_read_as_go_reads_them() {
    compare("layers beside Go's archive/tar", case, ours);
}

pub(crate) fn ours(case: &Case) -> Result<Value, String> {
    let mut found = Vec::new();
    each(case.bytes.as_slice(), &Limits::default(), |entry| {
        let kind = match entry.kind {
            Kind::File => "file",
            Kind::Sparse => "sparse",
            Kind::Directory => "directory",
            Kind::Symlink => "symlink",
            Kind::HardLink => "hardlink",
            Kind::Device => "device",
            Kind::Fifo => "fifo",
            Kind::GlobalHeader => "global",
            _ => "other",
        };
        let is_link = matches!(kind, "symlink" | "hardlink");
        let (mut size, mut digest) = (0, String::new());
        if matches!(kind, "file" | "other") {
            let mut data = Vec::new();
            entry.read_to_end(&mut data)?;
            if data.len() as u64 != entry.size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (size, digest) = (data.len(), hex(&Sha256::digest(&data)));
        }
        found.push(json!({
            "name": hex(&entry.path),
            "kind": kind,
            "link": if is_link { hex(&entry.link) } else { String::new() },
            "size": size,
            "digest": digest,
        }));
        Ok::<_, io::Error>(())
    })
    .map_err(|error| error.to_string())?;
    Ok(found.into())
}

const NAMES: [&[u8]; 10] = [
    b"manifests/a.yaml",
    b"manifests/",
    b"./manifests//b.yaml",
    b"metadata/annotations.yaml",
    b"docs/x",
    b"../up",
    b"/abs",
    b"manifests/\xff",
    b"",
    b"a\0b",
];
const MAGICS: [&[u8]; 8] = [
    b"ustar\x0000",
    b"ustar\x0000",
    b"ustar\x0000",
    b"ustar  \0",
    b"ustar  \0",
    b"\0\0\0\0\0\0\0\0",
    b"ustar\x0011",
    b"ustar 00",
];
const FLAGS: [u8; 25] = *b"0000000\x00\x0012345672SVMDNAXZ";

fn case(random: &mut Random) -> Case {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(4) {
        item(random, &mut bytes);
    }
    end(random, &mut bytes);
    Case { kind: 't', bytes }
}

fn end(random: &mut Random, bytes: &mut Vec<u8>) {
    match random.below(24) {
        0 => {}
        1 => bytes.extend([0; 512]),
        2 => bytes.extend([0; 700]),
        3 => bytes.truncate(bytes.len() - random.below(bytes.len().min(1500)) - 1),
        4 => {
            bytes.extend([0; 1024]);
            item(random, bytes);
        }
        _ => bytes.extend([0; 1024]),
    }
}

/// Writes zero or more headers that describe an entry, and the entry.
fn item(random: &mut Random, bytes: &mut Vec<u8>) {
    if random.once_in(40) {
        bytes.extend([0; 512]);
    }
    let mut flag = FLAGS[random.below(FLAGS.len())];
    let data = data(random, 600);
    let mut header = Header::new(random, flag, data.len());
    let mut stored = data;
    match random.below(12) {
        0 if random.once_in(2) => {
            let records = [record(b"comment", b"x"), record_by_chance(random, stored.len())];
            let count = 1 + usize::from(random.once_in(4));
            special(random, b'g', &records[..count].concat(), bytes);
        }
        1..4 => {
            let count = random.below(4);
            let mut records = Vec::new();
            for _ in 0..count {
                records.extend(record_by_chance(random, stored.len()));
            }
            let flag = if random.once_in(12) { b'X' } else { b'x' };
            special(random, flag, &records, bytes);
        }
        4 => long_name(random, b'L', bytes),
        5 => long_name(random, b'K', bytes),
        6 => {
            let records = record(b"path", random.choose(&NAMES));
            special(random, b'x', &records, bytes);
            long_name(random, b'L', bytes);
        }
        7 if random.once_in(2) => {
            flag = b'0';
            (header, stored) = sparse_by_records(random, bytes);
        }
        8 if random.once_in(2) => {
            let (header, blocks, data) = sparse_in_header(random);
            header.write(random, bytes);
            bytes.extend(blocks);
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
            return;
        }
        _ => {}
    }
    if matches!(flag, b'1'..=b'6') && !random.once_in(30) {
        stored.clear();
        header.number(124, 12, 0);
    }
    header.write(random, bytes);
    bytes.extend(&stored);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
}

fn data(random: &mut Random, most: usize) -> Vec<u8> {
    if random.once_in(8) {
        // Data that looks like a header if the size is read in another way.
        let mut inner = Vec::new();
        let header = Header::new(random, b'0', 0);
        header.write(random, &mut inner);
        return inner;
    }
    let length = random.below(most);
    vec![random.byte(); length]
}

fn special(random: &mut Random, flag: u8, text: &[u8], bytes: &mut Vec<u8>) {
    Header::new(random, flag, text.len()).write(random, bytes);
    bytes.extend(text);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
}

fn long_name(random: &mut Random, flag: u8, bytes: &mut Vec<u8>) {
    let mut name = random.choose(&NAMES).to_vec();
    if random.once_in(3) {
        name = format!("manifests/{}", "x".repeat(random.below(200))).into_bytes();
    }
    name.extend(random.choose::<[u8]>(&[b"\0", b"\0", b"\0", b"", b"\0\0", b"\0junk"]));
    special(random, flag, &name, bytes);
}

fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [format!("{length} ").as_bytes(), key, b"=", value, b"\n"].concat()
}

fn record_by_chance(random: &mut Random, size: usize) -> Vec<u8> {
    let sizes =
        [size.to_string(), (size + 512).to_string(), format!("+{size}"), format!("0{size}")];
    let (key, value): (&[u8], &[u8]) = match random.below(20) {
        0..4 => (b"path", random.choose(&NAMES)),
        4 | 5 => (b"linkpath", random.choose(&NAMES)),
        6 | 7 => (b"size", sizes[random.below(2)].as_bytes()),
        8 => (
            b"size",
            random.choose::<[u8]>(&[
                b"",
                b"-3",
                b" 2",
                b"1e1",
                b"0x10",
                b"18446744073709551616",
                b"9223372036854775807",
                sizes[2].as_bytes(),
                sizes[3].as_bytes(),
            ]),
        ),
        9 | 10 => (
            random.choose::<[u8]>(&[b"mtime", b"atime", b"ctime"]),
            random.choose::<[u8]>(&[b"1.5", b"1", b"-1.25", b"1.", b".5", b"x", b"1.x", b""]),
        ),
        11 => (
            random.choose::<[u8]>(&[b"uid", b"gid"]),
            random.choose::<[u8]>(&[b"1000", b"-1", b"x", b"", b"9223372036854775808"]),
        ),
        12 => (
            random.choose::<[u8]>(&[b"uname", b"gname"]),
            random.choose::<[u8]>(&[b"root", b"a\0b", b""]),
        ),
        13 => (b"SCHILY.xattr.user.a", b"\0\x01="),
        14 => (b"hdrcharset", b"BINARY"),
        15 => (
            random.choose::<[u8]>(&[b"GNU.sparse.name", b"GNU.sparse.major", b"GNU.sparse.map"]),
            random.choose::<[u8]>(&[b"manifests/sparse", b"1", b"0,5"]),
        ),
        16 => (b"path\0", b"x"),
        17 => (b"", b"x"),
        _ => (b"comment", b"x=y\n"),
    };
    let mut text = record(key, value);
    match random.below(40) {
        0 => text[0] = random.byte(),
        1 => *text.last_mut().unwrap() = b' ',
        2 => text.insert(0, b'0'),
        3 => text.insert(0, b'+'),
        _ => {}
    }
    text
}

/// Returns a sparse file in one of the three PAX formats, usually valid.
fn sparse_by_records(random: &mut Random, bytes: &mut Vec<u8>) -> (Header, Vec<u8>) {
    let pieces: &[(u64, u64)] = random.choose::<[(u64, u64)]>(&[
        &[(0, 5)],
        &[(0, 5), (100, 7)],
        &[(10, 0)],
        &[(100, 7), (0, 5)],
        &[(0, 5), (3, 4)],
        &[(995, 10)],
        &[],
    ]);
    let length: u64 = pieces.iter().map(|(_, length)| length).sum();
    let numbers: Vec<_> =
        pieces.iter().flat_map(|(at, length)| [at.to_string(), length.to_string()]).collect();
    let count = (pieces.len() + usize::from(random.once_in(12))).to_string();
    let mut data = vec![b'd'; usize::try_from(length).unwrap() + usize::from(random.once_in(12))];
    let mut records = vec![record(b"GNU.sparse.name", b"manifests/sparse")];
    let version = random.below(4);
    let size: &[u8] = if version < 2 { b"GNU.sparse.size" } else { b"GNU.sparse.realsize" };
    if !random.once_in(10) {
        records
            .push(record(size, random.choose::<[u8]>(&[b"1000", b"1000", b"1000", b"-1", b"x"])));
    }
    match version {
        0 => {
            records.push(record(b"GNU.sparse.numblocks", count.as_bytes()));
            for (at, length) in pieces {
                records.push(record(b"GNU.sparse.offset", at.to_string().as_bytes()));
                records.push(record(b"GNU.sparse.numbytes", length.to_string().as_bytes()));
            }
        }
        1 => {
            records.push(record(b"GNU.sparse.numblocks", count.as_bytes()));
            records.push(record(b"GNU.sparse.map", numbers.join(",").as_bytes()));
        }
        _ => {
            let mut map = format!("{count}\n{}\n", numbers.join("\n")).into_bytes();
            if numbers.is_empty() {
                map.pop();
            }
            map.resize(map.len().next_multiple_of(512), 0);
            map.extend(data);
            data = map;
        }
    }
    if version >= 2 || random.once_in(2) {
        let versions: &[&[u8]] = if version < 2 { &[b"0", b"1"] } else { &[b"1", b"0"] };
        records.push(record(b"GNU.sparse.major", versions[0]));
        records.push(record(b"GNU.sparse.minor", versions[1]));
    }
    if random.once_in(6) {
        let lost = random.below(records.len());
        records.remove(lost);
    }
    if random.once_in(12) {
        let twice = records[random.below(records.len())].clone();
        records.push(twice);
    }
    special(random, b'x', &records.concat(), bytes);
    (Header::new(random, b'0', data.len()), data)
}

/// Returns a sparse file in the old format of GNU tar, usually valid: the header, the blocks after
/// it, and the data.
fn sparse_in_header(random: &mut Random) -> (Header, Vec<u8>, Vec<u8>) {
    let count = random.below(30);
    let data = vec![b'd'; count * 2 + usize::from(random.once_in(12))];
    let mut header = Header::new(random, b'S', data.len());
    header.block[257..265].copy_from_slice(b"ustar  \0");
    header.block[345..500].fill(0);
    header.number(483, 12, if random.once_in(12) { 3 } else { 10_000 });
    let mut pieces: Vec<u64> = (0..count as u64).map(|at| at * 10).collect();
    if random.once_in(12) {
        pieces.reverse();
    }
    let mut rest = pieces.as_slice();
    let mut blocks = Vec::new();
    let mut take = |block: &mut [u8; 512], at: usize, places: usize| {
        let (now, later) = rest.split_at(rest.len().min(places));
        for (place, start) in now.iter().enumerate() {
            octal(&mut block[at + place * 24..][..12], *start);
            octal(&mut block[at + place * 24 + 12..][..12], 2);
        }
        rest = later;
        block[at + places * 24] = u8::from(!later.is_empty());
        later.is_empty()
    };
    let mut is_done = take(&mut header.block, 386, 4);
    while !is_done {
        let mut block = [0; 512];
        is_done = take(&mut block, 0, 21);
        blocks.extend(block);
    }
    if random.once_in(20) {
        blocks.extend([0; 512]);
    }
    (header, blocks, data)
}

fn octal(field: &mut [u8], value: u64) {
    let text = format!("{value:0width$o}\0", width = field.len() - 1);
    field.copy_from_slice(text.as_bytes());
}

struct Header {
    block: [u8; 512],
}

impl Header {
    fn new(random: &mut Random, flag: u8, size: usize) -> Self {
        let mut header = Self { block: [0; 512] };
        let name = random.choose(&NAMES);
        header.block[..name.len()].copy_from_slice(name);
        for (at, length, value) in [(100, 8, 0o644), (108, 8, 0), (116, 8, 0), (136, 12, 1)] {
            header.number(at, length, value);
        }
        header.number(124, 12, size as u64);
        header.block[156] = flag;
        if matches!(flag, b'1' | b'2') {
            let target = random.choose(&NAMES);
            header.block[157..157 + target.len()].copy_from_slice(target);
        }
        header.block[257..265].copy_from_slice(random.choose(&MAGICS));
        match random.below(16) {
            0 => header.block[345..354].copy_from_slice(b"manifests"),
            1 => header.block[345..352].copy_from_slice(b"pre\xfffix"),
            2 => {
                header.block[345..354].copy_from_slice(b"manifests");
                header.block[508..512].copy_from_slice(b"tar\0");
            }
            3 => {
                header.number(345, 12, 1);
                header.number(357, 12, 1);
            }
            _ => {}
        }
        header
    }

    fn number(&mut self, at: usize, length: usize, value: u64) {
        octal(&mut self.block[at..at + length], value);
    }

    fn write(mut self, random: &mut Random, bytes: &mut Vec<u8>) {
        if random.once_in(16) {
            let values: [&[u8]; 12] = [
                b"",
                b" ",
                b"-1",
                b"8",
                b"7 7",
                b"00000000777",
                b"\x80\0\0\0\0\0\0\0\0\0\0\x05",
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                b"\x80\0\0\0\x80\0\0\0\0\0\0\0",
                b" 12 ",
                b"7777777\x005",
                b"\0\0\x007",
            ];
            let value = random.choose(&values);
            let places = [(100, 8), (108, 8), (116, 8), (124, 12), (136, 12), (329, 8), (337, 8)];
            let (at, length) = places[random.below(places.len())];
            self.block[at..at + length].fill(0);
            let length = length.min(value.len());
            self.block[at..at + length].copy_from_slice(&value[..length]);
        }
        if random.once_in(16) {
            for _ in 0..=random.below(3) {
                let at = random.below(512);
                self.block[at] = match random.below(3) {
                    0 => *random.choose(&[&0, &b' ', &b'0', &b'7', &0x80, &0xff, &b'/', &b'\n']),
                    _ => random.byte(),
                };
            }
        }
        self.block[148..156].fill(b' ');
        let unsigned: u32 = self.block.iter().map(|byte| u32::from(*byte)).sum();
        let signed: i32 = self.block.iter().map(|byte| i32::from(byte.cast_signed())).sum();
        let sum = match random.below(80) {
            0 => i64::from(signed),
            1 => i64::from(unsigned) + 1,
            _ => i64::from(unsigned),
        };
        let text = match random.below(3) {
            0 => format!("{:06o}\0 ", sum.max(0)),
            1 => format!("{:07o}\0", sum.max(0)),
            _ => format!("{:6o} \0", sum.max(0)),
        };
        self.block[148..156].copy_from_slice(text.as_bytes());
        bytes.extend(self.block);
    }
}
