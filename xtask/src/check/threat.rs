//! The threat model: an ordinary run of `cargo xtask test` must execute a test for each attack.

use std::{collections::BTreeSet, path::Path};

use super::source;
use crate::{command::Error, suite::Suite};

const PATH: &str = "docs/threat-model.md";
/// The cells of a row: number, attack, attacker, defence, tests.
const N_CELLS: usize = 5;

/// Returns attacks without an existing test, and numbers that are missing or used twice.
pub(super) fn check(suite: &Suite) -> Result<Vec<String>, Error> {
    let wrong = rows(&source::read(Path::new(PATH))?, suite);
    Ok(wrong.into_iter().map(|wrong| format!("{PATH}: {wrong}")).collect())
}

/// Returns the problems of the numbered rows of `text`.
fn rows(text: &str, suite: &Suite) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut numbers = BTreeSet::new();
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let Some(number) = cells.first().and_then(|cell| cell.parse::<usize>().ok()) else {
            continue;
        };
        if !numbers.insert(number) {
            wrong.push(format!("attack {number} has two rows"));
        }
        if cells.len() != N_CELLS || cells.iter().any(|cell| cell.is_empty()) {
            wrong.push(format!("attack {number} does not have {N_CELLS} cells with text"));
            continue;
        }
        let mut tests =
            cells.last().map_or("", |cell| cell).split('`').skip(1).step_by(2).peekable();
        if tests.peek().is_none() {
            wrong.push(format!("attack {number} has no test"));
        }
        wrong.extend(
            tests.filter(|test| !suite.has_at(test)).map(|test| {
                format!("attack {number}: the test {test} does not exist, or it is slow")
            }),
        );
    }
    let last = numbers.last().copied().unwrap_or_default();
    if last == 0 {
        wrong.push("no numbered row".to_owned());
    }
    let missing = (1..=last).filter(|number| !numbers.contains(number));
    wrong.extend(missing.map(|number| format!("attack {number} is missing")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(rows: &[&str]) -> Vec<String> {
        let mut suite = Suite::default();
        let text = "#[test]\nfn one() {}\n#[test]\nfn two() {}\n\
             #[test]\n#[ignore = \"needs root; slow: 50 s\"]\nfn late() {}\n";
        suite.add(Path::new("a/tests.rs"), text);
        let head = ["| # | attack | attacker | defence | test |", "|--:|---|---|---|---|"];
        super::rows(&[&head, rows].concat().join("\n"), &suite)
    }

    #[test]
    fn rows_with_tests_are_accepted_in_any_order() {
        let second = "| 2 | b | author | d | `a/tests.rs::one`, `a/tests.rs::two` |";
        assert_eq!(wrong(&[second, "| 1 | a | author | d | `a/tests.rs::one` |"]), [""; 0]);
    }

    #[test]
    fn missing_duplicate_and_untested_rows_are_found() {
        let good = "| 1 | a | author | d | `a/tests.rs::one` |";
        let third = "| 3 | a | author | d | `a/tests.rs::one` |";
        for (rows, expected) in [
            (&[][..], "no numbered row"),
            (&[good, third], "attack 2 is missing"),
            (&[good, good], "attack 1 has two rows"),
            (&["| 1 | a | author | d | none |"], "attack 1 has no test"),
            (&["| 1 | a | author | `a/tests.rs::one` |"], "does not have 5 cells"),
            (&["| 1 | a |  | d | `a/tests.rs::one` |"], "does not have 5 cells"),
            (
                &["| 1 | a | author | d | `a/tests.rs::three` |"],
                "the test a/tests.rs::three does not",
            ),
            (
                &["| 1 | a | author | d | `a/tests.rs::late` |"],
                "the test a/tests.rs::late does not",
            ),
            (&["| 1 | a | author | d | `b/tests.rs::one` |"], "the test b/tests.rs::one does not"),
            (&["| 1 | a | author | d | `one` |"], "the test one does not"),
        ] {
            let wrong = wrong(rows);
            assert!(matches!(&wrong[..], [only] if only.contains(expected)), "{wrong:?}");
        }
    }
}
