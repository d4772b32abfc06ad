//! Changes a list in the text of a YAML mapping.
//!
//! The result is only a candidate: the caller checks what it means. So these functions need not
//! know all of YAML.

use std::ops::Range;

use unlade_yaml::{Documents, Limits, Reader, Step, json::quote, locate, read_json};

use crate::{Form, Meta, meta::items};

use super::{Entries, Item, Room, json, white_space};

/// Returns a candidate for the text with new items of the list `key`. Those whose index is not in
/// the list are added after the last one.
pub(super) fn set_items(
    text: &str,
    key: &str,
    meta: &Meta,
    entries: &Entries<'_>,
    limits: &Limits,
    room: &mut Room,
) -> Option<String> {
    let list = List::find(text, key, meta, limits)?;
    if list.items.is_empty() {
        list.add_in_flow(entries)
    } else {
        list.set_in_block(entries, limits, room)
    }
}

/// A list in a text. Lines are counted from 0.
struct List<'t> {
    lines: Vec<&'t str>,
    /// The line of its key.
    key: usize,
    /// The line of each item.
    items: Vec<usize>,
    /// The line after the content of the list.
    end: usize,
}

impl<'t> List<'t> {
    fn find(text: &'t str, key: &str, meta: &Meta, limits: &Limits) -> Option<Self> {
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let field = |key: &str| Step::Field(key.to_owned());
        let keys = meta.value().entries().map(|(key, _)| vec![field(key)]);
        let paths: Vec<_> =
            [vec![field(key)], vec![field(key), Step::Item(0)]].into_iter().chain(keys).collect();
        let reader = Reader::new(limits);
        reader.grow(text.len());
        let found = locate(text.as_bytes(), paths.iter().map(Vec::as_slice), &reader)?;
        let mut found = found.into_iter().filter_map(|line| usize::try_from(line - 1).ok());
        let (start, first) = (found.next()?, found.next()?);
        let end = found.filter(|line| *line > start).min().unwrap_or(lines.len());
        let n_items = items(meta.value(), key).count();
        let items = find_dashes(&lines, start + 1..end, first, n_items)?;
        let end = match items.last() {
            Some(last) => end_of_item(&lines, *last..end, limits)?,
            None => end_of_content(&lines, start..end)?,
        };
        Some(Self { lines, key: start, items, end })
    }

    fn set_in_block(
        &self,
        entries: &Entries<'_>,
        limits: &Limits,
        room: &mut Room,
    ) -> Option<String> {
        let (mut changed, mut done) = (String::new(), 0);
        for (index, item) in entries {
            let (range, new) = self.item_in_block(*index, item, limits, room)?;
            changed.extend(self.lines.get(done..range.start)?.iter().copied());
            if !changed.ends_with('\n') {
                changed.push('\n');
            }
            changed.push_str(&new);
            done = range.end;
        }
        changed.extend(self.lines.get(done..)?.iter().copied());
        Some(changed)
    }

    /// Returns an item as a part of the block, and the lines that it replaces.
    fn item_in_block(
        &self,
        index: usize,
        item: &Item<'_>,
        limits: &Limits,
        room: &mut Room,
    ) -> Option<(Range<usize>, String)> {
        let dash = *self.items.get(index).or(self.items.last())?;
        let prefix = white_space(self.lines.get(dash)?);
        let end = match self.items.get(index + 1) {
            Some(next) => end_of_item(&self.lines, dash..*next, limits)?,
            None => self.end,
        };
        if index < self.items.len()
            && let Some(field) = self.field_in_block(dash..end, item, limits, room)
        {
            return Some(field);
        }
        let text = Form::Yaml.write(item.json, limits).ok()?;
        let lead = prefix.len() + "- ".len();
        room.take(text.lines().count().saturating_mul(lead).saturating_add(text.len()))?;
        let mut new = String::new();
        for (n, line) in text.trim_start_matches("---\n").lines().enumerate() {
            let lead = if n == 0 { "- " } else { "  " };
            if !line.is_empty() {
                new.extend([prefix, lead, line]);
            }
            new.push('\n');
        }
        Some((if index < self.items.len() { dash } else { end }..end, new))
    }

