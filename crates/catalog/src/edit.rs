//! Changes a file of a catalog, and keeps the bytes of everything else in it.
//!
//! ```
//! use unlade_catalog::{CHANNEL, edit::{self, Edit}};
//! use unlade_yaml::Limits;
//!
//! let file = b"# Tea.\nschema: olm.channel\nname: stable\npackage: tea\nentries:\n- name: tea.v1\n";
//! let channel = edit::Target { schema: CHANNEL, package: "tea", name: "stable" };
//! let entry = r#"{"name":"tea.v2","replaces":"tea.v1"}"#;
//! let edit = Edit::SetEntry { target: channel, index: 1, entry };
//! let changed = edit::apply(file, &[edit], &Limits::default())?;
//! let expected = [&file[..], b"- name: tea.v2\n  replaces: tea.v1\n"].concat();
//! assert_eq!(changed, expected);
//! # Ok::<(), edit::Error>(())
//! ```

mod json;
mod yaml;

use std::{borrow::Cow, cell::Cell, collections::BTreeMap};

use sha2::{Digest as _, Sha256};
use unlade_text::excerpt::shorten;
use unlade_yaml::{
    self as yaml_text, Documents, Limits, Reader, StreamError,
    json::{Value, is_folded},
    read_json,
};

use crate::{DEPRECATIONS, Form, Meta, MetaError};

/// The maximum size of all indented items of a change, in bytes. A new item has a few kilobytes.
const MAX_INDENTED: usize = 16 << 20;

/// The meta to change. `name` is empty for an `olm.deprecations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target<'n> {
    /// Its schema.
    pub schema: &'n str,
    /// Its package.
    pub package: &'n str,
    /// Its name.
    pub name: &'n str,
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit<'e> {
    /// Sets an item of the `entries` of a meta, or adds one. Comments and the layout of all other
    /// items remain. If the new item differs from the old one in the value of one field, everything
    /// else in the item remains too, unless the layout of YAML prevents this. A comment on the
    /// line of the value is removed.
    SetEntry {
        /// The meta.
        target: Target<'e>,
        /// The index of the item. If it is their number, an item is added.
        index: usize,
        /// The item, as compact JSON.
        entry: &'e str,
    },
    /// Adds a document to the end of a file, in the form that the file has: JSON or YAML. An empty
    /// file becomes YAML.
    Append {
        /// The compact JSON of a meta.
        json: Cow<'e, str>,
    },
}

