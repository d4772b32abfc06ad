//! Composes documents in the block style of manifests, line by line.
//!
//! Nearly all manifests consist of block mappings and sequences, plain and quoted scalars, and
//! block scalars. Reading only these takes a fraction of the time of the parser library. At the
//! first construct whose meaning is not certain, [`compose`] returns `None`, and the library reads
//! the whole text. So errors, limits and everything else of YAML are implemented once, and this
//! module only has to be right about what it accepts (docs/decisions/0029).

mod flow;
mod frame;
mod line;
mod literal;
mod nodes;
mod scalar;
mod text;

use crate::compose::Composed;
use crate::json::NodeId;
use crate::{Outline, Reader, Scalars};

use frame::{Frame, Keep, Kind, Pending};
use line::{Line, Lines, is_end, skip_spaces};
use nodes::{Checked, Nodes};
use scalar::{Start, Text};

/// The maximum nesting. Published manifests have at most 34 levels.
const MAX_DEPTH: usize = 64;

/// The events of the library that contain no value: the start of the stream, and the start and the
/// end of the document.
const FRAME_EVENTS: u64 = 3;

/// Composes the only document of a text. Returns `None` if the library has to read the text.
///
/// The value, the work and the limits are those of the library. If a limit would be exceeded, the
/// library reports it.
pub(super) fn compose(bytes: &[u8], scalars: Scalars, reader: &Reader) -> Option<Composed> {
    read(bytes, scalars, Keep::All, &[], reader)
}

/// Composes the only document of a text as [`compose`] does, but omits what is not in `outline`
/// (docs/decisions/0033). What is omitted is checked and counted in the same way.
pub(super) fn compose_outline(
    bytes: &[u8],
    outline: &Outline,
    reader: &Reader,
) -> Option<Composed> {
    read(bytes, Scalars::Resolved, Keep::Object(outline.parts), outline.whole, reader)
}

fn read(
    bytes: &[u8],
    scalars: Scalars,
    keep: Keep,
    whole: &'static [&'static str],
    reader: &Reader,
) -> Option<Composed> {
    if reader.is_library_only() {
        return None;
    }
    let text = text::check(bytes)?;
    let is_whole = matches!(keep, Keep::All);
    let nodes = Nodes::new(reader, scalars, if is_whole { text.len() } else { 0 });
    let mut composer = Composer::new(text, nodes, reader);
    (composer.keep, composer.whole) = (keep, whole);
    composer.read()?;
    composer.finish()
}

struct Composer<'t, 'r> {
    reader: &'r Reader,
    lines: Lines<'t>,
    /// What is kept of the document.
    keep: Keep,
    /// The kinds of objects that are kept whole.
    whole: &'static [&'static str],
    /// Whether the text has a tab anywhere.
    has_tab: bool,
    nodes: Nodes<'r>,
    open: Vec<Frame>,
    root: Option<NodeId>,
    /// A scalar of several lines, or with escapes.
    scratch: String,
    /// The number of events that the library would return.
    events: u64,
    /// The number of these events within flow collections.
    flow_events: u64,
    deepest: usize,
}

impl<'t, 'r> Composer<'t, 'r> {
    fn new(text: &'t str, nodes: Nodes<'r>, reader: &'r Reader) -> Self {
        Self {
            reader,
            lines: Lines::new(text),
            keep: Keep::All,
            whole: &[],
            has_tab: text.contains('\t'),
            nodes,
            open: Vec::new(),
            root: None,
            scratch: String::new(),
            events: 0,
            flow_events: 0,
            deepest: 0,
        }
    }

    fn read(&mut self) -> Option<()> {
        let mut line = self.lines.next_content()?;
        if line.content.strip_prefix("---").is_some_and(is_end) && line.column == 0 {
            line = self.lines.next_content()?;
        }
        // An indented document has rules of its own.
        if line.column > 0 {
            return None;
        }
        let has_tab = self.has_tab;
        let mut next = Some(line);
        while let Some(line) = next {
            let is_marker = line.column == 0
                && (line.content.starts_with("---") || line.content.starts_with("..."));
            if is_marker || has_tab && line.content.contains('\t') {
                return None;
            }
            self.read_line(line)?;
            next = self.lines.next_content();
        }
        while !self.open.is_empty() {
            self.close()?;
        }
        Some(())
    }

    fn finish(self) -> Option<Composed> {
        let root = self.root?;
        self.nodes.check_memory()?;
        if !self.reader.spend_events(FRAME_EVENTS + self.events, self.flow_events) {
            return None;
        }
        let (builder, depth) = (self.nodes.into_builder(), self.deepest);
        Some(Composed { builder, root: Some(root), shared: false, depth, end: 0 })
    }

    /// Reads a line that starts a node, a key or an item.
    fn read_line(&mut self, line: Line<'t>) -> Option<()> {
        let Line { column, content } = line;
        while self.open.last().is_some_and(|frame| frame.column > column) {
            self.close()?;
        }
        self.nodes.check_memory()?;
        match self.open.last() {
            None if self.root.is_none() => self.read_node(column, content),
            Some(frame) if frame.column == column => self.continue_frame(column, content),
            Some(frame) if frame.is_pending() => self.read_node(column, content),
            _ => None,
        }
    }

