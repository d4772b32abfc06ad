//! Positive whole numbers as arguments.

/// Parses a whole number of at least 1.
///
/// # Errors
///
/// Returns a sentence for the user if the text is not such a number.
pub(crate) fn parse(text: &str) -> Result<usize, &'static str> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or("expected a whole number from 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_and_from_1() {
        assert_eq!(parse("1"), Ok(1));
        assert_eq!(parse("10000"), Ok(10_000));
        for text in ["", "0", "-1", "1.5", "lots", "1e3", "99999999999999999999"] {
            assert_eq!(parse(text), Err("expected a whole number from 1"), "{text}");
        }
    }
}
