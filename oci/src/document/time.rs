//! Checks times as Go's `time.Time` parses them from JSON.

/// Checks whether `text` is a time of RFC 3339 that `UnmarshalJSON` accepts
/// (`time/format_rfc3339.go`).
pub(super) fn is_time(text: &[u8]) -> bool {
    let (Some((date, rest)), true) = (text.split_at_checked(19), text.is_ascii()) else {
        return false;
    };
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let number = |at: usize, length: usize| -> Option<u32> {
        let field = date.get(at..at + length).filter(|field| digits(field))?;
        std::str::from_utf8(field).ok()?.parse().ok()
    };
    let is_punctuated =
        date.iter().zip(b"____-__-__T__:__:__").all(|(byte, mark)| *mark == b'_' || byte == mark);
    let fields = [(0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2)].map(|(at, n)| number(at, n));
    let [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] = fields
    else {
        return false;
    };
    let is_date = (1..=days(year, month)).contains(&day);
    let is_clock = hour < 24 && minute < 60 && second < 60;
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let end = fraction.iter().position(|byte| !byte.is_ascii_digit());
            match end.and_then(|end| fraction.split_at_checked(end)) {
                Some((fraction, zone)) if !fraction.is_empty() => zone,
                _ => return false,
            }
        }
        None => rest,
    };
    is_punctuated && is_date && is_clock && is_zone(zone)
}

fn is_zone(zone: &[u8]) -> bool {
    match zone {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit())
                && (*h1, *h2) < (b'2', b'4')
                && *m1 < b'6'
        }
        _ => false,
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_go_takes() {
        for text in [
            "2024-02-29T23:59:59Z",
            "2024-01-02T03:04:05.123456789Z",
            "0001-01-01T00:00:00Z",
            "2024-01-02T03:04:05.1+02:00",
            "2024-01-02T03:04:05-23:59",
        ] {
            assert!(is_time(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "2024-01-02",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-02T24:00:00Z",
            "2024-01-02T03:60:05Z",
            "2024-01-02T03:04:60Z",
            "2024-01-02T3:04:05Z",
            "2024-01-02t03:04:05Z",
            "2024-01-02T03:04:05z",
            "2024-01-02T03:04:05",
            "2024-01-02T03:04:05.Z",
            "2024-01-02T03:04:05,5Z",
            "2024-01-02T03:04:05+24:00",
            "2024-01-02T03:04:05+02:60",
            "2024-01-02T03:04:05+0200",
            "2024-01-02T03:04:05ZZ",
        ] {
            assert!(!is_time(text.as_bytes()), "{text}");
        }
    }
}
