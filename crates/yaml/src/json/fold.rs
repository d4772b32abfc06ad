//! Names of fields as Go's `encoding/json` compares them.

/// `name` with its letters folded as Go's `foldName` does: two names that fold to the same text
/// are one field to Go.
///
/// Go folds by Unicode's simple folding, but the names of the fields of its types are ASCII. So
/// only ASCII letters and the two others that fold into ASCII matter: U+017F and U+212A.
pub fn fold(name: &str) -> String {
    letters(name).collect()
}

/// Whether `key` is `name` but for letter case, as [`fold`] compares them.
pub fn is_folded(key: &str, name: &str) -> bool {
    letters(key).eq(letters(name))
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|letter| match letter {
        'ſ' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_more_than_letter_case_or_are_one() {
        for key in ["links", "LINKS", "lin\u{212a}s", "lin\u{212a}\u{17f}"] {
            assert!(is_folded(key, "links") && fold(key) == "links", "{key}");
        }
        for key in ["link", "linkss", "línks", ""] {
            assert!(!is_folded(key, "links") && fold(key) != "links", "{key}");
        }
    }
}
