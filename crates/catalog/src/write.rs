//! [`Form`]: writes metas as JSON or YAML, as `opm` does.

use unlade_yaml::{self as yaml, Limits, json};

/// The maximum size of a written meta: this many bytes for each byte of its compact JSON, and
/// [`MORE`]. Indentation grows with the square of the depth, so a meta of 18 kB can become 300 MB,
/// and a catalog has many metas. Those of published catalogs become at most 8 times as large.
const RATIO: usize = 128;
/// The size that is allowed for every meta, in bytes.
const MORE: usize = 16 << 10;

/// The form in which a catalog is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON objects, indented with four spaces.
    Json,
    /// YAML documents, each after a line with `---`.
    Yaml,
}

impl Form {
    /// Writes a meta. `json` is its compact JSON, such as the result of [`Meta::to_json`]. The text
    /// ends with a line break. A catalog consists of such texts one after another.
    ///
    /// ```
    /// use unlade_catalog::Form;
    /// use unlade_yaml::Limits;
    ///
    /// let json = r#"{"schema":"olm.package","name":"tea"}"#;
    /// let yaml = Form::Yaml.write(json, &Limits::default())?;
    /// assert_eq!(yaml, "---\nname: tea\nschema: olm.package\n");
    /// # Ok::<(), unlade_yaml::Error>(())
    /// ```
    ///
    /// [`Meta::to_json`]: crate::Meta::to_json
    ///
    /// # Errors
    ///
    /// Returns an error if `json` cannot be written as YAML, or if a limit is exceeded.
    /// [`Limits::output`] is the maximum size of the text. Also, the text may have at most 128
    /// bytes for each byte of `json`, and 16 KiB more.
    pub fn write(self, json: &str, limits: &Limits) -> Result<String, yaml::Error> {
        let output = limits.output.min(json.len().saturating_mul(RATIO).saturating_add(MORE));
        match self {
            Self::Json => Ok(json::indent(json, "    ", output)? + "\n"),
            Self::Yaml => {
                let limits = limits.clone().with_output(output);
                Ok(format!("---\n{}", yaml::from_json(json, &limits)?))
            }
        }
    }
}

/// Escapes the characters of HTML in JSON, as `json.Marshal` does. Outside of strings, JSON has
/// none of them.
pub(crate) fn escape_html(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_have_a_limit() {
        let json =
            format!("{{\"a\":{}{}}}", "[".repeat(60) + &"0,".repeat(100) + "0", "]".repeat(60));
        let limits = Limits::default().with_output(10_000);
        for form in [Form::Json, Form::Yaml] {
            assert!(form.write(&json, &Limits::default()).unwrap().len() > 10_000, "{form:?}");
            assert!(form.write(&json, &limits).unwrap_err().is_limit(), "{form:?}");
        }
    }

    #[test]
    fn indentation_that_grows_with_the_square_of_the_depth_is_refused() {
        let json = |depth| format!("{{\"a\":{}0{}}}", "[".repeat(depth), ",0]".repeat(depth));
        for form in [Form::Json, Form::Yaml] {
            assert!(form.write(&json(100), &Limits::default()).is_ok(), "{form:?}");
            assert!(
                form.write(&json(9_000), &Limits::default()).unwrap_err().is_limit(),
                "{form:?}"
            );
        }
    }
}
