//! Parses the numbers of tar headers, as `archive/tar/strconv.go` does.

/// Parses a numeric field: octal digits, or a two's complement number in base 256 whose first bit
/// is set. Returns `None` if Go rejects it. As in Go, a number over 63 bits becomes negative.
pub(super) fn numeric(field: &[u8]) -> Option<i64> {
    match field.split_first() {
        Some((first, rest)) if first & 0x80 != 0 => base_256(*first, rest),
        _ => octal(field).map(u64::cast_signed),
    }
}

fn base_256(first: u8, rest: &[u8]) -> Option<i64> {
    let inverse = if first & 0x40 != 0 { 0xff } else { 0 };
    let start = u64::from((first ^ inverse) & 0x7f);
    let value = rest.iter().try_fold(start, |value, byte| {
        (value >> 56 == 0).then(|| value << 8 | u64::from(byte ^ inverse))
    })?;
    let value = i64::try_from(value).ok()?;
    Some(if inverse == 0 { value } else { !value })
}

/// Parses octal digits between spaces and NULs. Text after a NUL within the digits is ignored.
pub(super) fn octal(field: &[u8]) -> Option<u64> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | 0);
    let Some(start) = field.iter().position(|byte| !is_blank(byte)) else { return Some(0) };
    let end = field.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    text(field.get(start..end)?).iter().try_fold(0_u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 8)?;
        value.checked_mul(8)?.checked_add(digit.into())
    })
}

/// Parses a decimal number of at most 63 bits.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    let value = digits.iter().try_fold(0_i64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(digit.into())
    })?;
    if digits.is_empty() { None } else { u64::try_from(value).ok() }
}

/// Returns a field up to its first NUL.
pub(super) fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        for (field, value) in [
            (&b"0000755\0"[..], Some(0o755)),
            (b" 755 \0", Some(0o755)),
            (b"\0 \0", Some(0)),
            (b"", Some(0)),
            (b"7\x005", Some(7)),
            (b"8", None),
            (b"-1", None),
            (b"7 5", None),
            (b"1777777777777777777777", Some(-1)),
            (b"2000000000000000000000", None),
            (b"\x80\0\0\x01", Some(1)),
            (b"\xff\xff\xff", Some(-1)),
            (b"\xff\xff\xfe", Some(-2)),
            (b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", Some(i64::MAX)),
            (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", None),
            (b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None),
        ] {
            assert_eq!(numeric(field), value, "{field:?}");
        }
        for (digits, value) in [
            (&b"020"[..], Some(20)),
            (b"9223372036854775807", Some(i64::MAX as u64)),
            (b"9223372036854775808", None),
            (b"", None),
            (b"+1", None),
            (b"-1", None),
            (b" 1", None),
        ] {
            assert_eq!(decimal(digits), value, "{digits:?}");
        }
    }
}
