//! Checks a document against a schema in one pass, which keeps only the keys of open objects.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use unlade_text::excerpt;
use unlade_yaml::json::{fold, is_folded};

use super::Schema;
use super::time::is_time;
use crate::limit;

/// A check that Go accepts a value for this schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check(pub(super) &'static Schema);

impl<'de> DeserializeSeed<'de> for Check {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl Check {
    fn scalar<E: Error>(self, is_fitting: bool, found: &str) -> Result<(), E> {
        if is_fitting || matches!(self.0, Schema::Any) {
            return Ok(());
        }
        Err(E::custom(format_args!("expected {self}, found {found}")))
    }

    /// Returns the schema of the value of `key`.
    fn field<E: Error>(self, key: &str) -> Result<&'static Schema, E> {
        match self.0 {
            Schema::Map(values) => Ok(values),
            Schema::Struct(fields) => {
                let Some((name, schema)) = fields.iter().find(|(name, _)| is_folded(key, name))
                else {
                    return Ok(&Schema::Any);
                };
                if *name == key {
                    return Ok(schema);
                }
                let key = excerpt::shorten(key);
                Err(E::custom(format_args!(
                    "the key {key:?} differs from {name:?} only in letter case"
                )))
            }
            _ => Ok(&Schema::Any),
        }
    }
}

impl<'de> Visitor<'de> for Check {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.scalar(matches!(self.0, Schema::Bool), "a boolean")
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.scalar(matches!(self.0, Schema::Integer), "a number")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let is_fitting = matches!(self.0, Schema::Integer) && i64::try_from(value).is_ok();
        self.scalar(is_fitting, "a number")
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.scalar(false, "a number with a fraction or an exponent")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let is_fitting = match self.0 {
            Schema::Text => true,
            Schema::Name => text.is_ascii() && text.len() <= limit::PLATFORM && text != "armbe",
            Schema::Bytes => is_base64(text.as_bytes()),
            Schema::Time => is_time(text.as_bytes()),
            _ => false,
        };
        self.scalar(is_fitting, "text")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = match self.0 {
            Schema::List(items) => items,
            _ => &Schema::Any,
        };
        self.scalar(matches!(self.0, Schema::List(_)), "a list")?;
        while items.next_element_seed(Self(inner))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let is_map = matches!(self.0, Schema::Map(_));
        self.scalar(is_map || matches!(self.0, Schema::Struct(_)), "an object")?;
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            let schema = self.field(&key)?;
            let is_new = keys.insert(if is_map { key.clone() } else { fold(&key) });
            if !is_new {
                let key = excerpt::shorten(&key);
                let rule = if is_map { "" } else { ", or again in another letter case" };
                return Err(A::Error::custom(format_args!("the key {key:?} occurs twice{rule}")));
            }
            entries.next_value_seed(Self(schema))?;
        }
        Ok(())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Schema::Any => "a value",
            Schema::Text => "text",
            Schema::Name => {
                let max = limit::PLATFORM;
                return write!(
                    f,
                    "the name of a platform other than armbe, of at most {max} ASCII characters"
                );
            }
            Schema::Integer => "an integer of 63 bits",
            Schema::Bool => "a boolean",
            Schema::Bytes => "text in base64",
            Schema::Time => "a time of RFC 3339",
            Schema::List(_) => "a list",
            Schema::Map(_) | Schema::Struct(_) => "an object",
        })
    }
}

/// Checks whether Go decodes `text` as `base64.StdEncoding`. Unlike Go, this does not allow line
/// breaks.
fn is_base64(text: &[u8]) -> bool {
    let unpadded = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && unpadded.iter().all(is_digit)
}
