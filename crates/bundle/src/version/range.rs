//! [`Range`]: the version range of a package dependency or of `olm.skipRange`.

use std::{borrow::Cow, cmp::Ordering, mem, str::FromStr};

use semver::Version;
use unlade_text::excerpt;

use super::parse;

mod wildcard;

/// The maximum length of a range, in bytes: a comparison takes 24 times the memory of its text. The
/// longest published range has 36 bytes.
pub const MAX_LEN: usize = 16 << 10;
/// What a comparison adds to [`Range::cost`].
const COMPARISON_COST: usize = 16;

/// A set of versions. A version is in the set if all comparisons of any alternative hold.
///
/// The dialect is that of `blang/semver` v4 (`range.go`), including its quirks:
///
/// - a space means AND; ` || ` means OR and has lower precedence; brackets do not exist
/// - the operators are none, `=`, `==`, `!`, `!=`, `<`, `<=`, `>`, `>=`; a space may follow `<`,
///   `>` and `=`
/// - `1.2.x` and `1.x` are wildcards; after an unknown operator they stand for their
///   lowest version (`~1.2.x` is `=1.2.0`), and `1.x.x` is `>=1.0.0 <1.1.0`
/// - any token that contains the letter `x` is a wildcard, so `>1.0.0-next` is an error
/// - tokens of one character are dropped: `1.0.0 - 2.0.0` means `=1.0.0` and `=2.0.0`
/// - prereleases are ordered as in SemVer and match like other versions; build metadata is ignored
///
/// ```
/// use unlade_bundle::version::{Range, parse};
///
/// let range: Range = ">=1.0.0 <2.0.0 || 3.0.x".parse()?;
/// assert!(range.matches(&parse("1.5.0-rc.1")?));
/// assert!(!range.matches(&parse("2.0.0")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    alternatives: Vec<Vec<Comparison>>,
    cost: usize,
}

/// An error that prevents a text from being parsed as a range.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The range is longer than [`MAX_LEN`].
    #[error("the range has {0} bytes, and at most {MAX_LEN} are allowed")]
    TooLong(usize),
    /// The range, or one side of a `||`, has no tokens.
    #[error("the range {:?} is empty, or has an empty alternative", excerpt::shorten(.0))]
    Empty(String),
    /// A token contains no version.
    #[error("{:?} does not contain a version", excerpt::shorten(.0))]
    NoVersion(String),
    /// The text before the version is not an operator.
    #[error("{:?} is not an operator", excerpt::shorten(.0))]
    Operator(String),
    /// The text after the operator is not a version.
    #[error("the range contains an invalid version")]
    Version(#[from] super::Error),
    /// The range contains a character outside ASCII.
    #[error("{:?} is not ASCII", excerpt::shorten(.0))]
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
    /// Checks whether `version` is in the range.
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|one| one.holds(version)))
    }

    /// Returns a number that grows as the time of [`matches`](Self::matches) and the memory of the
    /// range do: the length of the text in bytes, and 16 for each comparison.
    pub fn cost(&self) -> usize {
        self.cost
    }
}

impl FromStr for Range {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_LEN {
            return Err(Error::TooLong(text.len()));
        }
        // Go accepts digits of any script in this step, but rejects them later.
        if !text.is_ascii() {
            return Err(Error::NotAscii(text.to_owned()));
        }
        let (mut alternatives, mut comparisons) = (Vec::new(), Vec::new());
        let mut cost = text.len();
        for token in split(text).map(Some).chain([None]) {
            if let Some(token) = token.filter(|token| token != "||") {
                for token in wildcard::expand(&token)? {
                    comparisons.push(token.parse()?);
                    cost += COMPARISON_COST;
                }
                continue;
            }
            // Upstream accepts an empty alternative between two others, but panics when it is used.
            if comparisons.is_empty() {
                return Err(Error::Empty(text.to_owned()));
            }
            alternatives.push(mem::take(&mut comparisons));
        }
        Ok(Self { alternatives, cost })
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

/// Splits a range into tokens as `splitAndTrim` of `blang/semver` does: at spaces that do not
/// follow an operator. Like upstream, it drops tokens of a single character.
fn split(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let (mut start, mut last) = (0, 0);
    // The end of the text ends a token too.
    let bytes = text.bytes().map(Some).chain([None]).enumerate();
    let tokens = bytes.filter_map(move |(index, byte)| {
        match byte {
            Some(b' ') if matches!(last, b'<' | b'>' | b'=') => return None,
            Some(b' ') | None => {}
            Some(byte) => {
                last = byte;
                return None;
            }
        }
        let token = text.get(start..index);
        start = index + 1;
        token.filter(|token| token.len() > 1)
    });
    tokens.map(|token| {
        if token.contains(' ') { Cow::Owned(token.replace(' ', "")) } else { Cow::Borrowed(token) }
    })
}

/// Splits a token into the trimmed text before the first digit, and the rest.
fn split_operator(token: &str) -> Result<(&str, &str), Error> {
    let digit = token.find(|letter: char| letter.is_ascii_digit());
    let (operator, version) = digit
        .and_then(|index| token.split_at_checked(index))
        .ok_or_else(|| Error::NoVersion(token.to_owned()))?;
    Ok((operator.trim(), version))
}

#[cfg(test)]
mod tests;
