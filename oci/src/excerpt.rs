//! Texts of an image in errors: images are hostile, and an error is read by a person.

/// Most characters of one text.
const CHARACTERS: usize = 300;
/// Most items of a list.
const ITEMS: usize = 10;

/// The start of `text` if it is long.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first of `items`, and how many more there are.
pub(crate) fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    let mut items = items.into_iter();
    let mut first: Vec<_> = items.by_ref().take(ITEMS).map(|item| excerpt(item.as_ref())).collect();
    match items.count() {
        0 => {}
        more => first.push(format!("and {more} more")),
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_and_lists_are_cut_short() {
        assert_eq!(excerpt("abc"), "abc");
        assert_eq!(excerpt(&"ä".repeat(1000)).chars().count(), CHARACTERS + 3);
        assert_eq!(list(["a", "b"]), ["a", "b"]);
        let many = list((0..1000).map(|n| n.to_string()));
        assert_eq!((many.len(), many[ITEMS].as_str()), (ITEMS + 1, "and 990 more"));
    }
}
