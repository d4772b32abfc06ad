//! Converts catalogs into templates.

use std::io::Read;

use unlade_yaml::json::quote;

use super::{Error, Kind, first_error};
use crate::{BUNDLE, Catalog, File, Limits, meta::text, write::escape_html};

/// The schemas of the templates into which a catalog can be converted.
const CONVERTIBLE: &str = "olm.template.basic or olm.template.substitutes";

/// Converts a catalog into a template. Returns its compact JSON, as Go's `json.Marshal` writes it.
/// In a basic template, the bundles have only their images.
///
/// # Errors
///
/// Returns an error if upstream cannot read the catalog, or if there is no such conversion.
pub fn convert(input: impl Read, kind: Kind, limits: &Limits) -> Result<String, Error> {
    let substitutions = match kind {
        Kind::Basic => "",
        Kind::Substitutes => r#","substitutions":[]"#,
        Kind::Semver => {
            let schema = kind.schema().to_owned();
            return Err(Error::Schema { schema, expected: CONVERTIBLE });
        }
    };
    let mut entries: Vec<String> = Vec::new();
    let file = File::read_each("catalog", input, limits, |meta, _| {
        if kind == Kind::Basic && meta.schema == BUNDLE {
            let image = quote(&text(meta.value(), "image"));
            entries.push(format!(r#"{{"schema":"{BUNDLE}","image":{image}}}"#));
        } else {
            entries.push(meta.blob());
        }
    });
    let mut catalog = Catalog::default();
    catalog.add(file);
    if let Some(problem) = first_error(catalog.loading_problems()) {
        return Err(Error::Invalid(problem));
    }
    let entries =
        if entries.is_empty() { "null".to_owned() } else { format!("[{}]", entries.join(",")) };
    let json = format!(r#"{{"schema":"{}","entries":{entries}{substitutions}}}"#, kind.schema());
    Ok(escape_html(&json))
}