    /// Reads the next key or item of the innermost collection, which is at `column`.
    fn continue_frame(&mut self, column: usize, content: &'t str) -> Option<()> {
        let is_item = is_item(content);
        match self.open.last()?.kind {
            // A sequence may have the column of its key.
            Kind::Mapping { pending: Some(_) } if is_item => self.read_node(column, content),
            Kind::Mapping { .. } => {
                self.complete_pending()?;
                self.read_field(content)
            }
            Kind::Sequence { .. } if is_item => {
                self.complete_pending()?;
                self.read_item(column, content)
            }
            Kind::Sequence { .. } => {
                self.close()?;
                let parent = self.open.last()?;
                match parent.kind {
                    Kind::Mapping { .. } if parent.column == column => self.read_field(content),
                    _ => None,
                }
            }
        }
    }

    /// Reads a node that begins at `column`.
    fn read_node(&mut self, column: usize, content: &'t str) -> Option<()> {
        if is_item(content) {
            self.open(Kind::Sequence { pending: false }, column, self.nodes.n_items())?;
            return self.read_item(column, content);
        }
        match scalar::start(content, &mut String::new())? {
            Start::Key(name, rest) => {
                self.open(Kind::Mapping { pending: None }, column, self.nodes.n_fields())?;
                self.read_value(name, rest)
            }
            Start::Other => self.read_scalar(content),
        }
    }

    /// Reads what follows the dash of an item.
    fn read_item(&mut self, column: usize, content: &'t str) -> Option<()> {
        let frame = self.open.last_mut()?;
        frame.kind = Kind::Sequence { pending: true };
        let after = content.get(1..)?;
        if is_end(after) {
            return Some(());
        }
        let node = skip_spaces(after);
        self.read_node(column + content.len() - node.len(), node)
    }

    fn read_field(&mut self, content: &'t str) -> Option<()> {
        match scalar::start(content, &mut String::new())? {
            Start::Key(name, rest) => self.read_value(name, rest),
            Start::Other => None,
        }
    }

    /// Reads what follows the colon of a key.
    fn read_value(&mut self, name: Text<'_>, rest: &'t str) -> Option<()> {
        let frame = self.open.last()?;
        let keep = frame.keep.of_field(name);
        let is_kind = matches!(frame.keep, Keep::Object(_)) && name.text() == "kind";
        let key = self.nodes.key(name, keep.is_nothing())?;
        self.events += 1;
        self.open.last_mut()?.kind = Kind::Mapping { pending: Some(Pending { key, keep }) };
        if is_end(rest) {
            return Some(());
        }
        let value = skip_spaces(rest);
        // Most objects start with their kind. If it is written otherwise, and something of such an
        // object is omitted, the caller does not use the result.
        if is_kind && self.whole.contains(&value) {
            self.open.last_mut()?.keep = Keep::All;
        }
        self.read_scalar(value)
    }

    fn read_scalar(&mut self, content: &'t str) -> Option<()> {
        let frame = self.open.last()?;
        let (column, is_omitted) = (frame.column, frame.keep_child().is_nothing());
        let scalar = match content.as_bytes().first()? {
            b'"' | b'\'' => {
                Text::Quoted(scalar::quoted(content, &mut self.lines, &mut self.scratch)?)
            }
            b'|' | b'>' => {
                literal::read(content, column, &mut self.lines, &mut self.scratch)?;
                Text::Quoted(&self.scratch)
            }
            b'[' | b'{' => return self.read_flow(content, is_omitted),
            _ => Text::Plain(scalar::plain(content, column, &mut self.lines, &mut self.scratch)?),
        };
        let value = self.nodes.scalar(scalar, is_omitted)?;
        self.events += 1;
        self.complete(value)
    }

    fn read_flow(&mut self, content: &'t str, is_omitted: bool) -> Option<()> {
        let (value, n_scalars) = self.nodes.flow(&flow::read(content)?, is_omitted)?;
        // The start, the end and all scalars.
        self.events += 2 + n_scalars as u64;
        self.flow_events += 1 + n_scalars as u64;
        self.deepest = self.deepest.max(self.open.len() + 1);
        self.complete(value)
    }

    fn open(&mut self, kind: Kind, column: usize, from: usize) -> Option<()> {
        if self.open.len() >= MAX_DEPTH.min(self.reader.limits().depth) {
            return None;
        }
        let keep = self.open.last().map_or(self.keep, Frame::keep_child);
        self.open.push(Frame { kind, column, from, keep });
        self.deepest = self.deepest.max(self.open.len());
        self.events += 1;
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        self.complete_pending()?;
        self.nodes.check_memory()?;
        let frame = self.open.pop()?;
        let is_omitted = frame.keep.is_nothing();
        let value = match frame.kind {
            Kind::Mapping { .. } => self.nodes.object(frame.from, is_omitted),
            Kind::Sequence { .. } => self.nodes.array(frame.from, is_omitted),
        };
        self.events += 1;
        if self.open.is_empty() {
            self.root = match value {
                Checked::Stored(root) => Some(root),
                Checked::Omitted => None,
            };
            return Some(());
        }
        self.complete(value)
    }

    /// Completes a key or a dash without a node with the value null.
    fn complete_pending(&mut self) -> Option<()> {
        let frame = self.open.last()?;
        if !frame.is_pending() {
            return Some(());
        }
        self.events += 1;
        let value = self.nodes.null(frame.keep_child().is_nothing());
        self.complete(value)
    }

    /// Completes a value.
    fn complete(&mut self, value: Checked<NodeId>) -> Option<()> {
        match &mut self.open.last_mut()?.kind {
            Kind::Mapping { pending } => self.nodes.push_field(pending.take()?.key, value),
            Kind::Sequence { pending } => {
                self.nodes.push_item(value);
                *pending = false;
            }
        }
        Some(())
    }
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

#[cfg(test)]
mod tests;
