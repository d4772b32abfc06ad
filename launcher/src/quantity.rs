//! Amounts of resources in the syntax of Kubernetes: `250m`, `1.5Gi`, `2e3`. The crate
//! `kube_quantity` (0.9) does not read exponents.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// An amount in billionths, which is the highest precision of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Amount(i128);

/// The power of ten of the unit of [`Amount`].
const SCALE: i32 = -9;

/// The suffixes, each with a factor and a power of ten.
const SUFFIXES: [(&str, i128, i32); 16] = [
    ("", 1, 0),
    ("n", 1, -9),
    ("u", 1, -6),
    ("m", 1, -3),
    ("k", 1, 3),
    ("M", 1, 6),
    ("G", 1, 9),
    ("T", 1, 12),
    ("P", 1, 15),
    ("E", 1, 18),
    ("Ki", 1 << 10, 0),
    ("Mi", 1 << 20, 0),
    ("Gi", 1 << 30, 0),
    ("Ti", 1 << 40, 0),
    ("Pi", 1 << 50, 0),
    ("Ei", 1 << 60, 0),
];

impl Amount {
    /// The amount 1.
    pub(crate) const ONE: Self = Self(1_000_000_000);

    /// Parses a quantity. Returns `None` for an invalid or negative quantity, for one that is not a
    /// whole number of billionths, and for one that overflows.
    pub(crate) fn parse(quantity: &Quantity) -> Option<Self> {
        parse(&quantity.0).map(Self)
    }

    /// Returns the sum, which saturates.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Checks whether `text` is a quantity of Kubernetes without a sign, whatever its size.
pub fn is_quantity(text: &str) -> bool {
    split(text).is_some()
}

/// Splits a quantity without a sign into its digits before and after the point, and the factor and
/// the power of ten of its suffix.
fn split(text: &str) -> Option<(&str, &str, i128, i32)> {
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let known = SUFFIXES.iter().find(|(known, ..)| *known == suffix);
    let (factor, exponent) = match known {
        Some(&(_, factor, exponent)) => (factor, exponent),
        None => (1, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    let is_number = !(whole.is_empty() && fraction.is_empty() || fraction.contains('.'));
    is_number.then_some((whole, fraction, factor, exponent))
}

fn parse(text: &str) -> Option<i128> {
    let (whole, fraction, factor, exponent) = split(text.strip_prefix('+').unwrap_or(text))?;
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_sub(SCALE)?;
    let amount = mantissa.checked_mul(factor)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    if exponent < 0 {
        (amount % power == 0).then_some(amount / power)
    } else {
        amount.checked_mul(power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_kubernetes_writes_them() {
        let one = Amount::ONE.0;
        for (text, expected) in [
            ("0", Some(0)),
            ("1", Some(one)),
            ("250m", Some(one / 4)),
            ("0.25", Some(one / 4)),
            (".5", Some(one / 2)),
            ("1.", Some(one)),
            ("+2", Some(2 * one)),
            ("1.5Gi", Some(one * 3 * (1 << 29))),
            ("2e3", Some(2000 * one)),
            ("2E3", Some(2000 * one)),
            ("1E", Some(one * 1_000_000_000_000_000_000)),
            ("5e-1", Some(one / 2)),
            ("1n", Some(1)),
            ("8Ei", Some(one * 8 * (1 << 60))),
            ("0.1n", None),
            ("-1", None),
            ("", None),
            ("Gi", None),
            (".", None),
            ("1..2", None),
            ("1-", None),
            ("1K", None),
            ("1 Gi", None),
            ("1e", None),
            ("1e99", None),
            ("99999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn quantities_of_any_size_have_no_sign() {
        for text in ["1", "0.5", ".5", "5.", "1e3", "1E-3", "1Ei", "1E", "12k", "0.1n", "1e99"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", ".", "1GB", "1 Gi", "-1", "+1", "1.2.3", "Mi", "1e", "1mi"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
