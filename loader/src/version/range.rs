//! [`Range`]: which versions a package dependency or a skipRange takes.

use std::{cmp::Ordering, str::FromStr};

use semver::Version;
use unlade_text::excerpt;

use super::parse;

mod wildcard;

/// A set of versions: alternatives of comparisons that all must hold.
///
/// The dialect is that of `blang/semver` v4 (`range.go`), its quirks included:
///
/// - a space is AND, ` || ` is OR and binds weaker; there are no brackets
/// - the operators are none, `=`, `==`, `!`, `!=`, `<`, `<=`, `>`, `>=`; a space may follow `<`, `>`
///   and `=`
/// - `1.2.x` and `1.x` are wildcards; behind an operator that does not exist they stand for their
///   lowest version (`~1.2.x` is `=1.2.0`), and `1.x.x` is `>=1.0.0 <1.1.0`
/// - any token that holds the letter `x` is taken for a wildcard, so `>1.0.0-next` is an error
/// - tokens of one character are dropped: `1.0.0 - 2.0.0` is `=1.0.0` and `=2.0.0`
/// - prereleases are ordered as SemVer says and match like others; build metadata is ignored
///
/// ```
/// use unlade_loader::version::{Range, parse};
///
/// let range: Range = ">=1.0.0 <2.0.0 || 3.0.x".parse()?;
/// assert!(range.matches(&parse("1.5.0-rc.1")?));
/// assert!(!range.matches(&parse("2.0.0")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    alternatives: Vec<Vec<Comparison>>,
}

/// Why a text is no range.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No token is left on one side of a `||`, or none at all.
    #[error("nothing to compare with in the range `{}`", excerpt::cut(.0))]
    Empty(String),
    /// A token has no version in it.
    #[error("no version in `{}`", excerpt::cut(.0))]
    NoVersion(String),
    /// What stands before the version is no operator.
    #[error("`{}` is not an operator", excerpt::cut(.0))]
    Operator(String),
    /// What stands after the operator is no version.
    #[error("a range compares with full versions like 1.2.3")]
    Version(#[from] super::Error),
    /// A character that no range holds.
    #[error("`{}` is not ASCII", excerpt::cut(.0))]
    NotAscii(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Range {
    /// Whether `version` is in the range.
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|one| one.holds(version)))
    }
}

impl FromStr for Range {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // Go looks for digits of any script, all of which it refuses afterwards.
        if !text.is_ascii() {
            return Err(Error::NotAscii(text.to_owned()));
        }
        let tokens = split(text);
        let mut alternatives = Vec::new();
        for tokens in tokens.split(|token| token == "||") {
            // Upstream accepts an empty alternative between two others, and panics in using it.
            if tokens.is_empty() {
                return Err(Error::Empty(text.to_owned()));
            }
            let mut comparisons = Vec::new();
            for token in tokens {
                for token in wildcard::expand(token)? {
                    comparisons.push(token.parse()?);
                }
            }
            alternatives.push(comparisons);
        }
        Ok(Self { alternatives })
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let ordering = version.cmp_precedence(&self.version);
        match self.operator {
            Operator::Equal => ordering == Ordering::Equal,
            Operator::NotEqual => ordering != Ordering::Equal,
            Operator::Less => ordering == Ordering::Less,
            Operator::LessOrEqual => ordering != Ordering::Greater,
            Operator::Greater => ordering == Ordering::Greater,
            Operator::GreaterOrEqual => ordering != Ordering::Less,
        }
    }
}

impl FromStr for Comparison {
    type Err = Error;

    fn from_str(token: &str) -> Result<Self, Error> {
        let (operator, version) = split_operator(token)?;
        let operator = match operator {
            "" | "=" | "==" => Operator::Equal,
            "!" | "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            other => return Err(Error::Operator(other.to_owned())),
        };
        Ok(Self { operator, version: parse(version)? })
    }
}

/// `blang/semver`'s `splitAndTrim`: at spaces that do not follow an operator, tokens of a single
/// character lost.
fn split(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let (mut start, mut last) = (0, 0);
    for (index, byte) in text.bytes().enumerate() {
        if byte != b' ' {
            last = byte;
        } else if !matches!(last, b'<' | b'>' | b'=') {
            if start + 1 < index {
                tokens.push(start..index);
            }
            start = index + 1;
        }
    }
    if start + 1 < text.len() {
        tokens.push(start..text.len());
    }
    tokens
        .into_iter()
        .filter_map(|token| text.get(token))
        .map(|token| token.replace(' ', ""))
        .collect()
}

/// What stands before the first digit, trimmed, and the rest.
fn split_operator(token: &str) -> Result<(&str, &str), Error> {
    let digit = token.find(|letter: char| letter.is_ascii_digit());
    let (operator, version) = digit
        .and_then(|index| token.split_at_checked(index))
        .ok_or_else(|| Error::NoVersion(token.to_owned()))?;
    Ok((operator.trim(), version))
}

#[cfg(test)]
mod tests;
