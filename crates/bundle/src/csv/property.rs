//! The annotation `olm.properties` of a CSV: a JSON list of properties.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use unlade_yaml::json::is_folded;

use crate::{Property, annotation, typed::Reader};

/// Reads the properties of the annotation, with their values exactly as written.
///
/// Upstream ignores a text that is not JSON, and keeps an item of the wrong type without its
/// content. Here, each of these is also a finding.
pub(super) fn read(text: &str, reader: &mut Reader<'_>) -> Vec<Property> {
    // In memory, a list of small items needs many times the size of its text.
    if text.len() > annotation::SIZE {
        reader.invalid("the annotation olm.properties is larger than Kubernetes allows");
        return Vec::new();
    }
    let items = match serde_json::from_str::<Option<Vec<Box<RawValue>>>>(text) {
        Ok(items) => items.unwrap_or_default(),
        Err(error) => {
            reader.invalid(format!("the annotation olm.properties is not a JSON list: {error}"));
            return Vec::new();
        }
    };
    items.iter().map(|item| property(item.get(), reader)).collect()
}

fn property(item: &str, reader: &mut Reader<'_>) -> Property {
    let mut property = Property::default();
    let Ok(fields) = serde_json::from_str::<Option<Fields>>(item) else {
        reader.invalid("the annotation olm.properties has an item that is not a mapping");
        return property;
    };
    for (name, value) in fields.map(|Fields(fields)| fields).unwrap_or_default() {
        if is_folded(&name, "value") {
            value.get().clone_into(&mut property.value);
        } else if is_folded(&name, "type") {
            match serde_json::from_str::<Option<String>>(value.get()) {
                Ok(Some(kind)) => property.kind = kind,
                Ok(None) => {}
                Err(_) => {
                    reader.invalid("the annotation olm.properties has a type that is not text");
                }
            }
        }
    }
    property
}

/// The fields of an object in their order, including repeated ones.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
