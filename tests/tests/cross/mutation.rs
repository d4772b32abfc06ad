use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use unlade_bundle::{ConfigMapKey, Directory, File};
use unlade_tests::corpus;
use unlade_yaml as yaml;

use crate::Cross;

/// The number of mutations. `UNLADE_MUTATIONS` sets another number, and `UNLADE_SEED` another seed.
const NUMBER: u64 = 120;
/// The maximum size of a bundle that is mutated, in bytes: small bundles are as useful, and many
/// more of them can be tried.
const LARGEST: usize = 100_000;

/// Texts that are inserted into files, at the beginning of lines or anywhere.
const TEXTS: [&[u8]; 46] = [
    b"---\n",
    b"--- # x\n",
    b"...\n",
    b"# x\n---\n",
    b"%YAML 1.1\n",
    b"\t",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xff",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"{",
    b"}",
    b"[",
    b"]",
    b": ",
    b"- ",
    b"? ",
    b"|\n",
    b">\n",
    b"&a ",
    b"*a ",
    b"!!binary ",
    b"!!str ",
    b"<<: ",
    b"~",
    b"yes",
    b"0o17",
    b"017",
    b"1_0",
    b"1e3",
    b".inf",
    b".nan",
    b"2001-01-01",
    b"4.10",
    b"\"",
    b"'",
    b"\"\\ud800\"",
    b"'\\u0000'",
    b"kind: ClusterServiceVersion\n",
    b"kind: 7\n",
    b"kind:\n",
    b"apiVersion: v1\n",
    b"metadata: []\n",
    b"metadata: {name: other}\n",
];

/// Names of files.
const NAMES: [&str; 14] = [
    "a b.yaml",
    "a:b.yaml",
    "a-b.yaml",
    "é.yaml",
    "😀",
    ".hidden",
    "..data",
    "annotations.yaml",
    "annotations.yml",
    "csv.json",
    "z",
    "dependencies.yaml",
    "A.YAML",
    "a_b+c~d.yaml",
];

/// Values of annotations.
const VALUES: [&str; 14] = [
    "4.10",
    "007",
    "yes",
    "~",
    "",
    "\"\"",
    "[a]",
    "{a: b}",
    "2001-01-01",
    "0x1F",
    "1e3",
    "'q'",
    "!!str 4.10",
    "| \n    a\n    b\n",
];

/// Pseudorandom numbers, which are the same each time (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % n.max(1)
    }

    fn choose<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, the published bundles"]
fn mutated_bundles_are_written_and_loaded_as_upstream_does_it() {
    let mut bundles: Vec<_> =
        corpus::all().iter().map(unlade_tests::corpus::Sample::files).collect();
    bundles.retain(|files| !files.is_empty() && size(files) < LARGEST);
    let mut cross = Cross::open();
    let setting = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let number = setting("UNLADE_MUTATIONS").unwrap_or(NUMBER);
    let first = setting("UNLADE_SEED").unwrap_or(1);
    let (mut unexplained, mut n_meant) = (Vec::new(), 0);
    for seed in first..first + number {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut files = bundles[chance.below(bundles.len())].clone();
        let other = &bundles[chance.below(bundles.len())];
        for _ in 0..=chance.below(4) {
            mutate(&mut files, other, &mut chance);
        }
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &mut files);
        for is_compressed in [false, true] {
            let found = cross.differences(dir.path(), is_compressed);
            let (meant, others): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|what| is_meant(what, &files, is_compressed));
            n_meant += meant.len();
            unexplained.extend(others.into_iter().map(|what| (seed, is_compressed, what)));
        }
    }
    println!("{number} mutated bundles, {n_meant} differences that are meant");
    assert!(unexplained.is_empty(), "seed, compressed, difference: {unexplained:#?}");
}

