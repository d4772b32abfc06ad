//! Checks the values of `!!timestamp`: the four layouts of go-yaml, as Go's `time.Parse` reads
//! them.

/// Checks whether `text` is a date, or a date and a time.
pub(super) fn is_timestamp(text: &str) -> bool {
    date(text).is_some_and(|rest| {
        rest.is_empty()
            || rest.strip_prefix(['T', 't']).and_then(time).is_some_and(is_zone)
            || rest.strip_prefix(' ').and_then(time).is_some_and(str::is_empty)
    })
}

/// Parses `2006-1-2` and returns the rest.
fn date(text: &str) -> Option<&str> {
    if text.bytes().take_while(u8::is_ascii_digit).count() != 4 {
        return None;
    }
    let year: u32 = text.get(..4)?.parse().ok()?;
    let (month, rest) = number(text.get(4..)?.strip_prefix('-')?)?;
    let (day, rest) = number(rest.strip_prefix('-')?)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    (1..=days).contains(&day).then_some(rest)
}

/// Parses `15:4:5.999999999` and returns the rest. The fraction may be longer, shorter or missing.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let (second, rest) = number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let Some(fraction) = rest.strip_prefix(['.', ',']) else { return Some(rest) };
    match fraction.bytes().take_while(u8::is_ascii_digit).count() {
        0 => Some(rest),
        n_digits => fraction.get(n_digits..),
    }
}

/// Checks whether `text` is `Z` or an offset such as `+07:00`.
fn is_zone(text: &str) -> bool {
    let Some(offset) = text.strip_prefix(['+', '-']) else { return text == "Z" };
    let Some((hours, minutes)) = offset.split_once(':') else { return false };
    let in_range = |text: &str, most: u32| {
        text.len() == 2
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && text.parse::<u32>().is_ok_and(|value| value <= most)
    };
    in_range(hours, 24) && in_range(minutes, 60)
}

/// Parses a number of one or two digits, and returns it with the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let n_digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    Some((text.get(..n_digits)?.parse().ok()?, text.get(n_digits..)?))
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn the_four_layouts_are_timestamps() {
        for text in [
            "2001-12-14",
            "2001-1-1",
            "2000-02-29",
            "2001-12-14T21:59:43Z",
            "2001-12-14t1:5:3.10-05:00",
            "2001-12-14 21:59:43",
            "2001-12-14 21:59:43,1234567890123",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn other_text_is_none() {
        for text in [
            "",
            "2001",
            "2001-13-01",
            "2001-02-29",
            "2001-00-01",
            "20011-1-1",
            "2001-12-14T21:59:43",
            "2001-12-14 21:59:43Z",
            "2001-12-14T24:00:00Z",
            "2001-12-14 21:59:43.",
            "2001-12-14 21:59:43.10 -5",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