/// The reason why a file is not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file has a document that cannot be read.
    #[error("failed to read a document")]
    Syntax(#[source] yaml_text::Error),
    /// The file cannot be split into documents.
    #[error("failed to separate the documents")]
    Stream(#[from] StreamError),
    /// A document is not a meta.
    #[error("a document does not belong to a catalog")]
    Meta(#[from] MetaError),
    /// The new part cannot be written.
    #[error("failed to write the new text")]
    Write(#[source] yaml_text::Error),
    /// The file does not contain the meta.
    #[error("the {} does not exist in the file", format!("{schema} {name}").trim_end())]
    Missing {
        /// The schema of the meta.
        schema: String,
        /// Its name.
        name: String,
    },
    /// The new items of lists are too large, because each of their lines is indented.
    #[error("the new items and their indentation are larger than {limit} bytes")]
    TooLarge {
        /// 16 MiB, or [`Limits::output`] if that is less.
        limit: usize,
    },
    /// No change of the text has the intended effect.
    #[error("line {line} and the lines below cannot be changed in place")]
    Unchangeable {
        /// The line of the document, or the last line of the file.
        line: u64,
    },
}

/// A document of a file.
struct Part {
    /// The offset of its first byte.
    start: usize,
    /// Its length in bytes.
    len: usize,
    line: u64,
    /// The digest of its value.
    digest: [u8; 32],
}

/// The index of the document of each meta that is changed.
type Places<'e> = BTreeMap<Target<'e>, Cell<Option<usize>>>;

/// Metas by the indices of their documents.
type Metas = BTreeMap<usize, Meta>;

/// The new items of the entries of a meta, by their indices.
type Entries<'e> = BTreeMap<usize, Item<'e>>;

/// A new item of a list.
struct Item<'e> {
    /// Its compact JSON.
    json: &'e str,
    /// The name and the JSON of the only field with another value than in the item that this one
    /// replaces.
    field: Option<(String, &'e str)>,
}

/// The remaining size of all indented items, in bytes, or `None` if it was exceeded. Each line of
/// an item repeats the indentation of the list, so 3 kB of blanks and 100,000 lines became 770 MB.
struct Room(Option<usize>);

impl Room {
    fn take(&mut self, len: usize) -> Option<()> {
        self.0 = self.0?.checked_sub(len);
        self.0.map(drop)
    }
}

/// Changes a file. The time depends on the sizes of the file and the edits, and not on their
/// product. If several edits set the same item, the last one counts.
///
/// The file is read once before and once after the change, so pass all edits of a file together.
/// YAML and metas that do not fit into [`Limits::tree`] together are read once more.
///
/// # Errors
///
/// Returns an error if the file cannot be read, if a meta does not exist or cannot be changed in
/// place, such as entries that are written as an alias of YAML, or if a document at the end of the
/// file would be lost.
pub fn apply(file: &[u8], edits: &[Edit<'_>], limits: &Limits) -> Result<Vec<u8>, Error> {
    let (mut parts, places, mut metas) = find(file, edits, limits)?;
    let is_json = file.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let (mut by_document, mut appended): (BTreeMap<_, BTreeMap<_, _>>, Vec<_>) = Default::default();
    for edit in edits {
        match edit {
            Edit::Append { json } => appended.push(json),
            Edit::SetEntry { target, index, entry } => {
                let at = places.get(target).and_then(Cell::get).ok_or_else(|| {
                    let (schema, name) = (shorten(target.schema), shorten(target.name));
                    Error::Missing { schema, name }
                })?;
                by_document.entry(at).or_default().insert(*index, *entry);
            }
        }
    }
    let limit = limits.output.min(MAX_INDENTED);
    let mut room = Room(Some(limit));
    let mut texts = BTreeMap::new();
    for (at, entries) in &by_document {
        let Some(part) = parts.get_mut(*at) else { continue };
        let text = file.get(part.start..part.start + part.len).map(str::from_utf8);
        let meta = metas.remove(at);
        let changed = match text {
            Some(Ok(text)) => set_entries(text, meta, part, entries, is_json, limits, &mut room),
            _ => None,
        };
        if room.0.is_none() {
            return Err(Error::TooLarge { limit });
        }
        texts.insert(*at, changed.ok_or(Error::Unchangeable { line: part.line })?);
    }
    let end = file.split_inclusive(|&byte| byte == b'\n').count() as u64;
    for json in &appended {
        let digest = digest(&Meta::from_json(json, limits)?);
        parts.push(Part { start: 0, len: 0, line: end, digest });
    }
    append(replace(file, &parts, &texts), &appended, is_json, &parts, limits)
}

/// Appends metas to a changed file, in the first form with which the file has the values of
/// `parts`. The values decide whether an edit is right, whatever the layout of the text is.
fn append(
    mut file: Vec<u8>,
    metas: &[&Cow<'_, str>],
    is_json: bool,
    parts: &[Part],
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    if metas.is_empty() {
        return check_values(&file, parts, limits).map(|()| file);
    }
    if !file.is_empty() && !file.ends_with(b"\n") {
        file.push(b'\n');
    }
    let (len, mut checked) = (file.len(), Ok(()));
    for form in if is_json { [Form::Json, Form::Yaml] } else { [Form::Yaml, Form::Json] } {
        file.truncate(len);
        for json in metas {
            file.extend(form.write(json, limits).map_err(Error::Write)?.into_bytes());
        }
        checked = check_values(&file, parts, limits);
        if checked.is_ok() {
            break;
        }
    }
    checked.map(|()| file)
}

/// Reads the documents of a file, and finds those that are changed. Also returns their metas, as
/// many as fit into [`Limits::tree`].
fn find<'e>(
    file: &[u8],
    edits: &[Edit<'e>],
    limits: &Limits,
) -> Result<(Vec<Part>, Places<'e>, Metas), Error> {
    let targets = edits.iter().filter_map(|edit| match edit {
        Edit::SetEntry { target, .. } => Some((*target, Cell::new(None))),
        Edit::Append { .. } => None,
    });
    let places: Places<'e> = targets.collect();
    let (mut metas, mut memory) = (Metas::new(), 0);
    let parts = read(file, limits, |at, _, meta| {
        let (schema, package) = (&*meta.schema, &*meta.package);
        // A package has one such meta, and upstream ignores a name that it may have.
        let name = if schema == DEPRECATIONS { "" } else { &*meta.name };
        let place = places.get(&Target { schema, package, name });
        let Some(place) = place.filter(|place| place.get().is_none()) else { return };
        place.set(Some(at));
        if memory + meta.memory() <= limits.tree {
            memory += meta.memory();
            metas.insert(at, meta);
        }
    })?;
    Ok((parts, places, metas))
}

/// Returns the text of a document with other entries, and changes the digest of the part. `meta` is
/// its value, if that was kept.
fn set_entries(
    text: &str,
    meta: Option<Meta>,
    part: &mut Part,
    entries: &BTreeMap<usize, &str>,
    is_json: bool,
    limits: &Limits,
    room: &mut Room,
) -> Option<String> {
    let meta = match meta {
        Some(meta) => meta,
        None => read_alone(text, is_json, limits, part.digest)?,
    };
    // If there are several such keys, the first one in the order of the JSON counts.
    let keys = meta.value().entries().map(|(key, _)| key);
    let key = keys.filter(|key| is_folded(key, "entries")).min()?.to_owned();
    // The items as they are in a blob, because reading a large new blob again takes long.
    let item = |(index, item): (&usize, &&str)| {
        let tree = read_json(item.as_bytes(), limits).ok()?;
        Some((*index, tree.root().to_float_json()))
    };
    let items: BTreeMap<_, _> = entries.iter().map(item).collect::<Option<_>>()?;
    let old: Vec<_> = meta.value().get(&key)?.items().collect();
    let new_items = entries.iter().map(|(index, &json)| {
        let old = old.get(*index).map(Value::to_float_json).unwrap_or_default();
        let new = items.get(index).map(String::as_str).unwrap_or_default();
        (*index, Item { json, field: changed_field(&old, new, json) })
    });
    let entries: Entries<'_> = new_items.collect();
    let whole = items.iter().map(|(index, json)| (*index, Item { json, field: None }));
    let value = json::set_items(&meta.blob(), &key, &whole.collect(), room)?;
    let changed = json::set_items(text, &key, &entries, room)
        .or_else(|| yaml::set_items(text, &key, &meta, &entries, limits, room))?;
    part.digest = Sha256::digest(value).into();
    Some(changed)
}

/// Returns the name of the only field whose value differs in two objects, and its JSON in `json`,
/// which is the new object as it was passed.
fn changed_field<'e>(old: &str, new: &str, json: &'e str) -> Option<(String, &'e str)> {
    let (old, mut new) = (json::fields(old)?, json::fields(new)?);
    let n_fields = new.len();
    new.retain(|name, value| old.get(name).is_none_or(|old| old.get() != value.get()));
    let (name, _) = new.pop_first().filter(|(name, _)| old.contains_key(name))?;
    let is_only = new.is_empty() && old.len() == n_fields;
    let value = json::fields(json)?.get(&name)?.get();
    is_only.then(|| (name.into_owned(), value))
}

/// Reads the only document of a text. Returns `None` if it has another digest.
fn read_alone(text: &str, is_json: bool, limits: &Limits, expected: [u8; 32]) -> Option<Meta> {
    // Behind YAML, a document that begins with a brace is YAML too.
    let text = if is_json { Cow::from(text) } else { format!("---\n{text}").into() };
    let mut found = None;
    let parts = read(text.as_bytes(), limits, |_, _, meta| found = Some(meta)).ok()?;
    let [Part { digest, .. }] = parts.as_slice() else { return None };
    found.filter(|_| *digest == expected)
}

/// Returns a file with other texts of some of its documents.
fn replace(file: &[u8], parts: &[Part], texts: &BTreeMap<usize, String>) -> Vec<u8> {
    let (mut changed, mut done) = (Vec::with_capacity(file.len()), 0);
    for (at, text) in texts {
        let Some(Part { start, len, .. }) = parts.get(*at) else { continue };
        changed.extend_from_slice(file.get(done..*start).unwrap_or_default());
        changed.extend_from_slice(text.as_bytes());
        done = start + len;
    }
    changed.extend_from_slice(file.get(done..).unwrap_or_default());
    changed
}

/// Reads the documents of a file, and calls `visit` with the index, the digest and the meta of
/// each.
fn read(
    file: &[u8],
    limits: &Limits,
    mut visit: impl FnMut(usize, [u8; 32], Meta),
) -> Result<Vec<Part>, Error> {
    #[cfg(test)]
    tests::N_READINGS.set(tests::N_READINGS.get() + 1);
    let reader = Reader::new(limits);
    let mut documents = Documents::new(file, &reader);
    let mut parts = Vec::new();
    while let Some(segment) = documents.next()? {
        let meta = Meta::from_tree(segment.document.map_err(Error::Syntax)?.tree)?;
        let start = usize::try_from(segment.offset).unwrap_or(usize::MAX);
        let (len, line) = (segment.text.len(), segment.line);
        let digest = digest(&meta);
        visit(parts.len(), digest, meta);
        parts.push(Part { start, len, line, digest });
    }
    Ok(parts)
}

/// Returns the white space at the start of a line.
fn white_space(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn digest(meta: &Meta) -> [u8; 32] {
    Sha256::digest(meta.blob()).into()
}

/// Checks that a file has documents with the values of `parts`, in their order.
fn check_values(file: &[u8], parts: &[Part], limits: &Limits) -> Result<(), Error> {
    let mut n_equal = 0;
    let found = read(file, limits, |at, digest, _| {
        let is_equal = parts.get(at).is_some_and(|part| part.digest == digest);
        n_equal += usize::from(is_equal && at == n_equal);
    });
    if n_equal == parts.len() && found.is_ok_and(|found| found.len() == n_equal) {
        return Ok(());
    }
    let line = parts.get(n_equal).or(parts.last()).map_or(1, |part| part.line);
    Err(Error::Unchangeable { line })
}

#[cfg(test)]
mod tests;
