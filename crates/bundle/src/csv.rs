//! [`Csv`]: the fields of a ClusterServiceVersion that catalogs and OLM's resolver use.

use unlade_text::excerpt;
use unlade_yaml::json::{self, Kind, Value};

use crate::{
    Definition, Property,
    typed::{Reader, field},
    version::{self, Range},
};

mod property;

/// The kind of a ClusterServiceVersion. Upstream identifies a CSV only by its kind.
pub const KIND: &str = "ClusterServiceVersion";

const SKIP_RANGE: &str = "olm.skipRange";
const SUBSTITUTES_FOR: &str = "olm.substitutesFor";
const PROPERTIES: &str = "olm.properties";

/// The text fields of Kubernetes' `ObjectMeta`. Their values are not used, but upstream's directory
/// reader rejects the bundle if one of them is not text.
const TEXTS: [&str; 8] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
];

/// The fields of a CSV (operator-registry `pkg/registry/csv.go`). A field that the CSV does not set
/// is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Csv {
    /// `spec.version`, as written.
    pub version: String,
    /// `spec.release`.
    pub release: String,
    /// `spec.replaces`: the CSV that this one replaces.
    pub replaces: String,
    /// `spec.skips`: the CSVs that an upgrade to this one may skip.
    pub skips: Vec<String>,
    /// The annotation `olm.skipRange`, as written. [`Range`] parses it.
    pub skip_range: String,
    /// The annotation `olm.substitutesFor`.
    pub substitutes_for: String,
    /// The properties in the annotation `olm.properties`.
    pub properties: Vec<Property>,
    /// The CRDs.
    pub crds: Definitions,
    /// The APIServices.
    pub api_services: Definitions,
}

/// The definitions that a CSV owns and requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Definitions {
    /// The definitions that the CSV owns.
    pub owned: Vec<Definition>,
    /// The definitions that the CSV requires.
    pub required: Vec<Definition>,
}

impl Csv {
    /// Reads the CSV `root`. Values that do not fit Go's types become findings of `reader`.
    ///
    /// ```
    /// use unlade_bundle::{Csv, Findings, typed::Reader};
    /// use unlade_yaml::{Limits, Scalars};
    ///
    /// let text = b"metadata: {annotations: {olm.skipRange: <1.0.0}}\nspec: {version: 1.0.0}\n";
    /// let document = unlade_yaml::read(text, Scalars::Resolved, &Limits::default())?;
    /// let mut findings = Findings::default();
    /// let csv = Csv::read(document.tree.root(), &mut Reader::new("csv.yaml", &mut findings));
    /// assert_eq!((csv.version.as_str(), csv.skip_range.as_str()), ("1.0.0", "<1.0.0"));
    /// assert_eq!(findings.count(), 0);
    /// # Ok::<(), unlade_yaml::Error>(())
    /// ```
    pub fn read(root: Value<'_>, reader: &mut Reader<'_>) -> Self {
        let mut csv = Self::default();
        let mut properties = None;
        // Upstream reads all fields from maps, down to those of `spec`. Unlike the names of the
        // fields of structs, their names must match exactly, including letter case.
        reader.string(root.get("apiVersion"), "apiVersion");
        if let Some(metadata) = reader.object(root.get("metadata"), "metadata") {
            properties = read_metadata(&mut csv, metadata, reader);
        }
        match root.get("spec") {
            None => reader.invalid("the CSV has no spec"),
            spec => {
                if let Some(spec) = reader.object(spec, "spec") {
                    read_spec(&mut csv, spec, reader);
                }
            }
        }
        if let Some(text) = properties {
            csv.properties = property::read(&text, reader);
        }
        csv
    }

    /// Reports a version and a range of skipped versions that OLM cannot parse.
    pub fn check_versions(&self, reader: &mut Reader<'_>) {
        if !self.version.is_empty()
            && let Err(error) = version::parse(&self.version)
        {
            reader.invalid(format!("spec.version: {error}"));
        }
        if !self.skip_range.is_empty()
            && let Err(error) = self.skip_range.parse::<Range>()
        {
            let range = excerpt::shorten(&self.skip_range);
            // OLM does not limit the length of a range, so it uses one that unlade cannot check.
            if matches!(error, version::range::Error::TooLong(_)) {
                reader.invalid(format!(
                    "the annotation olm.skipRange \"{range}\" is not checked: {error}"
                ));
                return;
            }
            let hint =
                if has_v_prefix(&self.skip_range) { ": write versions without the v" } else { "" };
            reader.invalid(format!(
                "OLM ignores the annotation olm.skipRange \"{range}\" and skips no version: \
                 {error}{hint}"
            ));
        }
    }
}

/// Checks whether a version in `range` starts with `v`, as git tags often do.
fn has_v_prefix(range: &str) -> bool {
    let bytes = range.as_bytes();
    let at = |place: usize| bytes.get(place).copied().unwrap_or_default();
    (0..bytes.len()).any(|place| {
        let is_start = place == 0 || !at(place - 1).is_ascii_alphanumeric();
        is_start && at(place) == b'v' && at(place + 1).is_ascii_digit()
    })
}

