//! The readable output of the commands. All text from a bundle passes through [`Summary`], which
//! escapes and bounds it.

mod check;
mod describe;
mod inventory;
mod load;
mod outcome;
mod unpack;

use std::fmt::Write as _;

use unlade_bundle::{Finding, finding};
use unlade_text as text;

pub(crate) use self::{
    check::format_checks,
    describe::format_description,
    inventory::format_inventory,
    load::{format_launched, format_loaded},
    outcome::{Outcome, format_outcomes},
    unpack::{Unpacked, format_unpacked},
};
use crate::{screen::Screen, table::Table};

/// The width of the widest name of a field.
const NAME_WIDTH: usize = 13;

/// A text that is built from top to bottom.
#[derive(Debug)]
struct Summary<'a> {
    text: String,
    screen: &'a Screen,
}

impl<'a> Summary<'a> {
    fn new(screen: &'a Screen) -> Self {
        Self { text: String::new(), screen }
    }

    /// Adds a heading on a line of its own.
    fn heading(&mut self, text: &str) {
        let style = self.screen.out.heading;
        _ = writeln!(self.text, "{style}{}{style:#}", text::line(text));
    }

    /// Adds a line `name   value`, or nothing if the value is empty.
    fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let style = self.screen.out.heading;
            _ = writeln!(self.text, "{style}{name:NAME_WIDTH$}{style:#} {}", text::line(value));
        }
    }

    /// Adds a blank line and a table that fits the screen, or nothing if the table has no rows.
    fn table<const COLUMNS: usize>(&mut self, table: &Table<COLUMNS>) {
        if !table.is_empty() {
            self.blank();
            table.write(&mut self.text, self.screen.width, &self.screen.out);
        }
    }

    /// Adds a table like [`Summary::table`] without cutting its cells, because users copy them.
    fn wide_table<const COLUMNS: usize>(&mut self, table: &Table<COLUMNS>) {
        if !table.is_empty() {
            self.blank();
            table.write(&mut self.text, None, &self.screen.out);
        }
    }

    /// Adds a blank line and the findings.
    fn findings<'f>(&mut self, findings: impl IntoIterator<Item = &'f Finding>) {
        let style = self.screen.out.warning;
        for (index, finding) in finding::listed(findings).enumerate() {
            if index == 0 {
                self.blank();
            }
            _ = writeln!(self.text, "{style}warning{style:#}: {}", text::line(&finding));
        }
    }

    /// Adds a blank line and a remark.
    fn note(&mut self, text: &str) {
        self.blank();
        let style = self.screen.out.dim;
        _ = writeln!(self.text, "{style}{}{style:#}", text::line(text));
    }

    fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

/// Formats a number of bytes, such as `1.5 MiB`.
pub(crate) fn size(bytes: usize) -> String {
    const UNITS: [(&str, usize); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        // One decimal, rounded half up, without floating point.
        Some((name, unit)) => {
            let tenths = bytes.saturating_mul(10).saturating_add(unit / 2) / unit;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

/// Formats the size of a file or a blob, as [`size`] does.
pub(crate) fn size_of(bytes: u64) -> String {
    size(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Formats a number of things, such as `1 file` or `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Formats a number of things and its verb, in the singular or the plural.
pub(crate) fn with_verb(number: usize, noun: &str, verbs: [&str; 2]) -> String {
    format!("{} {}", count(number, noun), verb(number, verbs))
}

/// Returns the verb for a number of things.
pub(crate) fn verb(number: usize, [singular, plural]: [&str; 2]) -> &str {
    if number == 1 { singular } else { plural }
}

/// Formats the channels in their order, and marks the default one.
fn channels(channels: &[String], default: &str) -> String {
    let mut text = channels
        .iter()
        .map(|channel| match channel.as_str() {
            name if name == default => format!("{name} (default)"),
            name => name.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(", ");
    // The default channel belongs to the package, so this bundle may not be in it.
    if !default.is_empty() && !channels.iter().any(|channel| channel == default) {
        _ = write!(
            text,
            "{}default of the package: {default}",
            if text.is_empty() { "" } else { "; " }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_for_people() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1075, "1.0 KiB"),
            (1076, "1.1 KiB"),
            (1 << 20, "1.0 MiB"),
            (6_800_000, "6.5 MiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn the_default_channel_is_marked_or_named() {
        let names = ["alpha".to_owned(), "stable".to_owned()];
        assert_eq!(channels(&names, "stable"), "alpha, stable (default)");
        assert_eq!(channels(&names, ""), "alpha, stable");
        assert_eq!(channels(&names, "beta"), "alpha, stable; default of the package: beta");
        assert_eq!(channels(&[], "beta"), "default of the package: beta");
    }
}
