//! Versions and version ranges, in the dialect of Go's `blang/semver` v4.
//!
//! Requirement 001.8 refers to this library. The `semver` crate has the same versions but different
//! ranges: its `VersionReq` rejects `||` and `!`, `1.0.0` matches 1.0.1, and prereleases do not
//! match.

use unlade_text::excerpt;

pub mod range;

pub use range::Range;
/// A version. Order two versions with `cmp_precedence`, which ignores build metadata like upstream.
pub use semver::Version;

/// An error that prevents a text from being parsed as a version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not `MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]`.
    #[error("{:?} is not a version like 1.2.3", excerpt::shorten(.0))]
    Syntax(String, #[source] semver::Error),
    /// A numeric prerelease identifier is above 2^64-1, which upstream rejects.
    #[error("{:?} has a prerelease number above 64 bits", excerpt::shorten(.0))]
    Number(String),
}

/// Parses a version. Accepts the same texts as `Parse` of `blang/semver`.
///
/// # Errors
///
/// Returns an error if `text` is not `MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]`. A prefix `v`,
/// leading zeros, and numbers above 64 bits are not allowed.
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
    fn what_go_refuses_is_not_a_version() {
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
