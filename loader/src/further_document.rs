//! The documents after the first one of a file, which OLM does not read.

use unlade_yaml::{self as yaml, Unread, json::Tree};

use crate::object::{kind_of, name_of};

/// The maximum size in bytes of a document that is read for its name; a larger one is named by its
/// line.
const SIZE: usize = 1 << 20;
/// The maximum memory for one document.
const TREE: usize = 8 << 20;
/// The maximum work for all such documents of a bundle: a tenth of what its files may take.
const WORK: u64 = 20_000_000;
/// The maximum number of documents of a file that are named; the others are counted.
const MAX_NAMED: usize = 5;

/// Names such documents. It has a separate budget, so that no bundle is refused because of a name
/// in a finding.
#[derive(Debug)]
pub(crate) struct Reader(yaml::Reader);

impl Reader {
    pub(crate) fn new() -> Self {
        let limits = yaml::Limits::default().with_input(SIZE).with_tree(TREE).with_work(WORK);
        Self(yaml::Reader::new(&limits))
    }

    /// Describes what is lost because `unread` is not read.
    pub(crate) fn describe(&self, unread: Unread, bytes: &[u8]) -> String {
        if !unread.is_document {
            return describe_lost(unread);
        }
        let mut documents = Documents::from_line(bytes, unread.line);
        let mut names: Vec<_> =
            documents.by_ref().take(MAX_NAMED).map(|it| self.name(it)).collect();
        let rest = documents.count();
        let (verb, hint) = match names.len() + rest {
            0 | 1 => ("is", "give it a file of its own"),
            _ => ("are", "give each a file of its own"),
        };
        if rest > 0 {
            names.push(format!("{rest} more"));
        }
        let names = names.join(", ");
        format!("{names} {verb} dropped: OLM reads only the first document of a file, so {hint}")
    }

    /// Returns the name for a finding: `Kind/name (line 16)`, as far as they are known.
    fn name(&self, (line, text): (u64, &[u8])) -> String {
        let read = self.0.decode_unstructured(text).ok().and_then(|read| read.object);
        let name = read.as_ref().map(name).unwrap_or_default();
        if name.is_empty() {
            format!("the document at line {line}")
        } else {
            format!("{name} (line {line})")
        }
    }
}

/// Describes that `unread` is lost, without the names of the objects in it.
pub(crate) fn describe_lost(unread: Unread) -> String {
    format!("{unread} is dropped: OLM reads only the first document of a file")
}

fn name(tree: &Tree) -> String {
    // Names are cut short, because one line lists several of them.
    let short = |text: &str| text.chars().take(63).collect::<String>();
    let (kind, name) = (short(kind_of(tree.root())), short(name_of(tree.root())));
    if name.is_empty() { kind } else { format!("{kind}/{name}") }
}

/// The documents of a text that have content, each with the line where it begins.
struct Documents<'a> {
    rest: &'a [u8],
    line: u64,
}

impl<'a> Documents<'a> {
    /// Returns the documents from this line on. Lines are counted from 1.
    fn from_line(text: &'a [u8], line: u64) -> Self {
        let n_before = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let before = text.split_inclusive(|&byte| byte == b'\n').take(n_before);
        let size = before.map(<[u8]>::len).sum();
        Self { rest: text.get(size..).unwrap_or_default(), line }
    }

    /// Takes the first line.
    fn line(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.split_inclusive(|&byte| byte == b'\n').next()?;
        self.rest = self.rest.get(line.len()..).unwrap_or_default();
        self.line += 1;
        Some(line)
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (start, number) = (self.rest, self.line);
            let line = self.line()?;
            let marker = line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"..."));
            if matches!(marker.unwrap_or(line).trim_ascii().first(), None | Some(b'#')) {
                continue;
            }
            while !self.rest.is_empty() && !self.rest.starts_with(b"---") {
                self.line();
            }
            let size = start.len() - self.rest.len();
            return Some((number, start.get(..size).unwrap_or_default()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> String {
        let limits = yaml::Limits::default();
        let read = yaml::decode_unstructured(text.as_bytes(), &limits).unwrap();
        Reader::new().describe(read.unread.unwrap(), text.as_bytes())
    }

    #[test]
    fn objects_that_are_lost_are_named() {
        let object = |kind: &str| format!("---\nkind: {kind}\nmetadata: {{name: x}}\n");
        let many: String = ["A", "B", "C", "D", "E", "F", "G", "H"].map(object).concat();
        for (text, expected) in [
            (
                "kind: A\n---\n# hook\nkind: Service\nmetadata:\n  name: b\n".to_owned(),
                "Service/b (line 4) is dropped: OLM reads only the first document of a file, so \
                 give it a file of its own",
            ),
            (
                format!("{}{}---\n# nothing\n---\nkind: C\n", object("A"), object("B")),
                "B/x (line 5), C (line 10) are dropped: OLM reads only the first document of a \
                 file, so give each a file of its own",
            ),
            (
                "kind: A\n---\na: [\n".to_owned(),
                "the document at line 3 is dropped: OLM reads only the first document of a file, \
                 so give it a file of its own",
            ),
            (
                many,
                "B/x (line 5), C/x (line 8), D/x (line 11), E/x (line 14), F/x (line 17), 2 more \
                 are dropped: OLM reads only the first document of a file, so give each a file of \
                 its own",
            ),
            (
                "kind: A\n...\ntext\n".to_owned(),
                "text after the end of the first document at line 3 is dropped: OLM reads only the \
                 first document of a file",
            ),
        ] {
            assert_eq!(described(&text), expected, "{text}");
        }
    }

    #[test]
    fn names_have_a_budget_of_their_own() {
        let large = format!("---\nkind: A\nmetadata: {{name: {}}}\n", "x".repeat(SIZE));
        let text = format!("kind: A\n{large}");
        assert!(described(&text).starts_with("the document at line 3 is dropped"));

        let nested = "[".repeat(120);
        let documents = format!("---\nkind: A\na: {nested}{}\n", "]".repeat(120)).repeat(200);
        let text = format!("kind: A\n{documents}");
        let reader = Reader::new();
        let unread = yaml::decode_unstructured(text.as_bytes(), &yaml::Limits::default());
        let unread = unread.unwrap().unread.unwrap();
        let mut last = String::new();
        for _ in 0..200 {
            last = reader.describe(unread, text.as_bytes());
        }
        assert!(last.contains("195 more are dropped"), "{last}");
        assert!(reader.0.work() <= WORK + 1_000_000, "{}", reader.0.work());
    }
}
