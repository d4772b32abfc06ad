//! Compares the composer for the block style with the parser library on mutated pieces of real
//! files, and panics at the first difference in value, unread content, error or work.
//!
//! ```console
//! $ cargo run --release --package unlade-yaml --example mutate -- DIRECTORY CASES SEED
//! ```
//!
//! A case depends on its number, on the seed and on the files. A failure prints the text.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints the number of cases")]

use std::{env, error, fs, io, panic, path::Path};

use unlade_yaml::json::Value;
use unlade_yaml::{Error, File, Limits, Outline, Part, Reader, Scalars, is_panic_caught};

/// The number of cases between two lines of progress.
const PROGRESS: u64 = 1_000_000;

/// The largest number of lines of a piece.
const LINES: usize = 24;

/// Texts that are inserted: every token of the block style, and what the composer leaves to the
/// library.
const TOKENS: [&str; 64] = [
    "a",
    "b c",
    ": ",
    ":",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n\n",
    " ",
    "  ",
    "- ",
    "-",
    " #",
    "#",
    "'",
    "''",
    "\"",
    "\\",
    "\\n",
    "\\\n",
    "\\u00e9",
    "|",
    ">",
    "|-\n",
    ">+\n",
    "|2\n",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "~",
    "null",
    "1",
    "0x1f",
    "0o7",
    "1e3",
    ".inf",
    "1_000",
    "true",
    "yes",
    "2001-01-01",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!",
    "---\n",
    "...\n",
    "\t",
    "é",
    "\u{a0}",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{7}",
    "\r\n",
    "? ",
    "%",
    "@",
];

const OUTLINE: Outline =
    Outline::new(&["ClusterServiceVersion"], &[Part::with("metadata", &[Part::whole("name")])]);

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [directory, cases, seed] = &arguments[..] else {
        return Err("usage: mutate DIRECTORY CASES SEED".into());
    };
    let (cases, seed): (u64, u64) = (cases.parse()?, seed.parse()?);
    // The reader catches panics of the library.
    panic::set_hook(Box::new(|info| {
        if !is_panic_caught() {
            eprintln!("{info}");
        }
    }));
    let mut texts = Vec::new();
    collect(Path::new(directory), &mut texts)?;
    let files: Vec<Vec<&str>> =
        texts.iter().map(|text| text.split_inclusive('\n').collect()).collect();
    if files.is_empty() {
        return Err(format!("{directory} contains no YAML files").into());
    }
    let (mut n_valid, mut n_bytes) = (0_u64, 0);
    for case in 0..cases {
        // Each case has its own numbers, so that one case can be repeated alone.
        let text = mutate(&files, &mut Random(seed.wrapping_add(case).wrapping_mul(ODD)));
        n_bytes += text.len();
        n_valid += u64::from(is_read_equally(&text));
        if (case + 1) % PROGRESS == 0 || case + 1 == cases {
            println!("{} cases, {n_valid} valid, {n_bytes} bytes, no difference", case + 1);
        }
    }
    Ok(())
}

/// Reads the YAML files beneath a directory.
fn collect(path: &Path, texts: &mut Vec<String>) -> io::Result<()> {
    let mut paths = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            texts.extend(String::from_utf8(fs::read(&path)?));
        }
    }
    Ok(())
}

/// Returns some lines of a file with up to four changes.
fn mutate(files: &[Vec<&str>], random: &mut Random) -> String {
    let lines = random.choose(files);
    let start = random.below(lines.len().max(1));
    let end = lines.len().min(start + 1 + random.below(LINES));
    let mut lines: Vec<_> = lines.get(start..end).unwrap_or_default().to_vec();
    // A piece of a deeper mapping would be left to the library because of its indentation.
    let indentation =
        lines.first().map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
    for line in &mut lines {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        *line = line.get(spaces.min(indentation)..).unwrap_or_default();
    }
    for _ in 0..random.below(3) {
        let line = *random.choose(&lines);
        let at = random.below(lines.len());
        match random.below(3) {
            0 => lines.insert(at, line),
            1 => lines.insert(at, TOKENS.get(random.below(TOKENS.len())).unwrap_or(&"")),
            _ if lines.len() > 1 => _ = lines.remove(at),
            _ => {}
        }
    }
    let mut text = lines.concat();
    for _ in 0..=random.below(3) {
        let start = random.boundary(&text);
        let end = if random.below(2) == 0 { start } else { random.boundary(&text).min(start + 6) };
        let end = (end.max(start)..=text.len()).find(|&at| text.is_char_boundary(at));
        let token = if random.below(4) == 0 { "" } else { random.choose(&TOKENS) };
        text.replace_range(start..end.unwrap_or(start), token);
    }
    text
}

/// Checks that both readers read the text equally in every way, and returns whether it is valid.
fn is_read_equally(text: &str) -> bool {
    let limits = Limits::default();
    let found = read_in_every_way(&Reader::new(&limits), text.as_bytes());
    assert_eq!(
        found,
        read_in_every_way(&Reader::with_library_only(&limits), text.as_bytes()),
        "{text:?}"
    );
    found.iter().any(|(result, _)| result.is_ok())
}

/// Returns each result as text, with the work that the reader has done by then.
fn read_in_every_way(reader: &Reader, text: &[u8]) -> [(Result<String, String>, u64); 4] {
    let whole = |scalars| {
        let read = reader
            .read(text, scalars)
            .map(|read| format!("{} {:?}", read.tree.root().to_json(), read.unread));
        (read.map_err(|error| format!("{error:?}")), reader.work())
    };
    let of_file = |file: Result<File, Error>, show: fn(Value<'_>) -> String| {
        let shown = file.map(|file| {
            let document = file.document.as_ref().map(|document| show(document.root()));
            format!("{document:?} {:?} {:?}", file.unread, file.error)
        });
        (shown.map_err(|error| format!("{error:?}")), reader.work())
    };
    [
        whole(Scalars::Resolved),
        whole(Scalars::Source),
        of_file(reader.read_file(text), |root| root.to_json()),
        // The library keeps more than the outline.
        of_file(reader.read_outlined_file(text, &OUTLINE), |root| {
            let name = root.get("metadata").and_then(|metadata| metadata.get("name"));
            format!(
                "{:?}",
                [root.get("kind"), name].map(|value| value.map(|value| value.to_json()))
            )
        }),
    ]
}

/// A generator of numbers (SplitMix64), so that a case can be repeated.
struct Random(u64);

/// The increment of SplitMix64.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(ODD);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    #[expect(clippy::indexing_slicing, reason = "the index is below the length")]
    fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns the boundary of a character.
    fn boundary(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
    }
}
