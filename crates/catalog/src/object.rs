//! The objects of a bundle, which are the properties of the type `olm.bundle.object`.

use unlade_bundle::{csv, typed};
use unlade_yaml::{
    self as yaml, Limits, Reader, Scalars,
    json::{Tree, Value},
};

use crate::shape;

/// The units of work for reading each object, whatever its size. It is low because a catalog may
/// have a hundred thousand objects.
const WORK: u64 = 1_000;
/// The units of work for each byte of an object. Published objects need less than 6.
const WORK_FOR_BYTE: u64 = 20;

/// Returns the data in the value of a property. Returns `None` if the property has no data:
/// upstream decodes all objects into one variable, so such an object repeats the one before it.
pub(crate) fn data(value: Value<'_>) -> Option<Vec<u8>> {
    typed::last_field(value, "data").map(shape::bytes)
}

/// Converts the data of an object into JSON. JSON is kept as it is, and not read (apimachinery
/// `yaml.ToJSON`).
pub(crate) fn to_json(data: &[u8], reader: &Reader) -> Result<String, yaml::Error> {
    let text = String::from_utf8_lossy(data);
    if text.trim_start().starts_with('{') {
        return Ok(text.into_owned());
    }
    reader.to_json(data)
}

/// Returns a reader for objects that [`to_json`] has already converted within the budget of their
/// file. It has no budget, because the same objects cannot need more.
pub(crate) fn checked_reader(limits: &Limits) -> Reader {
    let limits = limits.clone().with_work(u64::MAX).with_aliased(u64::MAX);
    Reader::new(&limits.with_total_output(usize::MAX))
}

/// Reads the data of an object. Returns `None` if it has no value, or needs more than [`WORK`] and
/// [`WORK_FOR_BYTE`] allow: JSON that is not valid is read as YAML here, which [`to_json`] and the
/// budget of the file do not include.
pub(crate) fn read(data: &[u8], limits: &Limits) -> Option<Tree> {
    let limits = limits.clone().with_work(WORK + data.len() as u64 * WORK_FOR_BYTE);
    yaml::decode_document(data, Scalars::Resolved, &limits).ok()?.object
}

/// Checks whether an object is a ClusterServiceVersion. The letter case of the key matters, as in
/// upstream, which reads objects without a type (apimachinery `Unstructured.GetKind`).
pub(crate) fn is_csv(object: Value<'_>) -> bool {
    object.get("kind").and_then(|kind| kind.as_str()) == Some(csv::KIND)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a limit of its own, each object could use the budget of a whole file.
    #[test]
    fn the_work_for_an_object_grows_with_its_size_only() {
        let read = |text: &str| read(text.as_bytes(), &Limits::default()).is_some();
        assert!(read("{kind: A, b: [c, d]}"));
        assert!(read("kind: A"));
        let nested = |text: &str| format!("{{a: {}{text}{}}}", "[".repeat(40), "]".repeat(40));
        assert!(read(&nested(&"example, ".repeat(1_000))));
        assert!(!read(&nested(&"a,".repeat(1_000))));
    }
}
