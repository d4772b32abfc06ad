//! Layers that Go's `archive/tar` writes, as every engine does: USTAR, PAX and GNU, with names,
//! numbers and records that only some of them have room for. Go's writer writes no sparse files;
//! those of other programs are in `writer`.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use unlade_oci::Limits;
use unlade_oci::tar_reader::{Kind, each};

use crate::{BATCH, Case, Random, ask, hex, kept, tape};

/// Go's numbers of the formats. The writer chooses one itself for 0.
const FORMATS: [(&str, u8); 4] = [("any", 0), ("USTAR", 2), ("PAX", 4), ("GNU", 8)];

/// The size from which an entry has no data, so that the layer ends after its header.
const TOO_LARGE: u64 = 1 << 20;

/// What only our reader refuses: a path for all entries, which some readers apply and others do
/// not, and the target of a hard link that only some engines clean.
const REFUSED: [&str; 2] =
    ["the global PAX header sets \"path\"", "the target of the hard link is empty"];

#[test]
#[ignore = "needs Go"]
fn what_go_writes_is_read_as_go_reads_it() {
    let peer = unlade_tests::peer::dialect();
    let is_expected = |error: &str| REFUSED.iter().any(|text| error.contains(text));
    for (name, format) in FORMATS {
        let requests: Vec<_> =
            (0..BATCH / 2).map(|seed| request(&mut Random::new(seed), format)).collect();
        let written = ask(&peer, &requests).into_iter().filter(|answer| answer.error.is_empty());
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        for answer in written {
            let bytes = unhex(answer.found.as_str().unwrap());
            let is_whole = bytes.ends_with(&[0; 1024]);
            let cases = if is_whole { &mut whole } else { &mut cut };
            cases.push(Case { kind: if is_whole { 't' } else { 'h' }, bytes });
        }
        let mut n_refused = 0;
        for (case, theirs) in whole.iter().zip(ask(&peer, &whole)) {
            match tape::ours(case) {
                Ok(ours) => {
                    assert_eq!((ours, ""), (theirs.found, &*theirs.error), "{}", kept(case));
                }
                Err(error) => {
                    assert!(is_expected(&error), "{error}: {}", kept(case));
                    n_refused += 1;
                }
            }
        }
        for (case, theirs) in cut.iter().zip(ask(&peer, &cut)) {
            match headers(case) {
                Ok(ours) => assert_eq!(ours, theirs.found, "{}", kept(case)),
                Err(error) => {
                    assert!(is_expected(&error), "{error}: {}", kept(case));
                    n_refused += 1;
                }
            }
        }
        println!("{name}: {} whole, {} cut, {n_refused} refused by ours", whole.len(), cut.len());
        // USTAR has no room for sizes from 8 GiB, and for most of the other values.
        assert!(whole.len() > 300 && n_refused * 10 < whole.len(), "{name}");
        assert!(cut.len() > 50 || name == "USTAR", "{name}");
    }
}

/// Reads headers up to the missing data, and no data. Returns the error of a header that is
/// refused.
fn headers(case: &Case) -> Result<Value, String> {
    let mut found = Vec::new();
    let result = each(case.bytes.as_slice(), &Limits::default(), |entry| {
        let (kind, link) = match entry.kind {
            Kind::File => ("file", String::new()),
            Kind::Directory => ("directory", String::new()),
            Kind::Symlink => ("symlink", hex(&entry.link)),
            Kind::HardLink => ("hardlink", hex(&entry.link)),
            Kind::Device => ("device", String::new()),
            Kind::Fifo => ("fifo", String::new()),
            Kind::GlobalHeader => ("global", String::new()),
            _ => ("other", String::new()),
        };
        let name = hex(&entry.path);
        found.push(json!({
            "name": name, "kind": kind, "link": link, "size": entry.size, "digest": "",
        }));
        Ok::<_, io::Error>(())
    });
    let error = result.unwrap_err();
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Ok(found.into()),
        _ => Err(error.to_string()),
    }
}

