//! Changes a list in the text of a JSON object.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use serde_json::value::RawValue;
use unlade_yaml::{Limits, json::indent};

/// Returns the text with the item `index` of the list `key` replaced by `item`, or with `item`
/// added after the last one. Returns `None` if the text is not JSON.
pub(super) fn set_item(
    text: &str,
    key: &str,
    index: usize,
    item: &str,
    limits: &Limits,
) -> Option<String> {
    let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text).ok()?;
    let list = fields.get(key)?.get();
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let place = |part: &str| -> Option<Range<usize>> {
        let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + part.len())
    };
    let model = items.get(index).or(items.last());
    let Some(model) = model else {
        let start = place(list)?.start + 1;
        return Some(splice(text, start..start, item));
    };
    let range = place(model.get())?;
    let before = text.get(..range.start)?;
    let gap = before.get(before.trim_end().len()..)?;
    let item = format_like(model.get(), gap, item, limits)?;
    Some(if index < items.len() {
        splice(text, range, &item)
    } else {
        splice(text, range.end..range.end, &format!(",{gap}{item}"))
    })
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

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let mut changed = text.to_owned();
    changed.replace_range(range, new);
    changed
}
