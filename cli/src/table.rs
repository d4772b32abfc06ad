//! Formats tables as kubectl does: column names in capitals, no lines, three blanks between
//! columns.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;
use unlade_text as text;

use crate::screen::{Palette, take};

const GAP: usize = 3;
/// The minimum width of a column that is cut. Less text would not be useful.
const MIN_WIDTH: usize = 12;

/// The alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Rows of cells. All cells are escaped and bounded.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    align: [Align; COLUMNS],
    is_hidden: [bool; COLUMNS],
    /// The first row contains the names of the columns.
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// Creates an empty table with these columns.
    pub(crate) fn new(columns: [(&str, Align); COLUMNS]) -> Self {
        Self {
            align: columns.map(|(_, align)| align),
            is_hidden: [false; COLUMNS],
            rows: vec![columns.map(|(name, _)| name.to_owned())],
        }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, cells: [&str; COLUMNS]) {
        self.rows.push(cells.map(|cell| text::line(cell).into_owned()));
    }

    /// Hides the column with this name.
    pub(crate) fn hide(&mut self, name: &str) {
        let names = self.rows.first().into_iter().flatten();
        for (is_hidden, column) in self.is_hidden.iter_mut().zip(names) {
            *is_hidden |= column == name;
        }
    }

    /// Hides the names of the columns.
    pub(crate) fn hide_names(&mut self) {
        if let Some(names) = self.rows.first_mut() {
            *names = std::array::from_fn(|_| String::new());
        }
    }

    /// Returns whether the table has no rows except the names of the columns.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }

    /// Writes the table. If `width` is not `None`, the widest texts are cut to fit into it.
    pub(crate) fn write(&self, to: &mut String, width: Option<usize>, palette: &Palette) {
        let widths = self.widths(width);
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            let columns = row.iter().zip(widths).zip(self.align).zip(self.is_hidden);
            for (((cell, width), align), _) in columns.filter(|(_, is_hidden)| !is_hidden) {
                let cell = cut(cell, width);
                let blanks = width.saturating_sub(cell.width());
                match align {
                    Align::Left => _ = write!(line, "{cell}{:blanks$}", ""),
                    Align::Right => _ = write!(line, "{:blanks$}{cell}", ""),
                }
                _ = write!(line, "{:GAP$}", "");
            }
            let line = line.trim_end();
            let heading = palette.heading;
            _ = match index {
                0 if line.is_empty() => Ok(()),
                0 => writeln!(to, "{heading}{line}{heading:#}"),
                _ => writeln!(to, "{line}"),
            };
        }
    }

    fn widths(&self, limit: Option<usize>) -> [usize; COLUMNS] {
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            for ((width, cell), is_hidden) in widths.iter_mut().zip(row).zip(self.is_hidden) {
                *width = if is_hidden { 0 } else { (*width).max(cell.width()) };
            }
        }
        let Some(limit) = limit else { return widths };
        let n_shown = self.is_hidden.iter().filter(|is_hidden| !**is_hidden).count();
        let gaps = GAP * n_shown.saturating_sub(1);
        loop {
            let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
            // Only text is cut, because a part of a number would be another number.
            let texts =
                widths.iter_mut().zip(self.align).filter(|(_, align)| *align == Align::Left);
            let Some((widest, _)) = texts.max_by_key(|(width, _)| **width) else { return widths };
            if excess == 0 || *widest <= MIN_WIDTH {
                return widths;
            }
            *widest -= 1;
        }
    }
}

/// Cuts `text` to at most `width` columns. The middle is left out, because the names of files and
/// objects often differ at either end.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let tail_width = kept / 2;
    let head = take(text.chars(), kept - tail_width);
    let tail: String = take(text.chars().rev(), tail_width).chars().rev().collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<2> {
        let mut table = Table::new([("FILE", Align::Left), ("SIZE", Align::Right)]);
        table.push(["日本.yaml", "12"]);
        table.push(["manifests/very-long-name-of-a-file.yaml", "1234567"]);
        table
    }

    fn print(table: &Table<2>, width: Option<usize>) -> String {
        let mut text = String::new();
        table.write(&mut text, width, &Palette::default());
        text
    }

    #[test]
    fn columns_are_as_wide_as_a_terminal_shows_them() {
        assert_eq!(
            print(&table(), None),
            "FILE                                         SIZE\n\
             日本.yaml                                      12\n\
             manifests/very-long-name-of-a-file.yaml   1234567\n"
        );
    }

    #[test]
    fn long_texts_lose_their_middle_and_numbers_nothing() {
        let text = print(&table(), Some(30));
        assert_eq!(
            text,
            "FILE                      SIZE\n\
             日本.yaml                   12\n\
             manifests/…file.yaml   1234567\n"
        );
        assert!(print(&table(), Some(1)).contains("1234567"));
    }

    #[test]
    fn columns_and_their_names_can_be_hidden() {
        let mut table = table();
        table.hide("FILE");
        assert_eq!(print(&table, None), "   SIZE\n     12\n1234567\n");
        table.hide_names();
        assert_eq!(print(&table, None), "     12\n1234567\n");
    }

    #[test]
    fn cells_are_escaped() {
        let mut table = table();
        table.push(["\u{1b}]0;owned\u{7}", "\r"]);
        let text = print(&table, None);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains("\\u{1b}]0;owned\\u{7}"), "{text:?}");
    }
}
