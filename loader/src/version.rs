//! Versions and ranges of versions, in the dialect of Go's `blang/semver` v4.
//!
//! 001.8 names that library as the rule. The `semver` crate has the same versions but other
//! ranges: its `VersionReq` refuses `||` and `!`, lets `1.0.0` match 1.0.1 and hides prereleases.

use semver::Version;
use unlade_text::excerpt;

pub mod range;

pub use range::Range;

/// Why a text is no version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not `MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]`.
    #[error("`{}` is not a version like 1.2.3", excerpt::cut(.0))]
    Syntax(String, #[source] semver::Error),
    /// A numeric prerelease identifier above 2^64-1, which upstream refuses.
    #[error("`{}` has a prerelease number above 64 bits", excerpt::cut(.0))]
    Number(String),
}

/// `text` as a version: exactly what `blang/semver`'s `Parse` accepts.
///
/// # Errors
///
/// If it is not `MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]`: no `v`, no leading zeros, no number above
/// 64 bits.
pub fn parse(text: &str) -> Result<Version, Error> {
    let version = Version::parse(text).map_err(|source| Error::Syntax(text.to_owned(), source))?;
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut numbers = version.pre.split('.').filter(|part| !part.is_empty()).filter(is_number);
    if numbers.any(|number| number.parse::<u64>().is_err()) {
        return Err(Error::Number(text.to_owned()));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_refuses_is_no_version() {
        for text in ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3 "] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("18446744073709551616.0.0").is_err());
        assert!(parse("1.0.0-18446744073709551616").is_err());
    }

    #[test]
    fn what_go_accepts_is_a_version() {
        for text in ["0.0.0", "1.2.3-alpha.1", "1.2.3+007", "1.2.3--", "1.0.0-18446744073709551615"]
        {
            assert!(parse(text).is_ok(), "{text}");
        }
    }
}
