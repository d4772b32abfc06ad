//! ConfigMap keys: their rules, and the key of a file name.

use std::borrow::Borrow;
use std::fmt;

/// The maximum length of a key in bytes (apimachinery `IsConfigMapKey`).
pub const MAX_LENGTH: usize = 253;

/// A legal key of `data` and `binaryData`: it matches `[-._a-zA-Z0-9]+`, has at most [`MAX_LENGTH`]
/// bytes, is not `.`, and does not start with `..` (design 004.13).
///
/// ```
/// use unlade_bundle::key::ConfigMapKey;
///
/// let key = ConfigMapKey::from_file_name("é v1:crd.yaml")?;
/// assert_eq!(key.as_str(), "--v1-crd.yaml");
/// # Ok::<(), unlade_bundle::key::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigMapKey(String);

/// The reason why a name has no legal key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is empty.
    #[error("the name is empty")]
    Empty,
    /// The name contains a slash or a NUL, so no directory can contain a file with this name.
    #[error("the name contains '/' or NUL")]
    NotAName,
    /// The key is longer than the API server allows.
    #[error("the key has {length} characters, but a ConfigMap allows {MAX_LENGTH}")]
    TooLong {
        /// The length of the key in bytes.
        length: usize,
    },
    /// The key is `.` or starts with `..`, which the API server rejects.
    #[error("a ConfigMap key must not be '.' or start with '..'")]
    Dots,
    /// The key contains an illegal character. [`ConfigMapKey::from_file_name`] never returns this.
    #[error("a ConfigMap key must not contain {character:?}")]
    Character {
        /// The first such character.
        character: char,
    },
}

impl ConfigMapKey {
    /// Returns the key of a file with this name. Each illegal character becomes one `-`, as in
    /// upstream (`TranslateInvalidChars` of operator-registry since 1.57; design 004.14).
    ///
    /// # Errors
    ///
    /// Returns an error if `name` is not a file name, or if the resulting key is not legal.
    pub fn from_file_name(name: &str) -> Result<Self, Error> {
        if name.contains(['/', '\0']) {
            return Err(Error::NotAName);
        }
        Self::parse(&name.replace(|c| !is_legal(c), "-"))
    }

    /// Parses `key` without changing it.
    ///
    /// # Errors
    ///
    /// Returns an error if `key` is not legal.
    pub fn parse(key: &str) -> Result<Self, Error> {
        if let Some(character) = key.chars().find(|&c| !is_legal(c)) {
            return Err(Error::Character { character });
        }
        if key.is_empty() {
            return Err(Error::Empty);
        }
        if key.len() > MAX_LENGTH {
            return Err(Error::TooLong { length: key.len() });
        }
        if key == "." || key.starts_with("..") {
            return Err(Error::Dots);
        }
        Ok(Self(key.to_owned()))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ConfigMapKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ConfigMapKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConfigMapKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ConfigMapKey> for String {
    fn from(key: ConfigMapKey) -> Self {
        key.0
    }
}

fn is_legal(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_illegal_character_becomes_one_dash() {
        for (name, key) in [
            ("foo-bar.yaml", "foo-bar.yaml"),
            ("foo:bar.yaml", "foo-bar.yaml"),
            ("日本.yaml", "--.yaml"),
            ("e\u{301}.yaml", "e-.yaml"),
            ("a+b~c d@e.yaml", "a-b-c-d-e.yaml"),
            (".gitkeep", ".gitkeep"),
        ] {
            assert_eq!(ConfigMapKey::from_file_name(name).unwrap().as_str(), key);
        }
    }

    #[test]
    fn names_without_a_legal_key_are_refused() {
        assert_eq!(ConfigMapKey::from_file_name(""), Err(Error::Empty));
        assert_eq!(ConfigMapKey::from_file_name("a/b"), Err(Error::NotAName));
        assert_eq!(ConfigMapKey::from_file_name("a\0"), Err(Error::NotAName));
        for name in [".", "..", "..data", "..."] {
            assert_eq!(ConfigMapKey::from_file_name(name), Err(Error::Dots), "{name}");
        }
        assert!(ConfigMapKey::from_file_name(&"a".repeat(253)).is_ok());
        assert_eq!(
            ConfigMapKey::from_file_name(&"a".repeat(254)),
            Err(Error::TooLong { length: 254 })
        );
    }

    #[test]
    fn the_limit_counts_the_key_and_not_the_bytes_of_the_name() {
        assert_eq!(
            ConfigMapKey::from_file_name(&"é".repeat(253)).unwrap().as_str(),
            "-".repeat(253)
        );
    }

    proptest! {
        #[test]
        fn a_key_is_legal_and_its_own_key(name in "[^/\0]{1,200}") {
            if let Ok(key) = ConfigMapKey::from_file_name(&name) {
                prop_assert_eq!(ConfigMapKey::parse(key.as_str()), Ok(key.clone()));
                prop_assert_eq!(ConfigMapKey::from_file_name(key.as_str()), Ok(key.clone()));
                prop_assert_eq!(key.as_str().len(), name.chars().count());
            } else {
                prop_assert!(name == "." || name.starts_with(".."));
            }
        }
    }
}
