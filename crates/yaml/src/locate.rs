//! Finds the lines of values in a text.

use std::collections::BTreeMap;

use super::Reader;
use super::event::{self, Data, Event};
use super::source::Source;

/// A step from a value to one of its children.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The value of this key.
    Field(String),
    /// The item with this index, counted from 0.
    Item(usize),
}

/// Returns the lines of the values at `paths` in the first document of `text`, counted from 1. For
/// a field, it is the line of its key. If a value does not exist, it is the line of the closest
/// value around it. Returns `None` if the text is not YAML, or if the budget of `reader` is
/// exhausted.
///
/// The text is read once, so the cost grows with the size of the text and of the paths.
///
/// ```
/// use unlade_yaml::{Limits, Reader, Step, locate};
///
/// let path = [Step::Field("entries".into()), Step::Item(1), Step::Field("name".into())];
/// let text = b"entries:\n- name: a\n- replaces: a\n  name: b\n";
/// let reader = Reader::new(&Limits::default());
/// assert_eq!(locate(text, [&path[..], &path[..1]], &reader), Some(vec![4, 1]));
/// ```
pub fn locate<'p>(
    text: &[u8],
    paths: impl IntoIterator<Item = &'p [Step]>,
    reader: &Reader,
) -> Option<Vec<u64>> {
    let mut tree = BTreeMap::new();
    let paths: Vec<Vec<_>> = paths.into_iter().map(|path| insert(&mut tree, path)).collect();
    reader.begin(text).ok()?;
    let begin = || Locator { tree: &tree, lines: BTreeMap::new(), open: Vec::new() };
    let mut source = Source::new(text);
    let Locator { lines, .. } =
        event::parse(&mut source, reader, begin, |locator: &mut Locator<'_>, event| {
            locator.take(event);
            Ok(())
        })
        .ok()?;
    let line = |path: &Vec<usize>| path.iter().rev().find_map(|value| lines.get(value).copied());
    paths.iter().map(line).collect()
}

/// The values that paths lead to or through, numbered in the order of their insertion. Each is
/// found by the value around it and the step from there. The value of the document has the number
/// 0.
type Tree<'p> = BTreeMap<(usize, Child<'p>), usize>;

/// Inserts the values on a path. Returns their numbers, from the outermost to the innermost.
fn insert<'p>(tree: &mut Tree<'p>, path: &'p [Step]) -> Vec<usize> {
    let mut values = vec![0];
    let mut value = 0;
    for step in path {
        let next = tree.len() + 1;
        value = *tree.entry((value, step.into())).or_insert(next);
        values.push(value);
    }
    values
}

/// A [`Step`] that borrows its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Child<'p> {
    Field(&'p str),
    Item(usize),
}

impl<'p> From<&'p Step> for Child<'p> {
    fn from(step: &'p Step) -> Self {
        match step {
            Step::Field(name) => Self::Field(name),
            Step::Item(index) => Self::Item(*index),
        }
    }
}

struct Locator<'p> {
    tree: &'p Tree<'p>,
    /// The lines of the values in the tree that exist.
    lines: BTreeMap<usize, u64>,
    open: Vec<Frame>,
}

/// An open collection.
struct Frame {
    /// Its number, if it is in the tree.
    value: Option<usize>,
    slot: Slot,
}

enum Slot {
    Item(usize),
    Key,
    /// The value of a key: its number, if it is in the tree, and the line of the key.
    Value(Option<usize>, u64),
}

impl Locator<'_> {
    fn take(&mut self, event: Event) {
        let line = event.line;
        match event.data {
            Data::DocumentEnd { .. } => {}
            Data::End => drop(self.open.pop()),
            Data::Scalar(scalar) => drop(self.begin(line, Some(&scalar.value))),
            Data::Alias(_) => drop(self.begin(line, None)),
            Data::SequenceStart { .. } => self.enter(line, Slot::Item(0)),
            Data::MappingStart { .. } => self.enter(line, Slot::Key),
        }
    }

    fn enter(&mut self, line: u64, slot: Slot) {
        let value = self.begin(line, None);
        self.open.push(Frame { value, slot });
    }

    /// Begins a value or a key. Returns the number of a value that is in the tree.
    fn begin(&mut self, line: u64, text: Option<&str>) -> Option<usize> {
        let Some(frame) = self.open.last_mut() else {
            self.lines.insert(0, line);
            return Some(0);
        };
        let child = |child: Child<'_>| self.tree.get(&(frame.value?, child)).copied();
        let (value, line) = match &mut frame.slot {
            Slot::Item(index) => {
                *index += 1;
                (child(Child::Item(*index - 1)), line)
            }
            slot @ Slot::Key => {
                *slot = Slot::Value(text.and_then(|text| child(Child::Field(text))), line);
                return None;
            }
            slot => {
                let Slot::Value(value, line) = std::mem::replace(slot, Slot::Key) else {
                    return None;
                };
                (value, line)
            }
        };
        self.lines.insert(value?, line);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn reader() -> Reader {
        Reader::new(&Limits::default())
    }

    #[test]
    fn the_closest_value_is_found() {
        let field = |name: &str| Step::Field(name.to_owned());
        let text = b"# c\na: {b: [x,\n  y]}\n? [a]\n: 1\nc:\n- - 1\n- k: v\nc2: *x\n";
        let text = String::from_utf8_lossy(text).replace("*x", "x");
        let expected = [
            (vec![], 2),
            (vec![field("a"), field("b"), Step::Item(1)], 3),
            (vec![field("a"), field("z")], 2),
            (vec![field("c")], 6),
            (vec![field("c"), Step::Item(1), field("k")], 8),
            (vec![field("c"), Step::Item(7)], 6),
            (vec![field("c2")], 9),
            (vec![field("none")], 2),
        ];
        let paths = expected.iter().map(|(path, _)| path.as_slice());
        let lines = expected.iter().map(|(_, line)| *line).collect();
        assert_eq!(locate(text.as_bytes(), paths, &reader()), Some(lines));
    }

    #[test]
    fn a_text_that_is_not_yaml_has_no_lines() {
        assert_eq!(locate(b"", [&[][..]], &reader()), None);
        let path = [Step::Field("a".to_owned())];
        assert_eq!(locate(b"a: [", [&path[..]], &reader()), None);
    }
}