fn mutate(files: &mut Vec<File>, other: &[File], chance: &mut Chance) {
    let at = chance.below(files.len());
    let n_bytes = files[at].bytes.len();
    match chance.below(10) {
        0 => {
            let [from, to] = [(); 2].map(|()| chance.below(n_bytes + 1));
            files[at].bytes.drain(from.min(to)..from.max(to).min(from.min(to) + 40));
        }
        1 => files[at].bytes.truncate(chance.below(n_bytes + 1)),
        2 => {
            if let Some(byte) = files[at].bytes.get_mut(chance.below(n_bytes)) {
                *byte = u8::try_from(chance.below(256)).unwrap();
            }
        }
        3 | 4 => {
            let text = chance.choose(&TEXTS);
            let place = chance.below(n_bytes + 1);
            files[at].bytes.splice(place..place, text.iter().copied());
        }
        5 => {
            let text = chance.choose(&TEXTS);
            let bytes = &files[at].bytes;
            let ends: Vec<_> = (0..bytes.len()).filter(|&place| bytes[place] == b'\n').collect();
            let place = ends.get(chance.below(ends.len() + 1)).map_or(0, |end| end + 1);
            files[at].bytes.splice(place..place, text.iter().copied());
        }
        6 => {
            let lines: Vec<_> = files[at].bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let line = lines.get(chance.below(lines.len())).map(|line| line.to_vec());
            let place: usize =
                lines.iter().take(chance.below(lines.len())).map(|line| line.len()).sum();
            files[at].bytes.splice(place..place, line.unwrap_or_default());
        }
        7 => files[at].name = chance.choose(&NAMES).to_owned(),
        8 => {
            let mut file = other[chance.below(other.len())].clone();
            if chance.below(3) == 0 {
                file.directory = Directory::Metadata;
            }
            files.push(file);
        }
        _ => value(files, chance),
    }
}

/// Changes a value in annotations.yaml.
fn value(files: &mut [File], chance: &mut Chance) {
    let Some(file) = files.iter_mut().find(|file| file.path() == "metadata/annotations.yaml")
    else {
        return;
    };
    let text = String::from_utf8_lossy(&file.bytes).into_owned();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let at = chance.below(lines.len());
    if let Some(line) = lines.get_mut(at)
        && let Some((key, _)) = line.split_once(": ")
    {
        let key = if chance.below(5) == 0 { key.to_uppercase() } else { key.to_owned() };
        *line = format!("{key}: {}", chance.choose(&VALUES));
    }
    file.bytes = (lines.join("\n") + "\n").into_bytes();
}

/// Writes the files. Of several files with the same path, the last one stays, also in `files`.
fn write(dir: &Path, files: &mut Vec<File>) {
    let mut paths = BTreeSet::new();
    files.reverse();
    files.retain(|file| paths.insert(file.path()));
    for directory in ["manifests", "metadata"] {
        fs::create_dir_all(dir.join(directory)).unwrap();
    }
    for file in files {
        fs::write(dir.join(file.path()), &file.bytes).unwrap();
    }
}

/// Checks whether a row of docs/compatibility.md describes the difference.
fn is_meant(what: &str, files: &[File], is_compressed: bool) -> bool {
    let is_utf8 = files.iter().all(|file| std::str::from_utf8(&file.bytes).is_ok());
    if what.ends_with(" is left out") {
        // Kubernetes refuses these annotations.
        return true;
    }
    if let Some(key) = what.strip_prefix("annotation ") {
        // A scalar is copied as it is written.
        let mut of_files = files.iter().filter(|file| file.name == "annotations.yaml");
        return of_files.any(|file| {
            let json = yaml::to_json(&file.bytes, &yaml::Limits::default()).unwrap_or_default();
            let json: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
            let entries = json.as_object().into_iter().flatten().filter_map(|(_, v)| v.as_object());
            entries.flatten().any(|(k, v)| k.eq_ignore_ascii_case(key) && !v.is_string())
        });
    }
    match what {
        "taken" => files.iter().any(|file| ConfigMapKey::from_file_name(&file.name).is_err()),
        // In binaryData, with its bytes.
        _ => !is_compressed && !is_utf8,
    }
}

fn size(files: &[File]) -> usize {
    files.iter().map(|file| file.bytes.len()).sum()
}
