//! The patterns of Go's `filepath.Match`, for a name without slashes.

use std::{iter::Peekable, str::Chars};

/// A pattern for a name.
#[derive(Debug)]
pub(super) struct Glob {
    tokens: Vec<Token>,
}

#[derive(Debug)]
enum Token {
    /// `*`: any number of characters.
    Star,
    /// `?`: one character.
    Any,
    One(char),
    /// `[a-z]` and `[^a-z]`: one character of these ranges, or of all others.
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Parses a pattern. Returns `None` if it is malformed.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let (mut tokens, mut rest) = (Vec::new(), pattern.chars().peekable());
        while let Some(letter) = rest.next() {
            tokens.push(match letter {
                '*' => Token::Star,
                '?' => Token::Any,
                '\\' => Token::One(rest.next()?),
                '[' => class(&mut rest)?,
                _ => Token::One(letter),
            });
        }
        Some(Self { tokens })
    }

    /// Checks whether the pattern matches the whole name. The time grows with the product of their
    /// lengths at most.
    pub(super) fn is_match(&self, name: &str) -> bool {
        let (mut tokens, mut rest) = (self.tokens.as_slice(), name.chars());
        // What follows the last star, and the first character that the star does not take yet. An
        // earlier star never has to take more than it did.
        let mut star = None;
        loop {
            match tokens.split_first() {
                Some((Token::Star, after)) => {
                    star = Some((after, rest.clone()));
                    tokens = after;
                    continue;
                }
                Some((token, after)) => {
                    let mut next = rest.clone();
                    if next.next().is_some_and(|letter| token.is_match(letter)) {
                        (tokens, rest) = (after, next);
                        continue;
                    }
                }
                None if rest.as_str().is_empty() => return true,
                None => {}
            }
            let Some((after, from)) = &mut star else { return false };
            if from.next().is_none() {
                return false;
            }
            (tokens, rest) = (after, from.clone());
        }
    }
}

impl Token {
    fn is_match(&self, letter: char) -> bool {
        match self {
            Self::Star | Self::Any => true,
            Self::One(own) => *own == letter,
            Self::Class { is_negated, ranges } => {
                ranges.iter().any(|&(low, high)| (low..=high).contains(&letter)) != *is_negated
            }
        }
    }
}

/// Parses a class after its `[`.
fn class(rest: &mut Peekable<Chars<'_>>) -> Option<Token> {
    let is_negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    while ranges.is_empty() || rest.next_if_eq(&']').is_none() {
        let low = bound(rest)?;
        let high = if rest.next_if_eq(&'-').is_some() { bound(rest)? } else { low };
        ranges.push((low, high));
    }
    Some(Token::Class { is_negated, ranges })
}

fn bound(rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    match rest.next()? {
        '-' | ']' => None,
        '\\' => rest.next(),
        letter => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are those of Go's `filepath.Match`, an error being no match.
    #[test]
    fn names_match_as_in_go() {
        for (pattern, matching, other) in [
            ("", &[""][..], &["a"][..]),
            ("*", &["", "abc"], &[]),
            ("a*b*c", &["abc", "axbxbxc", "abcc"], &["abcd", "acb"]),
            ("*a*a", &["aa", "xaya", "aaa"], &["a", "aab"]),
            ("a**b", &["ab", "axb"], &["a"]),
            ("?", &["a", "ä"], &["", "ab"]),
            ("[a-cx]", &["b", "x"], &["d", "-"]),
            ("[^a]", &["b", "ä", "^"], &["a", ""]),
            ("[!]", &["!"], &["a"]),
            ("[\\]\\-]", &["]", "-"], &["\\"]),
            ("\\**", &["*", "*a"], &["a"]),
            ("[ä-ü]", &["ö"], &["a"]),
            ("[c-a]", &[], &["a", "b", "c"]),
            ("[]a]", &[], &["]", "a"]),
            ("[-a]", &[], &["-", "a"]),
            ("[a-]", &[], &["-", "a"]),
            ("[a", &[], &["a", "[a"]),
            ("[^]", &[], &["^", "a"]),
            ("a\\", &[], &["a", "a\\"]),
            ("{a,b}", &["{a,b}"], &["a"]),
        ] {
            let is_match = |name: &&&str| Glob::new(pattern).is_some_and(|it| it.is_match(name));
            assert_eq!(matching.iter().find(|name| !is_match(name)), None, "{pattern}");
            assert_eq!(other.iter().find(is_match), None, "{pattern}");
        }
    }
}
