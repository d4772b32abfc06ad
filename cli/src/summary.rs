//! What people are shown. Whatever comes from a bundle goes through [`Summary`], which escapes and bounds it.

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
    check::checked,
    describe::described,
    inventory::inventory,
    load::{launched, loaded},
    outcome::{Outcome, outcomes},
    unpack::{Unpacked, unpacked},
};
use crate::{screen::Screen, table::Table};

/// The widest name of a field, and the gap behind it.
const NAME_WIDTH: usize = 13;

/// A text that grows from top to bottom.
#[derive(Debug)]
struct Summary<'a> {
    text: String,
    screen: &'a Screen,
}

impl<'a> Summary<'a> {
    fn new(screen: &'a Screen) -> Self {
        Self { text: String::new(), screen }
    }

    /// A line of its own above what follows.
    fn heading(&mut self, text: &str) {
        let style = self.screen.out.heading;
        _ = writeln!(self.text, "{style}{}{style:#}", text::line(text));
    }

    /// `name   value`, or nothing if there is no value.
    fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let style = self.screen.out.heading;
            _ = writeln!(self.text, "{style}{name:NAME_WIDTH$}{style:#} {}", text::line(value));
        }
    }

    /// A table with a blank line above it, or nothing if it has no rows.
    fn table<const COLUMNS: usize>(&mut self, table: &Table<COLUMNS>) {
        if !table.is_empty() {
            self.blank();
            table.write(&mut self.text, self.screen.width, &self.screen.out);
        }
    }

    /// The same as wide as it is: what is in it is copied, or read to its end.
    fn wide_table<const COLUMNS: usize>(&mut self, table: &Table<COLUMNS>) {
        if !table.is_empty() {
            self.blank();
            table.write(&mut self.text, None, &self.screen.out);
        }
    }

    /// What was noticed, with a blank line above it.
    fn findings<'f>(&mut self, findings: impl IntoIterator<Item = &'f Finding>) {
        let style = self.screen.out.warning;
        for (index, finding) in finding::listed(findings).enumerate() {
            if index == 0 {
                self.blank();
            }
            _ = writeln!(self.text, "{style}warning{style:#}: {}", text::line(&finding));
        }
    }

    /// A remark, with a blank line above it.
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

/// A number of bytes for people.
fn size(bytes: usize) -> String {
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

/// `1 file`, `2 files`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The channels in their order, the default one marked.
fn channels(channels: &[String], default: &str) -> String {
    let mut text = channels
        .iter()
        .map(|channel| match channel.as_str() {
            name if name == default => format!("{name} (default)"),
            name => name.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(", ");
    // It belongs to the package and may be a channel that this bundle is not in.
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
