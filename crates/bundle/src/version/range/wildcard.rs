//! Expands the wildcards `1.2.x` and `1.x` (`expandWildcardVersion` of `blang/semver`).

use super::{Error, split_operator};

/// Expands `token` into one or two comparisons. Returns it unchanged if it contains no `x`.
pub(super) fn expand(token: &str) -> Result<Vec<String>, Error> {
    if !token.contains('x') {
        return Ok(vec![token.to_owned()]);
    }
    let (operator, version) = split_operator(token)?;
    let lowest = lowest(version);
    Ok(match operator {
        ">" => vec![format!(">={}", next_above(version, &lowest))],
        "<=" => vec![format!("<{}", next_above(version, &lowest))],
        ">=" | "<" => vec![format!("{operator}{lowest}")],
        "" | "=" | "==" => {
            vec![format!(">={lowest}"), format!("<{}", next_above(version, &lowest))]
        }
        "!" | "!=" => vec![format!("<{lowest}"), format!(">={}", next_above(version, &lowest))],
        // Upstream drops an unknown operator.
        _ => vec![lowest],
    })
}

/// Returns the lowest version that matches a wildcard.
fn lowest(version: &str) -> String {
    let version = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    if version.split('.').count() == 2 { version + ".0" } else { version }
}

/// Returns the first version above a wildcard. Empty if `version` is not a version, which the
/// parser then rejects.
fn next_above(version: &str, lowest: &str) -> String {
    let n_parts = version.split('.').count();
    let is_wildcard = version.rsplit('.').next() == Some("x");
    let raised = match n_parts {
        2 if is_wildcard => 0,
        3 if is_wildcard => 1,
        _ => return String::new(),
    };
    let mut parts: Vec<String> = lowest.split('.').map(str::to_owned).collect();
    let Some(part) = parts.get_mut(raised) else { return String::new() };
    let Ok(number) = part.parse::<i64>() else { return String::new() };
    *part = number.wrapping_add(1).to_string();
    parts.join(".")
}
