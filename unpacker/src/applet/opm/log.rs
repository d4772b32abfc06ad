//! Writes log lines as upstream's logger does without a terminal (logrus `text_formatter.go`).

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::log;

/// Logs a message and its fields in one line. The fields must be sorted by name.
pub(super) fn logged(level: &str, message: &str, fields: &[(&str, &str)]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    log::plain(line(now, level, message, fields));
}

fn line(seconds: u64, level: &str, message: &str, fields: &[(&str, &str)]) -> String {
    let mut line = format!("time=\"{}\" level={level}", timestamp(seconds));
    for (name, value) in [("msg", message)].iter().chain(fields) {
        // Writing to a string cannot fail.
        let _ = if value.chars().all(is_plain) {
            write!(line, " {name}={value}")
        } else {
            write!(line, " {name}={value:?}")
        };
    }
    line
}

/// Checks whether logrus writes a value without quotes if it consists of such characters only.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '-' | '.' | '_' | '/' | '@' | '^' | '+')
}

/// Formats seconds since 1970 as RFC 3339 in UTC.
fn timestamp(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // The calendar repeats every 400 years. If years start in March, the leap day is the last day.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_logrus() {
        let fields = [("file", "/bundle/manifests/csv.yaml"), ("key", "a b")];
        assert_eq!(
            line(1_700_000_000, "info", "Reading file", &fields),
            "time=\"2023-11-14T22:13:20Z\" level=info msg=\"Reading file\" \
             file=/bundle/manifests/csv.yaml key=\"a b\""
        );
    }

    #[test]
    fn timestamps_are_those_of_the_calendar() {
        // date -u -d @SECONDS +%FT%TZ
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (4_133_980_799, "2100-12-31T23:59:59Z"),
        ] {
            assert_eq!(timestamp(seconds), expected);
        }
    }
}