/// Reads the metadata. Returns the annotation `olm.properties`.
fn read_metadata(csv: &mut Csv, metadata: Value<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let mut properties = None;
    for name in TEXTS {
        reader.string(metadata.get(name), &format!("metadata.{name}"));
    }
    reader.strings(metadata.get("finalizers"), "metadata.finalizers");
    read_map(metadata.get("labels"), "metadata.labels", reader, |_, _| {});
    let annotations = metadata.get("annotations");
    read_map(annotations, "metadata.annotations", reader, |name, value| match name {
        SKIP_RANGE => csv.skip_range = value,
        SUBSTITUTES_FOR => csv.substitutes_for = value,
        PROPERTIES => properties = Some(value),
        _ => {}
    });
    properties
}

fn read_map(
    map: Option<Value<'_>>,
    path: &str,
    reader: &mut Reader<'_>,
    mut take: impl FnMut(&str, String),
) {
    if let Some(map) = reader.object(map, path) {
        for (name, value) in map.entries() {
            take(name, reader.string(Some(value), &format!("{path}[{}]", excerpt::shorten(name))));
        }
    }
}

fn read_spec(csv: &mut Csv, spec: Value<'_>, reader: &mut Reader<'_>) {
    csv.version = reader.string(spec.get("version"), "spec.version");
    csv.release = read_release(spec.get("release"), reader);
    csv.replaces = reader.string(spec.get("replaces"), "spec.replaces");
    csv.skips = reader.strings(spec.get("skips"), "spec.skips");
    csv.crds = definitions(spec, "customresourcedefinitions", reader);
    csv.api_services = definitions(spec, "apiservicedefinitions", reader);
}

/// Reads `spec.release`, the only field that may be text or a number.
fn read_release(value: Option<Value<'_>>, reader: &mut Reader<'_>) -> String {
    match value.map(|value| value.kind()) {
        #[expect(clippy::cast_precision_loss, reason = "Go reads it as float64 as well")]
        Some(Kind::Int(number)) => number_text(number as f64),
        Some(Kind::Float(number)) => number_text(number),
        _ => reader.string(value, "spec.release"),
    }
}

/// Formats a whole number without a decimal point, and other numbers as Go's `%g`.
fn number_text(number: f64) -> String {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&number) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within i64")]
        return (number as i64).to_string();
    }
    json::general_text(number)
}

fn definitions(spec: Value<'_>, name: &str, reader: &mut Reader<'_>) -> Definitions {
    let Some(section) = reader.object(spec.get(name), &format!("spec.{name}")) else {
        return Definitions::default();
    };
    let mut list = |which: &str| {
        let path = format!("spec.{name}.{which}");
        let items = reader.items(field(section, which), &path);
        // Reserving the capacity limits peak memory: a growing list needs up to three times its
        // size.
        let mut list = Vec::with_capacity(items.len());
        list.extend(items.into_iter().filter_map(|item| definition(item, &path, reader)));
        list
    };
    Definitions { owned: list("owned"), required: list("required") }
}

fn definition(item: Value<'_>, path: &str, reader: &mut Reader<'_>) -> Option<Definition> {
    if item.kind() == Kind::Null {
        reader.invalid(format!("{path} contains an empty item"));
        return None;
    }
    let item = reader.object(Some(item), path)?;
    let mut text = |name: &str| reader.string(field(item, name), &format!("{path}[].{name}"));
    Some(Definition {
        group: text("group"),
        kind: text("kind"),
        name: text("name"),
        version: text("version"),
    })
}

#[cfg(test)]
mod tests {
    use unlade_yaml::{Limits, Scalars};

    use super::*;
    use crate::Findings;

    #[test]
    fn fields_of_the_metadata_must_match_in_letter_case() {
        let skip_range = |text: &str| {
            let document =
                unlade_yaml::read(text.as_bytes(), Scalars::Resolved, &Limits::default()).unwrap();
            let mut findings = Findings::default();
            let mut reader = Reader::new("csv.yaml", &mut findings);
            Csv::read(document.tree.root(), &mut reader).skip_range
        };
        assert_eq!(
            skip_range("{metadata: {annotations: {olm.skipRange: <1.0.0}}, spec: {}}"),
            "<1.0.0"
        );
        assert_eq!(skip_range("{Metadata: {annotations: {olm.skipRange: <1.0.0}}, spec: {}}"), "");
        assert_eq!(skip_range("{metadata: {Annotations: {olm.skipRange: <1.0.0}}, spec: {}}"), "");
    }

    #[test]
    fn a_release_that_is_a_number_reads_as_go_prints_it() {
        for (number, text) in [
            (1.0, "1"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1_234_567.5, "1.2345675e+06"),
            (123_456.5, "123456.5"),
            (1e20, "1e+20"),
            (9_007_199_254_740_992.0, "9007199254740992"),
        ] {
            assert_eq!(number_text(number), text);
        }
    }
}
