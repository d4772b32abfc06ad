//! Compares the names of fields as Go's `encoding/json` does.

/// Folds `name` as Go's `foldName` does. Go treats two names with the same result as the same
/// field.
///
/// Go uses Unicode simple folding, but the names of the fields of its types are ASCII. So only the
/// ASCII letters and the two other characters that fold to ASCII matter: U+017F and U+212A.
pub fn fold(name: &str) -> String {
    letters(name).collect()
}

/// Checks whether `key` and `name` are equal after [folding](fold).
pub fn is_folded(key: &str, name: &str) -> bool {
    key.eq_ignore_ascii_case(name) || letters(key).eq(letters(name))
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
