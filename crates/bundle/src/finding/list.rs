//! Lists of findings for people, with a maximum length.

use std::fmt::Display;
use std::iter;

use super::{Finding, count};

/// The maximum number of findings of one bundle in a list for people. Output for programs has all
/// of them.
pub const MAX_LISTED: usize = 1_000;

/// Returns the first [`MAX_LISTED`] of `findings`, and a line with the number of the others,
/// including those that were not kept.
pub fn listed<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> impl Iterator<Item = String> {
    listed_with(findings, |finding| count([*finding]))
}

/// Returns the first [`MAX_LISTED`] of `items`, and a line with the number of the others. Each item
/// is one finding.
///
/// ```
/// let lines = unlade_bundle::finding::listed_items(1..=1_003);
/// assert_eq!(lines.last().unwrap(), "3 more findings are not listed");
/// ```
pub fn listed_items<T: Display>(
    items: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = String> {
    listed_with(items, |_| 1)
}

fn listed_with<T: Display>(
    items: impl IntoIterator<Item = T>,
    count: impl Fn(&T) -> usize,
) -> impl Iterator<Item = String> {
    let mut items = items.into_iter().fuse();
    let mut room = MAX_LISTED;
    iter::from_fn(move || {
        if let Some(left) = room.checked_sub(1) {
            room = left;
            return items.next().map(|item| item.to_string());
        }
        let rest = items.by_ref().map(|item| count(&item));
        match rest.fold(0, usize::saturating_add) {
            0 => None,
            1 => Some("1 more finding is not listed".to_owned()),
            more => Some(format!("{more} more findings are not listed")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Findings, Reason};
    use super::*;

    #[test]
    fn a_list_of_findings_is_limited() {
        for (number, last) in [
            (0, None),
            (1, Some("0")),
            (1_000, Some("999")),
            (1_001, Some("1 more finding is not listed")),
            (75_000, Some("74000 more findings are not listed")),
        ] {
            let lines: Vec<_> = listed_items(0..number).collect();
            assert_eq!(lines.last().map(String::as_str), last);
            assert_eq!(lines.len(), number.min(1_001));
        }
    }

    #[test]
    fn the_end_of_a_list_counts_the_findings_that_were_not_kept() {
        let found = |number| {
            let mut findings = Findings::default();
            findings.extend((0..number).map(|at| Finding::new(Reason::NoCsv, "", at.to_string())));
            findings.into_vec()
        };
        for (number, last) in [
            (1_000, "999"),
            (1_001, "1 more finding is not listed"),
            (10_000, "9000 more findings are not listed"),
            (10_001, "9001 more findings are not listed"),
            (75_000, "74000 more findings are not listed"),
        ] {
            let lines: Vec<_> = listed(&found(number)).collect();
            assert_eq!(lines[lines.len() - 1], last);
        }
        let few = [Finding::new(Reason::NoCsv, "", "one"), Finding::omitted(5)];
        assert_eq!(listed(&few).collect::<Vec<_>>(), ["one", "5 more findings are not listed"]);
    }
}
