//! [`Size`]: a number of bytes in the notation of Kubernetes.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, such as `67108864`, `64Mi` or `1G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

/// Why a text is not a [`Size`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// Such as `-1`, `1.5Mi` or `1MB`.
    #[error(
        "expected a whole number of bytes, optionally followed by Ki, Mi, Gi, Ti, k, M, G or T"
    )]
    Form,
    /// The size exceeds what this machine can address.
    #[error("too large")]
    TooLarge,
}

/// The suffixes of Kubernetes' quantities that make sense for sizes of files.
const UNITS: [(&str, u64); 8] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (digits, unit) = UNITS
            .iter()
            .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
            .unwrap_or((text, 1));
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::Form);
        }
        let number: u64 = digits.parse().map_err(|_| Error::TooLarge)?;
        let bytes = number.checked_mul(unit).ok_or(Error::TooLarge)?;
        usize::try_from(bytes).map(Self).map_err(|_| Error::TooLarge)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("Ti", 40_u32), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
        let fitting = units.iter().find(|(_, bits)| {
            self.0.trailing_zeros() >= *bits && self.0.checked_shr(*bits).unwrap_or(0) > 0
        });
        match fitting {
            Some((unit, bits)) => write!(f, "{}{unit}", self.0 >> bits),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_kubernetes_writes_them() {
        for (text, bytes) in [
            ("0", 0),
            ("1023", 1023),
            ("64Mi", 64 << 20),
            ("2Ki", 2048),
            ("1k", 1000),
            ("3G", 3_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "Mi", "-1", "+1", "1.5Mi", "1MB", "1 Mi", "1m", "0x10", "1mi"] {
            assert_eq!(text.parse::<Size>(), Err(Error::Form), "{text}");
        }
        for text in ["99999999999999999999", "99999999999Ti"] {
            assert_eq!(text.parse::<Size>(), Err(Error::TooLarge), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_as_they_are_read() {
        for text in ["0", "1023", "64Mi", "2Ki", "1000", "1Ti", "1025Ki"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
    }
}
