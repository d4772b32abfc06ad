//! The language of the documents and the sources: phrases that CONTRIBUTING.md advises against.

use std::{fs, path::Path};

use super::source;
use crate::{command::Error, workspace};

/// Phrases that no document and no source may contain, each with the preferred wording. A phrase
/// in lower case is found in any letter case, and another phrase only as it is written.
const PHRASES: [(&str, &str); 38] = [
    ("anew", "again"),
    ("are not there", "do not exist"),
    ("aren't", "are not"),
    ("can't", "cannot"),
    ("couldn't", "could not"),
    ("didn't", "did not"),
    ("doesn't", "does not"),
    ("don't", "do not"),
    ("goes with", "is deleted with"),
    ("hadn't", "had not"),
    ("hasn't", "has not"),
    ("haven't", "have not"),
    ("in silence", "silently"),
    ("is borne", "is tolerated"),
    ("is no name", "is not a name"),
    ("is not there", "does not exist"),
    ("isn't", "is not"),
    ("lie where", "are where"),
    ("mayn't", "may not"),
    ("Most bytes", "The maximum size of …, in bytes"),
    ("Most files", "The maximum number of files"),
    ("mustn't", "must not"),
    ("needn't", "need not"),
    ("put right", "fix"),
    ("shouldn't", "should not"),
    ("tell of", "report"),
    ("tells of", "reports"),
    ("is none", "does not exist, or is invalid"),
    ("told of", "reported"),
    ("untold", "not reported"),
    ("wasn't", "was not"),
    ("weren't", "were not"),
    ("Who can", "A user who can"),
    ("Who does", "A user who does"),
    ("Who may", "A user who may"),
    ("without a word", "silently"),
    ("won't", "will not"),
    ("wouldn't", "would not"),
];

/// Texts of other programs, which are quoted as they are.
const FOREIGN: [&str; 4] = [
    "couldn't find key",
    "couldn't parse image",
    "didn't match Pod's node affinity",
    "don't, won't",
];

/// The files that contain the phrases as examples.
const EXAMPLES: [&str; 2] = ["CONTRIBUTING.md", "xtask/src/check/language.rs"];

/// Directories with recorded data.
const RECORDED: [&str; 2] = ["tests/corpus", "fuzz/corpus"];

/// Returns the phrases in Markdown and Rust files, with their place and the preferred wording.
pub(super) fn check() -> Result<Vec<String>, Error> {
    let mut wrong = Vec::new();
    for path in source::tracked(".")?.into_iter().filter(|path| is_checked(path)) {
        // `source::check` also ignores files that are not text.
        let Ok(text) = fs::read_to_string(workspace::root().join(&path)) else { continue };
        wrong.extend(find(&text).map(|(line, phrase, preferred)| {
            format!("{}:{line}: write \"{preferred}\" instead of \"{phrase}\"", path.display())
        }));
    }
    Ok(wrong)
}

fn is_checked(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md" || extension == "rs")
        && !EXAMPLES.iter().any(|example| path == Path::new(example))
        && !RECORDED.iter().any(|directory| path.starts_with(directory))
}

/// Finds phrases in a text: the number of the line, the phrase and the preferred wording.
fn find(text: &str) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    text.lines().zip(1..).flat_map(|(line, number)| {
        let line = FOREIGN.iter().fold(line.to_owned(), |line, text| line.replace(text, ""));
        let found = PHRASES.into_iter().filter(move |(phrase, _)| contains(&line, phrase));
        found.map(move |(phrase, preferred)| (number, phrase, preferred))
    })
}

/// Checks whether a line contains a phrase as whole words.
fn contains(line: &str, phrase: &str) -> bool {
    let is_lowercase = !phrase.contains(char::is_uppercase);
    let line = if is_lowercase { line.to_lowercase() } else { line.to_owned() };
    let is_part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(phrase).any(|(start, _)| {
        let (before, rest) = line.split_at(start);
        let after = rest.strip_prefix(phrase).unwrap_or_default();
        !before.ends_with(is_part_of_word) && !after.starts_with(is_part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_phrase_is_found_with_its_line_and_the_preferred_wording() {
        for (phrase, preferred) in PHRASES {
            let text = format!("Good.\n/// Not ({phrase}), but good.\n");
            assert!(find(&text).any(|found| found == (2, phrase, preferred)), "{phrase}");
        }
    }

    #[test]
    fn phrases_in_other_words_and_in_texts_of_other_programs_are_allowed() {
        for text in ["canew", "is_put_right_here", "Whose may", FOREIGN[0], FOREIGN[2]] {
            assert_eq!(find(text).next(), None, "{text}");
        }
    }

    #[test]
    fn documents_and_sources_are_checked_and_recorded_data_is_not() {
        for (path, expected) in [
            ("README.md", true),
            ("cli/src/error.rs", true),
            ("CONTRIBUTING.md", false),
            ("tests/corpus/README.md", false),
            ("manifests/unpacker/role.yaml", false),
        ] {
            assert_eq!(is_checked(Path::new(path)), expected, "{path}");
        }
    }
}
