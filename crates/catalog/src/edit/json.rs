//! Changes a list in the text of a JSON object.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use serde_json::value::RawValue;
use unlade_yaml::json::indent;

use super::{Entries, Room, white_space};

/// Returns the text with new items of the list `key`. Those whose index is not in the list are
/// added after the last one. Returns `None` if the text or an item is not JSON, if an index would
/// leave a gap, or if the items have no room.
pub(super) fn set_items(
    text: &str,
    key: &str,
    entries: &Entries<'_>,
    room: &mut Room,
) -> Option<String> {
    let list = fields(text)?.get(key)?.get();
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let place = |part: &str| -> Option<Range<usize>> {
        let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + part.len())
    };
    // All added items have the same layout, and finding it can take as long as reading the text.
    let model = match items.last() {
        Some(item) => Some((place(item.get())?.end, Layout::find(text, place(item.get())?)?)),
        None => None,
    };
    let (mut changed, mut done, mut n_items) = (String::with_capacity(text.len()), 0, items.len());
    for (index, item) in entries {
        let field = item.field.as_ref();
        let item = serde_json::from_str::<&RawValue>(item.json).ok()?.get();
        // The value of the changed field in an old item, and its new value.
        let value = |old: &RawValue| {
            let (name, value) = field?;
            Some((place(fields(old.get())?.get(name.as_str())?.get())?, (*value).to_owned()))
        };
        if *index > n_items {
            return None;
        }
        n_items = n_items.max(index + 1);
        let (range, new) = match (items.get(*index), &model) {
            (Some(old), _) => {
                if let Some(value) = value(old) {
                    value
                } else {
                    let range = place(old.get())?;
                    (range.clone(), Layout::find(text, range)?.format(item, room)?)
                }
            }
            (None, Some((end, layout))) => {
                room.take(layout.gap.len())?;
                (*end..*end, format!(",{}{}", layout.gap, layout.format(item, room)?))
            }
            (None, None) => {
                let start = place(list)?.start + 1;
                let separator = if *index == 0 { "" } else { "," };
                (start..start, format!("{separator}{item}"))
            }
        };
        changed.push_str(text.get(done..range.start)?);
        changed.push_str(&new);
        done = range.end;
    }
    changed.push_str(text.get(done..)?);
    Some(changed)
}

/// Returns the fields of an object, as they are in the text. Returns `None` if it is not JSON.
pub(super) fn fields(text: &str) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_str(text).ok()
}

/// The layout of an item.
struct Layout<'t> {
    /// The white space before the item.
    gap: &'t str,
    /// The white space before the lines of the item, and what each level adds to it. `None` if the
    /// item is one line.
    indentation: Option<(&'t str, &'t str)>,
}

impl<'t> Layout<'t> {
    /// Finds the layout of the item at `range`.
    fn find(text: &'t str, range: Range<usize>) -> Option<Self> {
        let before = text.get(..range.start)?;
        let gap = before.get(before.trim_end().len()..)?;
        let indentation = text.get(range)?.lines().nth(1).map(|second| {
            let base = gap.rsplit('\n').next().unwrap_or_default();
            let unit = white_space(second).strip_prefix(base).filter(|unit| !unit.is_empty());
            (base, unit.unwrap_or("    "))
        });
        Some(Self { gap, indentation })
    }

    fn format(&self, item: &str, room: &mut Room) -> Option<String> {
        let Some((base, unit)) = self.indentation else { return Some(item.to_owned()) };
        let Ok(text) = indent(item, unit, room.0?) else {
            room.0 = None;
            return None;
        };
        room.take(
            text.matches('\n').count().saturating_mul(base.len()).saturating_add(text.len()),
        )?;
        Some(text.replace('\n', &format!("\n{base}")))
    }
}