/// Returns what Go's writer is asked to write.
fn request(random: &mut Random, format: u8) -> Case {
    let entries: Vec<_> = (0..=random.below(3)).map(|_| entry(random, format)).collect();
    Case { kind: 'w', bytes: json!(entries).to_string().into() }
}

fn entry(random: &mut Random, format: u8) -> Value {
    let kind = *random.choose(&[&'0', &'0', &'0', &'0', &'5', &'2', &'1', &'3', &'4', &'6', &'g']);
    if kind == 'g' {
        let records = BTreeMap::from([(*random.choose(&[&"comment", &"path", &"VENDOR.a"]), "x")]);
        return json!({"Typeflag": kind as u8, "PAXRecords": records, "Format": format});
    }
    let mut header = json!({
        "Typeflag": kind as u8,
        "Format": format,
        "NameHex": hex(&name(random, kind == '5')),
        "Mode": random.choose(&[&0o644_u32, &0o755, &0o7777]),
    });
    match kind {
        '0' if random.once_in(8) => {
            let sizes = [TOO_LARGE + 1, (8 << 30) - 1, 8 << 30, 9 << 30, 1 << 62];
            header["Size"] = sizes[random.below(sizes.len())].into();
        }
        '0' => header["Size"] = random.below(1_500).into(),
        '1' | '2' => header["LinkHex"] = hex(&name(random, false)).into(),
        '3' | '4' => {
            header["Devmajor"] = (*random.choose(&[&8, &(1 << 24)])).into();
            header["Devminor"] = (*random.choose(&[&1, &(1 << 24)])).into();
        }
        _ => {}
    }
    // One value in some entries, so that most entries can be written in each format.
    match random.below(24) {
        0 => {
            header["Uid"] =
                (*random.choose(&[&1_000_u64, &0o777_7777, &(1 << 21), &(1 << 40)])).into();
        }
        1 => header["Gid"] = (*random.choose(&[&-1_i64, &(1 << 21), &(1 << 62)])).into(),
        2 => header["Uname"] = (*random.choose(&[&"root", &"\u{e4}", &"a b"])).into(),
        3 => header["Gname"] = "g".repeat(random.below(40)).into(),
        4 => {
            let times =
                ["1969-12-31T23:59:58Z", "2024-01-02T03:04:05.123456789Z", "2500-01-01T00:00:00Z"];
            header["ModTime"] = times[random.below(times.len())].into();
        }
        5 => header["AccessTime"] = "2024-01-02T03:04:05Z".into(),
        6 => header["ChangeTime"] = "2024-01-02T03:04:05.5Z".into(),
        7 => header["PAXRecords"] = json!({"SCHILY.xattr.user.a": "b=\n", "VENDOR.key": "\u{fc}"}),
        8 => header["PAXRecords"] = json!({"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}),
        _ => {}
    }
    header
}

/// Returns a name whose length is at one of the limits of the formats.
fn name(random: &mut Random, is_directory: bool) -> Vec<u8> {
    let lengths = [1, 20, 99, 100, 101, 154, 155, 156, 255, 256, 257, 600];
    let length = if random.once_in(2) { 20 } else { lengths[random.below(lengths.len())] };
    let mut name = vec![b'n'; length];
    // USTAR splits a long name at a slash.
    for _ in 0..random.below(4) {
        name[random.below(length)] = b'/';
    }
    match random.below(12) {
        0 => name[0] = 0xff,
        1 => name.splice(0..1, "\u{e4}".bytes()).for_each(drop),
        2 => name.splice(0..1, *b"./").for_each(drop),
        3 => name[0] = b' ',
        4 => name.extend(b" "),
        _ => {}
    }
    if is_directory {
        name.push(b'/');
    }
    name
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, _) = text.as_bytes().as_chunks::<2>();
    pairs.iter().map(|pair| digit(pair[0]).unwrap() << 4 | digit(pair[1]).unwrap()).collect()
}
