//! The ratios at the top of the page, and their goals.

use serde::Deserialize;

/// What a measured number has to be.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// It is shown for comparison only.
    None,
}

/// A measured number and its goal.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Goal {
    pub(super) what: String,
    pub(super) measured: f64,
    /// The unit with a space before it, or nothing for a ratio.
    #[serde(default)]
    pub(super) unit: String,
    pub(super) bound: Bound,
}

pub(super) const HEADING: &str = "\
| part | what | measured | goal | met |
|---|---|--:|--:|---|
";

impl Goal {
    pub(super) fn ratio(what: impl Into<String>, measured: f64, bound: Bound) -> Self {
        Self { what: what.into(), measured, unit: String::new(), bound }
    }

    fn row(&self, part: &str) -> String {
        let Self { what, measured, unit, bound } = self;
        let (goal, is_met) = match bound {
            Bound::AtLeast(least) => {
                (format!("at least {}{unit}", digits(*least)), measured >= least)
            }
            Bound::AtMost(most) => (format!("at most {}{unit}", digits(*most)), measured <= most),
            Bound::None => {
                return format!("| {part} | {what} | {}{unit} | - | - |\n", digits(*measured));
            }
        };
        let is_met = if is_met { "yes" } else { "**no**" };
        format!("| {part} | {what} | {}{unit} | {goal} | {is_met} |\n", digits(*measured))
    }
}

/// Returns the number with three significant digits.
pub(super) fn digits(number: f64) -> String {
    let n_decimals = match number.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{number:.n_decimals$}")
}

/// Replaces the rows of one part in the table of all parts. `parts` has the links to the parts in
/// their order.
pub(super) fn merge(table: &str, part: &str, goals: &[Goal], parts: &[String]) -> String {
    let new: String = goals.iter().map(|goal| goal.row(part)).collect();
    let rows = parts.iter().map(|name| {
        if name == part {
            return new.clone();
        }
        let begin = format!("| {name} |");
        let rows = table.lines().filter(|line| line.starts_with(&begin));
        rows.flat_map(|row| [row, "\n"]).collect()
    });
    format!("{HEADING}{}", rows.collect::<String>())
}

/// Returns the rows of a part that were measured before, too: what, and the new number divided by
/// the old one.
pub(super) fn changes<'t>(part: &str, before: &str, after: &'t str) -> Vec<(&'t str, f64)> {
    let begin = format!("| {part} |");
    let rows = after.lines().filter(|row| row.starts_with(&begin));
    let changed = rows.filter_map(|row| {
        let (name, new) = measured(row)?;
        let (_, old) = before.lines().filter_map(measured).find(|(other, _)| *other == name)?;
        Some((name, new / old))
    });
    changed.collect()
}

/// Returns the first two cells of a row, and the number in the third.
fn measured(row: &str) -> Option<(&str, f64)> {
    let (at, _) = row.match_indices(" | ").nth(1)?;
    let (name, rest) = row.split_at_checked(at)?;
    let number = rest.trim_start_matches(" | ").split(' ').next()?;
    Some((name, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(measured: f64, bound: Bound) -> Goal {
        Goal::ratio("load", measured, bound)
    }

    #[test]
    fn a_row_says_whether_the_goal_is_met() {
        for (goal, expected) in [
            (goal(12.34, Bound::AtLeast(12.0)), "| a | load | 12.3 | at least 12.0 | yes |\n"),
            (goal(11.99, Bound::AtLeast(12.0)), "| a | load | 12.0 | at least 12.0 | **no** |\n"),
            (goal(0.1, Bound::AtMost(0.125)), "| a | load | 0.100 | at most 0.125 | yes |\n"),
            (goal(130.0, Bound::None), "| a | load | 130 | - | - |\n"),
        ] {
            assert_eq!(goal.row("a"), expected);
        }
    }

    #[test]
    fn only_the_rows_of_the_part_are_replaced_and_the_order_is_kept() {
        let parts = ["a", "b", "c"].map(str::to_owned);
        let table = merge("", "c", &[goal(3.0, Bound::None)], &parts);
        // The section of a page does not end with a line break.
        let table = merge(table.trim_end(), "a", &[goal(1.0, Bound::None)], &parts);
        let table = merge(table.trim_end(), "a", &[goal(2.0, Bound::None)], &parts);
        let table = merge(table.trim_end(), "b", &[], &parts);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(rows, ["| a | load | 2.00 | - | - |", "| c | load | 3.00 | - | - |"]);
    }

    #[test]
    fn changes_are_relative_to_the_row_with_the_same_name() {
        let before = goal(2.0, Bound::None).row("a") + &goal(9.0, Bound::None).row("b");
        let after = goal(3.0, Bound::AtMost(1.0)).row("a") + &goal(1.0, Bound::None).row("c");
        assert_eq!(changes("a", &before, &after), [("| a | load", 1.5)]);
        assert_eq!(changes("b", &before, &before), [("| b | load", 1.0)]);
        assert_eq!(changes("c", &before, &after), []);
    }
}
