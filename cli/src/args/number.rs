//! Positive integers as arguments.

use std::num::NonZeroUsize;

/// Parses a whole number of at least 1.
///
/// # Errors
///
/// Returns a sentence for the user if the text is not such a number.
pub(crate) fn parse<T: From<NonZeroUsize>>(text: &str) -> Result<T, &'static str> {
    let number: Result<NonZeroUsize, _> = text.parse();
    number.map(T::from).map_err(|_| "expected a whole number of at least 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_and_from_1() {
        assert_eq!(parse("1"), Ok(1_usize));
        assert_eq!(parse("10000"), Ok(10_000_usize));
        assert_eq!(parse("1"), Ok(NonZeroUsize::MIN));
        for text in ["", "0", "-1", "1.5", "lots", "1e3", "99999999999999999999"] {
            assert_eq!(
                parse::<usize>(text),
                Err("expected a whole number of at least 1"),
                "{text}"
            );
        }
    }
}
