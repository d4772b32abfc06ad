//! The release of a bundle (operator-registry `alpha/model`, `NewRelease`).

use unlade_bundle::version::{self, Version};

/// The maximum length of a release, in characters.
const MAX_LENGTH: usize = 20;

/// Checks a release that is not empty. Returns what is wrong with it.
pub(crate) fn check(release: &str) -> Option<String> {
    if release.len() > MAX_LENGTH {
        return Some(format!("is longer than {MAX_LENGTH} characters"));
    }
    parse(release).is_none().then(|| {
        "may only have letters, digits, dashes and dots, and no part that is empty or begins with a \
         zero"
            .to_owned()
    })
}

/// Parses a release, as the prerelease of a version: releases are compared in the same way. Returns
/// `None` if it is empty or invalid.
pub(crate) fn parse(release: &str) -> Option<Version> {
    if release.contains('+') {
        return None;
    }
    version::parse(&format!("0.0.0-{release}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The crafted catalogs whose names begin with `release-`.
    #[test]
    fn releases_are_those_of_upstream() {
        for release in ["3", "2.alpha-1", "0", "11111111111111111111", "-"] {
            assert_eq!(check(release), None, "{release}");
        }
        for release in
            ["a_b", "111111111111111111111", "99999999999999999999", "01", "1..2", "1+2", ".", " "]
        {
            assert!(check(release).is_some(), "{release}");
        }
    }
}
