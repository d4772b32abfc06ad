//! [`Time`]: a duration in Go's notation.

use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

/// A duration, such as `90s`, `1m30s`, `2h` or `0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

/// Why a text is not a [`Time`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected a time such as 90s, 1m30s or 2h")]
pub(crate) struct Error;

impl FromStr for Time {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "0" {
            return Ok(Self(Duration::ZERO));
        }
        // jiff accepts more than kubectl does: `1 hour ago`, `PT5M`, `-2s`.
        let is_go = text.bytes().all(|b| b.is_ascii_digit() || b"hmsnu.".contains(&b));
        let parsed: SignedDuration = text.parse().map_err(|_| Error)?;
        let time = Duration::try_from(parsed).map_err(|_| Error)?;
        if is_go { Ok(Self(time)) } else { Err(Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_notation_of_kubectl() {
        for (text, time) in [
            ("0", Duration::ZERO),
            ("0s", Duration::ZERO),
            ("90s", Duration::from_secs(90)),
            ("1m30s", Duration::from_secs(90)),
            ("1.5s", Duration::from_millis(1500)),
            ("250ms", Duration::from_millis(250)),
            ("2h", Duration::from_hours(2)),
        ] {
            assert_eq!(text.parse(), Ok(Time(time)), "{text}");
        }
        for text in ["", "1", "-1s", "1d", "PT5M", "5 minutes", "5s ago", "s", "9999999999999999h"]
        {
            assert_eq!(text.parse::<Time>(), Err(Error), "{text}");
        }
    }
}
