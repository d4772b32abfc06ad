//! Finds the line of a value in a text.

use super::event::{self, Data, Event};
use super::source::Source;
use super::{Limits, Reader};

/// A step from a value to one of its children.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The value of this key.
    Field(String),
    /// The item with this index, counted from 0.
    Item(usize),
}

/// Returns the line of the value at `path` in the first document of `text`, counted from 1. For a
/// field, it is the line of its key. If the value does not exist, it is the line of the closest
/// value around it. Returns `None` if the text is not YAML.
///
/// ```
/// use unlade_yaml::{Limits, Step, locate};
///
/// let path = [Step::Field("entries".into()), Step::Item(1), Step::Field("name".into())];
/// let text = b"entries:\n- name: a\n- replaces: a\n  name: b\n";
/// assert_eq!(locate(text, &path, &Limits::default()), Some(4));
/// ```
pub fn locate(text: &[u8], path: &[Step], limits: &Limits) -> Option<u64> {
    let reader = Reader::new(limits);
    reader.begin(text).ok()?;
    let begin = || Locator { path, open: Vec::new(), found: (0, 0) };
    let mut source = Source::new(text);
    let located = event::parse(&mut source, &reader, begin, |locator: &mut Locator<'_>, event| {
        locator.take(event);
        Ok(())
    })
    .ok()?;
    let (_, line) = located.found;
    (line > 0).then_some(line)
}

struct Locator<'p> {
    path: &'p [Step],
    open: Vec<Frame>,
    /// The number of steps to the closest value so far, and its line.
    found: (usize, u64),
}

/// An open collection.
struct Frame {
    /// Whether the path leads through it.
    is_on_path: bool,
    slot: Slot,
}

enum Slot {
    Item(usize),
    Key,
    /// The value of a key: whether the path leads through it, and the line of the key.
    Value(bool, u64),
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
        let is_on_path = self.begin(line, None);
        self.open.push(Frame { is_on_path, slot });
    }

    /// Begins a node, which may be a key. Returns whether the path leads through it.
    fn begin(&mut self, line: u64, text: Option<&str>) -> bool {
        let n_steps = self.open.len();
        let Some(frame) = self.open.last_mut() else {
            self.found = (0, line);
            return true;
        };
        let step = self.path.get(n_steps - 1);
        let (is_next, line) = match &mut frame.slot {
            Slot::Item(index) => {
                *index += 1;
                (step == Some(&Step::Item(*index - 1)), line)
            }
            slot @ Slot::Key => {
                let is_next =
                    matches!((step, text), (Some(Step::Field(name)), Some(text)) if name == text);
                *slot = Slot::Value(is_next, line);
                return false;
            }
            slot => {
                let Slot::Value(is_next, line) = std::mem::replace(slot, Slot::Key) else {
                    return false;
                };
                (is_next, line)
            }
        };
        let is_on_path = frame.is_on_path && is_next;
        if is_on_path && n_steps >= self.found.0 {
            self.found = (n_steps, line);
        }
        is_on_path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_value_is_found() {
        let field = |name: &str| Step::Field(name.to_owned());
        let text = b"# c\na: {b: [x,\n  y]}\n? [a]\n: 1\nc:\n- - 1\n- k: v\nc2: *x\n";
        let text = String::from_utf8_lossy(text).replace("*x", "x");
        for (path, line) in [
            (vec![], 2),
            (vec![field("a"), field("b"), Step::Item(1)], 3),
            (vec![field("a"), field("z")], 2),
            (vec![field("c")], 6),
            (vec![field("c"), Step::Item(1), field("k")], 8),
            (vec![field("c"), Step::Item(7)], 6),
            (vec![field("c2")], 9),
            (vec![field("none")], 2),
        ] {
            assert_eq!(locate(text.as_bytes(), &path, &Limits::default()), Some(line), "{path:?}");
        }
    }

    #[test]
    fn a_text_that_is_not_yaml_has_no_lines() {
        assert_eq!(locate(b"", &[], &Limits::default()), None);
        assert_eq!(locate(b"a: [", &[Step::Field("a".to_owned())], &Limits::default()), None);
    }
}
