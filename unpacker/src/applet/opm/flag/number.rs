//! Parses numbers as Go's `strconv.ParseUint` does with base 0: `1048576`, `1_048_576`, `0x100000`.

/// Parses a number. The error is the message of Go.
pub(super) fn parse(text: &str) -> Result<u64, &'static str> {
    const SYNTAX: &str = "invalid syntax";
    let lower = text.to_ascii_lowercase();
    let (radix, prefix) = match lower.as_bytes() {
        [b'0', b'b', ..] => (2, 2),
        [b'0', b'o', ..] => (8, 2),
        [b'0', b'x', ..] => (16, 2),
        [b'0', _, ..] => (8, 1),
        _ => (10, 0),
    };
    let digits = lower.get(prefix..).unwrap_or_default();
    // An underscore stands between digits, or between the prefix and one.
    let is_misplaced =
        digits.ends_with('_') || digits.contains("__") || (prefix == 0 && digits.starts_with('_'));
    let digits = digits.replace('_', "");
    if is_misplaced || digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(SYNTAX);
    }
    u64::from_str_radix(&digits, radix).map_err(|_| "value out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_go() {
        for (text, number) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("1_048_576", 1 << 20),
            ("0x100000", 1 << 20),
            ("0X10_0000", 1 << 20),
            ("0x_1", 1),
            ("0b11", 3),
            ("0o17", 15),
            ("017", 15),
            ("0_7", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(number), "{text}");
        }
        for text in ["", "+1", "-1", "1Mi", "1 ", "0x", "08", "0b2", "_1", "1_", "1__0", "1.0", "é"]
        {
            assert_eq!(parse(text), Err("invalid syntax"), "{text}");
        }
        assert_eq!(parse("18446744073709551616"), Err("value out of range"));
    }
}
