//! File name -> ConfigMap key.

use std::borrow::Borrow;
use std::fmt;

/// Most bytes in a key (apimachinery `IsConfigMapKey`: the length of a DNS subdomain).
pub const MAX_LENGTH: usize = 253;

/// A legal key of `data` and `binaryData`: `[-._a-zA-Z0-9]+`, at most [`MAX_LENGTH`] bytes, not
/// `.` and not starting with `..` (004.13).
///
/// ```
/// use unlade_bundle::key::ConfigMapKey;
///
/// let key = ConfigMapKey::of_file("é v1:crd.yaml")?;
/// assert_eq!(key.as_str(), "--v1-crd.yaml");
/// # Ok::<(), unlade_bundle::key::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigMapKey(String);

/// Why a name has no legal key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no name.
    #[error("the name is empty")]
    Empty,
    /// The name is a path, or holds a NUL: no directory has such a file.
    #[error("the name holds '/' or NUL")]
    NotAName,
    /// The API server refuses keys of this length.
    #[error("the key has {length} characters, a ConfigMap takes {MAX_LENGTH}")]
    TooLong {
        /// Bytes in the key.
        length: usize,
    },
    /// The API server refuses `.` and what starts with `..`.
    #[error("a ConfigMap takes no key that is '.' or starts with '..'")]
    Dots,
    /// A character that no key may hold; never the outcome of [`ConfigMapKey::of_file`].
    #[error("a ConfigMap takes no key with {character:?}")]
    Character {
        /// The first such character.
        character: char,
    },
}

impl ConfigMapKey {
    /// The key of a file of this name: every character that a key cannot hold becomes one `-`, as
    /// upstream does it (`TranslateInvalidChars` of operator-registry since 1.57; 004.14).
    ///
    /// # Errors
    ///
    /// If the name is none, or the key is not legal.
    pub fn of_file(name: &str) -> Result<Self, Error> {
        if name.contains(['/', '\0']) {
            return Err(Error::NotAName);
        }
        Self::parse(&name.replace(|c| !is_legal(c), "-"))
    }

    /// `key`, if it is legal as it stands.
    ///
    /// # Errors
    ///
    /// If it is not.
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

    /// The key.
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
            assert_eq!(ConfigMapKey::of_file(name).unwrap().as_str(), key);
        }
    }

    #[test]
    fn names_without_a_legal_key_are_refused() {
        assert_eq!(ConfigMapKey::of_file(""), Err(Error::Empty));
        assert_eq!(ConfigMapKey::of_file("a/b"), Err(Error::NotAName));
        assert_eq!(ConfigMapKey::of_file("a\0"), Err(Error::NotAName));
        for name in [".", "..", "..data", "..."] {
            assert_eq!(ConfigMapKey::of_file(name), Err(Error::Dots), "{name}");
        }
        assert!(ConfigMapKey::of_file(&"a".repeat(253)).is_ok());
        assert_eq!(ConfigMapKey::of_file(&"a".repeat(254)), Err(Error::TooLong { length: 254 }));
    }

    #[test]
    fn the_limit_counts_the_key_and_not_the_bytes_of_the_name() {
        assert_eq!(ConfigMapKey::of_file(&"é".repeat(253)).unwrap().as_str(), "-".repeat(253));
    }

    proptest! {
        #[test]
        fn a_key_is_legal_and_its_own_key(name in "[^/\0]{1,200}") {
            if let Ok(key) = ConfigMapKey::of_file(&name) {
                prop_assert_eq!(ConfigMapKey::parse(key.as_str()), Ok(key.clone()));
                prop_assert_eq!(ConfigMapKey::of_file(key.as_str()), Ok(key.clone()));
                prop_assert_eq!(key.as_str().len(), name.chars().count());
            } else {
                prop_assert!(name == "." || name.starts_with(".."));
            }
        }
    }
}
