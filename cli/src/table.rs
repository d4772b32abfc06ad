//! Formats tables as kubectl does: column names in capitals, no lines, three blanks between
//! columns.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;
use unlade_text as text;

use crate::output::Limited;
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

/// The maximum width of a column whose cells are not cut. Each row has the blanks of the widest
/// one, so a single long cell would make all rows as long.
const MAX_WIDTH: usize = 200;

/// The maximum size of a list, in bytes. A catalog of 10 MiB can repeat names in hundreds of
/// thousands of rows, so a list could be hundreds of megabytes long. The lists of 26 published
/// catalogs together are smaller than one megabyte.
pub(crate) const MAX_LIST: usize = 64 << 20;

/// Writes rows without keeping them, because there can be hundreds of thousands. All cells are
/// escaped and bounded, and cells longer than [`MAX_WIDTH`] are not aligned. Without `names`, there
/// is no heading. It fails if the table is larger than [`MAX_LIST`].
pub(crate) fn write_rows<'r, R: 'r, const COLUMNS: usize>(
    names: Option<[&str; COLUMNS]>,
    rows: &'r [R],
    cells: impl Fn(&'r R) -> [Cow<'r, str>; COLUMNS],
    palette: &Palette,
    to: &mut impl Write,
) -> io::Result<()> {
    let shown = |row: &'r R| cells(row).map(|cell| text::line(&cell).into_owned());
    let mut widths = names.map_or([0; COLUMNS], |names| names.map(UnicodeWidthStr::width));
    // Without a limit here, rows that are never written would be measured.
    let mut measured = Limited::new(io::sink(), MAX_LIST);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(shown(row)) {
            measured.write_all(cell.as_bytes())?;
            *width = (*width).max(cell.width()).min(MAX_WIDTH);
        }
    }
    let to = &mut Limited::new(to, MAX_LIST);
    let mut line = String::new();
    let mut format = |row: &[String; COLUMNS]| {
        line.clear();
        for (cell, width) in row.iter().zip(widths) {
            push_cell(&mut line, cell, width, Align::Left);
        }
        line.trim_end().to_owned()
    };
    if let Some(names) = names {
        let heading = palette.heading;
        writeln!(to, "{heading}{}{heading:#}", format(&names.map(str::to_owned)))?;
    }
    rows.iter().try_for_each(|row| writeln!(to, "{}", format(&shown(row))))
}

/// Adds a cell and the gap after it to a line.
fn push_cell(line: &mut String, cell: &str, width: usize, align: Align) {
    let blanks = width.saturating_sub(cell.width());
    _ = match align {
        Align::Left => write!(line, "{cell}{:blanks$}{:GAP$}", "", ""),
        Align::Right => write!(line, "{:blanks$}{cell}{:GAP$}", "", ""),
    };
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

    /// Writes the table. If `limit` is not `None`, the widest texts are cut to fit into it.
    /// Otherwise no text is cut, and cells longer than [`MAX_WIDTH`] are not aligned.
    pub(crate) fn write(&self, to: &mut String, limit: Option<usize>, palette: &Palette) {
        let widths = self.widths(limit);
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            let columns = row.iter().zip(widths).zip(self.align).zip(self.is_hidden);
            for (((cell, width), align), _) in columns.filter(|(_, is_hidden)| !is_hidden) {
                match limit {
                    Some(_) => push_cell(&mut line, &cut(cell, width), width, align),
                    None => push_cell(&mut line, cell, width, align),
                }
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
        let Some(limit) = limit else { return widths.map(|width| width.min(MAX_WIDTH)) };
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
    use std::cell::Cell;

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

    fn print_rows(rows: &[[&str; 2]], names: Option<[&str; 2]>) -> String {
        let mut text = Vec::new();
        write_rows(names, rows, |row| row.map(Cow::Borrowed), &Palette::default(), &mut text)
            .unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn rows_that_are_not_kept_look_like_those_of_a_table() {
        let rows = [["日本.yaml", "\r"], ["manifests/very-long-name-of-a-file.yaml", "b"]];
        let mut table = Table::new([("FILE", Align::Left), ("SIZE", Align::Left)]);
        for row in rows {
            table.push(row);
        }
        assert_eq!(print_rows(&rows, Some(["FILE", "SIZE"])), print(&table, None));
        table.hide_names();
        assert_eq!(print_rows(&rows, None), print(&table, None));
    }

    #[test]
    fn a_table_that_is_too_large_is_not_formatted_to_its_end() {
        let n_formatted = Cell::new(0);
        let cell = "a".repeat(8 << 10);
        let write = |n: usize| {
            let cells = |&()| {
                n_formatted.set(n_formatted.get() + 1);
                [Cow::Borrowed(cell.as_str())]
            };
            write_rows(None, &vec![(); n], cells, &Palette::default(), &mut io::sink())
        };
        assert!(write(10).is_ok());
        n_formatted.set(0);
        let error = write(100_000).unwrap_err();
        assert_eq!(error.to_string(), "the output has more than 67108864 bytes");
        assert_eq!(n_formatted.get(), MAX_LIST / cell.len() + 1);
    }

    #[test]
    fn a_long_cell_does_not_make_other_rows_long() {
        let long = "a".repeat(5_000);
        let rows = [[&long, "b"], ["c", "d"]];
        let mut table = Table::new([("", Align::Left), ("", Align::Left)]);
        for row in rows {
            table.push(row);
        }
        for text in [print_rows(&rows, None), print(&table, None)] {
            let lengths: Vec<_> = text.lines().map(str::len).collect();
            assert_eq!(lengths, [5_000 + GAP + 1, MAX_WIDTH + GAP + 1]);
        }
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