    /// Returns the changed field of an item, and the lines that it replaces. Returns `None` if the
    /// result would have another meaning, for example because the item is in flow style.
    fn field_in_block(
        &self,
        range: Range<usize>,
        item: &Item<'_>,
        limits: &Limits,
        room: &mut Room,
    ) -> Option<(Range<usize>, String)> {
        let (name, value) = item.field.as_ref()?;
        let text = item_as_document(self.lines.get(range.clone())?);
        let path = |key: &str| vec![Step::Field(key.to_owned())];
        let keys = json::fields(item.json)?;
        let paths: Vec<_> =
            [path(name)].into_iter().chain(keys.keys().map(|key| path(key))).collect();
        let found = locate(text.as_bytes(), paths.iter().map(Vec::as_slice), &Reader::new(limits))?;
        let mut found = found.into_iter().filter_map(|line| usize::try_from(line - 1).ok());
        let start = found.next()?;
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let next = found.filter(|line| *line > start).min().unwrap_or(lines.len());
        let indent = white_space(lines.get(start)?);
        let end = end_of_field(&lines, start..next, limits)?;
        let field = Form::Yaml.write(&format!("{{{}:{value}}}", quote(name)), limits).ok()?;
        let n_lines = field.lines().count();
        room.take(n_lines.saturating_mul(indent.len()).saturating_add(field.len()))?;
        let mut new = String::new();
        for line in field.trim_start_matches("---\n").lines() {
            if !line.is_empty() {
                new.extend([indent, line]);
            }
            new.push('\n');
        }
        let changed = [&lines.get(..start)?.concat(), &*new, &lines.get(end..)?.concat()].concat();
        let expected = read_json(item.json.as_bytes(), limits).ok()?.root().to_float_json();
        if read_only_document(&changed, limits)? != expected {
            return None;
        }
        // The first line of the item keeps its dash.
        let at = range.start + start;
        new.replace_range(..indent.len(), self.lines.get(at)?.get(..indent.len())?);
        Some((at..range.start + end, new))
    }

    fn add_in_flow(&self, entries: &Entries<'_>) -> Option<String> {
        let part = self.lines.get(self.key..self.end)?.concat();
        let (inside, behind) = part.rsplit_once(']')?;
        let item = |(index, item): (&usize, &Item<'_>)| {
            let separator = if *index == 0 { "" } else { ", " };
            format!("{separator}{}", item.json)
        };
        let new: String = entries.iter().map(item).collect();
        let before = self.lines.get(..self.key)?.concat();
        let after = self.lines.get(self.end..)?.concat();
        Some(format!("{before}{inside}{new}]{behind}{after}"))
    }
}

/// Returns an item as a document of its own: a blank takes the place of its dash.
fn item_as_document(lines: &[&str]) -> String {
    lines.concat().replacen('-', " ", 1)
}

/// Returns the value of the only document of a text as JSON.
fn read_only_document(text: &str, limits: &Limits) -> Option<String> {
    let reader = Reader::new(limits);
    let mut documents = Documents::new(text.as_bytes(), &reader);
    let first = documents.next().ok()??.document.ok()?.tree.root().to_float_json();
    documents.next().ok()?.is_none().then_some(first)
}

/// Returns the line after the last content of a range. Comments and blank lines before what follows
/// belong to that.
fn end_of_content(lines: &[&str], range: Range<usize>) -> Option<usize> {
    let is_content = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && line != "..."
    };
    let last = lines.get(range.clone())?.iter().rposition(|line| is_content(line))?;
    Some(range.start + last + 1)
}

/// Returns the line after an item. `range` begins with the item, and ends where the next content
/// begins.
fn end_of_item(lines: &[&str], range: Range<usize>, limits: &Limits) -> Option<usize> {
    let text = item_as_document(lines.get(range.clone())?);
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    Some(range.start + end_of_field(&lines, 0..lines.len(), limits)?)
}

/// Returns the line after a field of a document, or after all of its fields. `range` is that of
/// [`end_of_item`].
fn end_of_field(lines: &[&str], range: Range<usize>, limits: &Limits) -> Option<usize> {
    let end = end_of_content(lines, range.clone())?;
    let indent = white_space(lines.get(range.start)?);
    let is_deeper = |line: &&str| !line.trim().is_empty() && white_space(line).len() > indent.len();
    let Some(last) = lines.get(end..range.end)?.iter().rposition(is_deeper) else {
        return Some(end);
    };
    // The last lines of a text can look like comments, but the document differs without them.
    let without = [lines.get(..end)?.concat(), lines.get(range.end..)?.concat()].concat();
    let are_comments =
        read_only_document(&without, limits) == read_only_document(&lines.concat(), limits);
    Some(if are_comments { end } else { end + last + 1 })
}

/// Returns the lines of the dashes of a block list within `range`, or no lines of a list in flow
/// style. `first` is the line where the value of the first item begins.
fn find_dashes(
    lines: &[&str],
    range: Range<usize>,
    first: usize,
    n_items: usize,
) -> Option<Vec<usize>> {
    let line = |line: usize| lines.get(line).copied().unwrap_or_default();
    let mut above = (range.start..=first).rev();
    let Some(first) = above.find(|&it| line(it).trim_start().starts_with('-')) else {
        return Some(Vec::new());
    };
    let indent = white_space(line(first));
    let is_dash = |&it: &usize| {
        let rest = line(it).strip_prefix(indent).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let dashes: Vec<_> = (first..range.end).filter(is_dash).collect();
    (dashes.len() == n_items).then_some(dashes)
}
