//! Parses PAX records, which describe the next entry.

use super::Fault;
use super::number::decimal;
use super::sparse::Records;

/// The beginnings of the extended attributes with which overlayfs and fuse-overlayfs mark a
/// directory as opaque or as another one. containers/storage (`pkg/archive`) writes them to disk.
const OVERLAY: [&str; 3] = [
    "SCHILY.xattr.trusted.overlay.",
    "SCHILY.xattr.user.overlay.",
    "SCHILY.xattr.user.fuseoverlayfs.",
];

/// The records with the path, the link target, the size and the holes of an entry.
#[derive(Debug, Default)]
pub(super) struct Pax {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) sparse: Option<Records>,
}

impl Pax {
    /// Parses the records in `text`.
    pub(super) fn parse(mut text: &[u8]) -> Result<Self, Fault> {
        let mut pax = Self::default();
        while !text.is_empty() {
            let (key, value, rest) = split_record(text).ok_or(Fault::Record)?;
            pax.set(key, value)?;
            text = rest;
        }
        Ok(pax)
    }

    /// Returns an error if the records describe entries, because other readers apply global
    /// records, but Go does not.
    pub(super) fn check_global(&self) -> Result<(), Fault> {
        let set = [
            ("path", self.path.is_some()),
            ("linkpath", self.link.is_some()),
            ("size", self.size.is_some()),
            ("GNU.sparse", self.sparse.is_some()),
        ];
        match set.into_iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(Fault::Global(name)),
            None => Ok(()),
        }
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        // Go rejects invalid numbers and times, even if they are not used.
        let check = |name, is_valid: bool| {
            if value.is_empty() || is_valid { Ok(()) } else { Err(Fault::Value(name)) }
        };
        match key {
            b"path" => set_once("path", &mut self.path, without_nul(value)),
            b"linkpath" => set_once("linkpath", &mut self.link, without_nul(value)),
            b"size" => set_once("size", &mut self.size, decimal(value)),
            b"uname" => check("uname", !value.contains(&0)),
            b"gname" => check("gname", !value.contains(&0)),
            b"uid" => check("uid", is_integer(value)),
            b"gid" => check("gid", is_integer(value)),
            b"atime" => check("atime", is_time(value)),
            b"mtime" => check("mtime", is_time(value)),
            b"ctime" => check("ctime", is_time(value)),
            _ => match key.strip_prefix(b"GNU.sparse.") {
                Some(name) => self.sparse.get_or_insert_default().set(name, value),
                None => match OVERLAY.iter().find(|name| key.starts_with(name.as_bytes())) {
                    Some(name) => Err(Fault::Overlay(name)),
                    None => Ok(()),
                },
            },
        }
    }
}

/// Sets a field from a record, which must be valid and must occur only once. Go uses the last of
/// several records and ignores an empty one, but other readers do not.
pub(super) fn set_once<T>(
    name: &'static str,
    field: &mut Option<T>,
    value: Option<T>,
) -> Result<(), Fault> {
    match field.replace(value.ok_or(Fault::Value(name))?) {
        None => Ok(()),
        Some(_) => Err(Fault::Twice(name)),
    }
}

pub(super) fn without_nul(value: &[u8]) -> Option<Vec<u8>> {
    (!value.is_empty() && !value.contains(&0)).then(|| value.to_owned())
}

/// Splits `LENGTH KEY=VALUE\n` into the key, the value and the following text. The length includes
/// the whole record.
fn split_record(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    // A length has at most 7 digits: headers are limited.
    let blank = text.iter().take(20).position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(text.get(..blank)?)?).ok()?;
    let (record, rest) = text.split_at_checked(length)?;
    let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    let (key, value) = (record.get(..equals)?, record.get(equals + 1..)?);
    (!key.is_empty() && !key.contains(&0)).then_some((key, value, rest))
}

/// Checks whether `value` is a decimal number of at most 63 bits, optionally with a minus sign.
fn is_integer(value: &[u8]) -> bool {
    decimal(value.strip_prefix(b"-").unwrap_or(value)).is_some()
}

/// Checks whether `value` is a number of seconds, optionally with a fraction.
fn is_time(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b'.');
    let is_whole = parts.next().is_some_and(is_integer);
    is_whole && parts.next().is_none_or(|digits| digits.iter().all(u8::is_ascii_digit))
}
