//! The page `docs/benchmarks.md`: a section for each part, which a marker begins.

use std::fmt::Write as _;

const MARKER: &str = "<!-- part: ";
const END: &str = " -->\n";

/// The sections of the page, by the names of their parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Document {
    sections: Vec<(String, String)>,
}

impl Document {
    /// Reads a page. Text before the first marker belongs to no part, and is left out.
    pub(super) fn parse(text: &str) -> Self {
        let sections = text.split(MARKER).skip(1).filter_map(|section| {
            let (name, text) = section.split_once(END)?;
            Some((name.to_owned(), text.trim().to_owned()))
        });
        Self { sections: sections.collect() }
    }

    /// Returns the text of a part, which is empty if the part has not been measured.
    pub(super) fn section(&self, name: &str) -> &str {
        let found = self.sections.iter().find(|(found, _)| found == name);
        found.map_or("", |(_, text)| text)
    }

    /// Replaces the text of a part, or adds the part.
    pub(super) fn replace(&mut self, name: &str, text: &str) {
        let text = text.trim().to_owned();
        match self.sections.iter_mut().find(|(found, _)| found == name) {
            Some((_, old)) => *old = text,
            None => self.sections.push((name.to_owned(), text)),
        }
    }

    /// Returns the page, with the parts in this order.
    pub(super) fn text(&self, title: &str, order: &[&str]) -> String {
        let mut text = title.trim().to_owned() + "\n";
        for name in order {
            let section = self.section(name);
            if !section.is_empty() {
                _ = write!(text, "\n{MARKER}{name}{END}\n{section}\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\n<!-- part: one -->\n\n## One\n\n1\n\n<!-- part: two -->\n\n2\n";
    const ORDER: [&str; 3] = ["zero", "one", "two"];

    #[test]
    fn a_page_that_is_read_and_written_is_the_same() {
        assert_eq!(Document::parse(PAGE).text("# Title\n", &ORDER), PAGE);
    }

    #[test]
    fn only_the_section_of_the_part_is_replaced() {
        let mut page = Document::parse(PAGE);
        page.replace("one", "\n## One\n\nnew\n");
        assert_eq!(page.text("# Title", &ORDER), PAGE.replace("\n1\n", "\nnew\n"));
    }

    #[test]
    fn a_new_part_is_put_in_its_place() {
        let mut page = Document::parse(PAGE);
        page.replace("zero", "0");
        let text = page.text("# Title", &ORDER);
        assert_eq!(text, PAGE.replacen("<!--", "<!-- part: zero -->\n\n0\n\n<!--", 1));
    }
}
