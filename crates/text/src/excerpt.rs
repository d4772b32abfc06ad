//! Truncates texts of a bundle for errors and findings, so that no message is longer than a screen.

/// The maximum length of a quoted text, in bytes. The path of a file with the longest name fits.
pub const SIZE: usize = 300;

/// The maximum length of a message, in bytes. It has room for two excerpts.
pub const MESSAGE_SIZE: usize = 2 * SIZE + 200;

/// The maximum number of bytes that [`truncate`] adds to a truncated text.
pub const SUFFIX_SIZE: usize = "... (18446744073709551615 bytes)".len();

/// The maximum number of items of a list in a message.
const ITEMS: usize = 10;

/// Truncates `text` to at most `max` bytes, and appends its length. Returns `None` if it is not
/// longer.
pub fn truncate(text: &str, max: usize) -> Option<String> {
    if text.len() <= max {
        return None;
    }
    let start = text.get(..text.floor_char_boundary(max)).unwrap_or("");
    Some(format!("{start}... ({} bytes)", text.len()))
}

/// Truncates `text` to at most [`SIZE`] bytes, and appends its length if it is longer.
///
/// ```
/// use unlade_text::excerpt;
///
/// assert_eq!(excerpt::shorten("short"), "short");
/// assert!(excerpt::shorten(&"long".repeat(1000)).ends_with("longlong... (4000 bytes)"));
/// ```
pub fn shorten(text: &str) -> String {
    truncate(text, SIZE).unwrap_or_else(|| text.to_owned())
}

/// Joins the first ten of `items`, and appends the number of the others.
///
/// ```
/// use unlade_text::excerpt;
///
/// assert_eq!(excerpt::list(["a", "b"], "; "), "a; b");
/// assert!(excerpt::list(1..=12, ", ").ends_with("9, 10, and 2 more"));
/// ```
pub fn list<T: ToString>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut items = items.into_iter();
    let item =
        |item: T| truncate(&item.to_string(), MESSAGE_SIZE).unwrap_or_else(|| item.to_string());
    let shown: Vec<_> = items.by_ref().take(ITEMS).map(item).collect();
    let shown = shown.join(separator);
    match items.count() {
        0 => shown,
        more => format!("{shown}{separator}and {more} more"),
    }
}
