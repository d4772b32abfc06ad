//! Texts of a bundle in errors and findings: cut, so that no message is longer than a screen.

/// Most bytes of a text that is quoted: a path of a file with the longest name fits.
pub const SIZE: usize = 300;

/// Most bytes in a message about one thing: room for two excerpts.
pub const MESSAGE_SIZE: usize = 2 * SIZE + 200;

/// The maximum number of bytes that [`of`] adds to a text that it cuts.
pub const SUFFIX_SIZE: usize = "... (18446744073709551615 bytes)".len();

/// Most items of a list that are shown.
const ITEMS: usize = 10;

/// `text` with at most `most` bytes and its length behind them; none if it is no longer than that.
pub fn of(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let start = text.get(..text.floor_char_boundary(most)).unwrap_or("");
    Some(format!("{start}... ({} bytes)", text.len()))
}

/// `text` with at most [`SIZE`] bytes, and its length behind them if there are more.
///
/// ```
/// use unlade_text::excerpt;
///
/// assert_eq!(excerpt::cut("short"), "short");
/// assert!(excerpt::cut(&"long".repeat(1000)).ends_with("longlong... (4000 bytes)"));
/// ```
pub fn cut(text: &str) -> String {
    of(text, SIZE).unwrap_or_else(|| text.to_owned())
}

/// The first ten of `items`, and how many more there are.
///
/// ```
/// use unlade_text::excerpt;
///
/// assert_eq!(excerpt::list(["a", "b"], "; "), "a; b");
/// assert!(excerpt::list(1..=12, ", ").ends_with("9, 10, and 2 more"));
/// ```
pub fn list<T: ToString>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut items = items.into_iter();
    let item = |item: T| of(&item.to_string(), MESSAGE_SIZE).unwrap_or_else(|| item.to_string());
    let shown: Vec<_> = items.by_ref().take(ITEMS).map(item).collect();
    let shown = shown.join(separator);
    match items.count() {
        0 => shown,
        more => format!("{shown}{separator}and {more} more"),
    }
}
