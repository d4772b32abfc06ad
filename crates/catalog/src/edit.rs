//! Changes a file of a catalog, and keeps the bytes of everything else in it.
//!
//! ```
//! use unlade_catalog::{CHANNEL, edit};
//! use unlade_yaml::Limits;
//!
//! let file = b"# Tea.\nschema: olm.channel\nname: stable\npackage: tea\nentries:\n- name: tea.v1\n";
//! let channel = edit::Target { schema: CHANNEL, package: "tea", name: "stable" };
//! let entry = r#"{"name":"tea.v2","replaces":"tea.v1"}"#;
//! let changed = edit::set_entry(file, &channel, 1, entry, &Limits::default())?;
//! let expected = [&file[..], b"- name: tea.v2\n  replaces: tea.v1\n"].concat();
//! assert_eq!(changed, expected);
//! # Ok::<(), edit::Error>(())
//! ```

mod json;
mod yaml;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use unlade_text::excerpt::shorten;
use unlade_yaml::{self as yaml_text, Documents, Limits, Reader, StreamError, json::is_folded};

use crate::{Form, Meta, MetaError};

/// The meta to change. `name` is empty for an `olm.deprecations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'n> {
    /// Its schema.
    pub schema: &'n str,
    /// Its package.
    pub package: &'n str,
    /// Its name.
    pub name: &'n str,
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
    #[error("the {schema} {name} does not exist in the file")]
    Missing {
        /// The schema of the meta.
        schema: String,
        /// Its name.
        name: String,
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

/// A meta with its index.
type Found = Option<(usize, Meta)>;

/// Adds a document to the end of a file, in the form that the file has: JSON or YAML. An empty file
/// becomes YAML. `json` is the compact JSON of a meta.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or if a document at its end would be lost.
pub fn append(file: &[u8], json: &str, limits: &Limits) -> Result<Vec<u8>, Error> {
    let (mut expected, _) = read(file, limits, |_| false)?;
    let meta = Meta::from_json(json, limits)?;
    let digest = digest(&meta);
    let first = file.iter().find(|byte| !byte.is_ascii_whitespace());
    let forms = match first {
        Some(b'{') => [Form::Json, Form::Yaml],
        _ => [Form::Yaml, Form::Json],
    };
    expected.push(Part { start: 0, len: 0, line: 0, digest });
    for form in forms {
        let mut changed = file.to_vec();
        if !changed.is_empty() && !changed.ends_with(b"\n") {
            changed.push(b'\n');
        }
        let text = form.write(json, limits).map_err(Error::Write)?;
        changed.extend_from_slice(text.as_bytes());
        if has_values(&changed, &expected, limits) {
            return Ok(changed);
        }
    }
    let n_lines = file.split_inclusive(|&byte| byte == b'\n').count();
    Err(Error::Unchangeable { line: n_lines as u64 })
}

/// Sets the item `index` of the `entries` of a meta, or adds one if `index` is their number.
/// `entry` is compact JSON. Comments and the layout of all other items remain.
///
/// # Errors
///
/// Returns an error if the meta does not exist or cannot be changed in place, such as entries that
/// are written as an alias of YAML.
pub fn set_entry(
    file: &[u8],
    target: &Target<'_>,
    index: usize,
    entry: &str,
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    let is_target = |meta: &Meta| {
        (&*meta.schema, &*meta.package, &*meta.name) == (target.schema, target.package, target.name)
    };
    let (mut parts, found) = read(file, limits, is_target)?;
    let missing = || Error::Missing { schema: shorten(target.schema), name: shorten(target.name) };
    let (at, meta) = found.ok_or_else(missing)?;
    let part = parts.get_mut(at).ok_or_else(missing)?;
    let unchangeable = Error::Unchangeable { line: part.line };
    let Some((key, changed)) = with_entry(&meta, index, entry) else { return Err(unchangeable) };
    part.digest = digest(&Meta::from_json(&changed.to_string(), limits)?);
    let (start, end) = (part.start, part.start + part.len);
    let (before, after) = (file.get(..start).unwrap_or(&[]), file.get(end..).unwrap_or(&[]));
    let text = file.get(start..end).and_then(|text| std::str::from_utf8(text).ok());
    let candidates = text.into_iter().flat_map(|text| {
        let json = json::set_item(text, &key, index, entry, limits);
        json.into_iter().chain(yaml::set_item(text, &key, &meta, index, entry, limits))
    });
    for candidate in candidates {
        let changed = [before, candidate.as_bytes(), after].concat();
        // The values decide whether the edit is right, whatever the layout of the text is.
        if has_values(&changed, &parts, limits) {
            return Ok(changed);
        }
    }
    Err(unchangeable)
}

/// Returns the name of the key of the entries, as it is written, and the value with the new entry.
fn with_entry(meta: &Meta, index: usize, entry: &str) -> Option<(String, Value)> {
    let mut value: Value = serde_json::from_str(&meta.blob()).ok()?;
    let fields = value.as_object_mut()?;
    let key = fields.keys().find(|key| is_folded(key, "entries"))?.clone();
    let entries = fields.get_mut(&key)?.as_array_mut()?;
    let entry = serde_json::from_str(entry).ok()?;
    if index == entries.len() {
        entries.push(entry);
    } else {
        *entries.get_mut(index)? = entry;
    }
    Some((key, value))
}

/// Reads the documents of a file. Returns the first meta that `is_wanted` selects, with its index.
fn read(
    file: &[u8],
    limits: &Limits,
    is_wanted: impl Fn(&Meta) -> bool,
) -> Result<(Vec<Part>, Found), Error> {
    let reader = Reader::new(limits);
    let mut documents = Documents::new(file, &reader);
    let (mut parts, mut found) = (Vec::new(), None);
    while let Some(segment) = documents.next()? {
        let meta = Meta::from_tree(segment.document.map_err(Error::Syntax)?.tree)?;
        let start = usize::try_from(segment.offset).unwrap_or(usize::MAX);
        let (len, line) = (segment.text.len(), segment.line);
        parts.push(Part { start, len, line, digest: digest(&meta) });
        if found.is_none() && is_wanted(&meta) {
            found = Some((parts.len() - 1, meta));
        }
    }
    Ok((parts, found))
}

fn digest(meta: &Meta) -> [u8; 32] {
    Sha256::digest(meta.blob()).into()
}

/// Checks whether a file has documents with the values of `parts`, in their order.
fn has_values(file: &[u8], parts: &[Part], limits: &Limits) -> bool {
    read(file, limits, |_| false).is_ok_and(|(found, _)| {
        found.iter().map(|it| it.digest).eq(parts.iter().map(|it| it.digest))
    })
}

#[cfg(test)]
mod tests;
