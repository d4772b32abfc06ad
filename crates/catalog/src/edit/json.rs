//! Changes a list in the text of a JSON object.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use serde_json::value::RawValue;
use unlade_yaml::{Limits, json::indent};

use super::Entries;

/// Returns the text with new items of the list `key`. Those whose index is not in the list are
/// added after the last one. Returns `None` if the text or an item is not JSON, or if an index
/// would leave a gap.
pub(super) fn set_items(
    text: &str,
    key: &str,
    entries: &Entries<'_>,
    limits: &Limits,
) -> Option<String> {
    let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text).ok()?;
    let list = fields.get(key)?.get();
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let place = |part: &str| -> Option<Range<usize>> {
        let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + part.len())
    };
    let (mut changed, mut done, mut n_items) = (String::with_capacity(text.len()), 0, items.len());
    for (index, item) in entries {
        let item = serde_json::from_str::<&RawValue>(item).ok()?.get();
        if *index > n_items {
            return None;
        }
        n_items = n_items.max(index + 1);
        let (range, new) = match items.get(*index).or(items.last()) {
            None => {
                let start = place(list)?.start + 1;
                let separator = if *index == 0 { "" } else { "," };
                (start..start, format!("{separator}{item}"))
            }
            Some(model) => {
                let range = place(model.get())?;
                let before = text.get(..range.start)?;
                let gap = before.get(before.trim_end().len()..)?;
                let item = format_like(model.get(), gap, item, limits)?;
                if *index < items.len() {
                    (range, item)
                } else {
                    (range.end..range.end, format!(",{gap}{item}"))
                }
            }
        };
        changed.push_str(text.get(done..range.start)?);
        changed.push_str(&new);
        done = range.end;
    }
    changed.push_str(text.get(done..)?);
    Some(changed)
}

/// Formats `item` in the style of `model`, which follows the white space `gap`.
fn format_like(model: &str, gap: &str, item: &str, limits: &Limits) -> Option<String> {
    let Some(second) = model.lines().nth(1) else { return Some(item.to_owned()) };
    let base = gap.rsplit('\n').next().unwrap_or_default();
    let second = second.get(..second.len() - second.trim_start().len())?;
    let unit = second.strip_prefix(base).filter(|unit| !unit.is_empty()).unwrap_or("    ");
    let text = indent(item, unit, limits.output).ok()?;
    Some(text.replace('\n', &format!("\n{base}")))
}
