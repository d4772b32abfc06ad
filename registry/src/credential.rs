//! [`Auth`]: how a client logs in to a registry.

mod export;
mod file;
mod helper;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use secrecy::SecretString;
use unlade_name::ImageReference;

use crate::Limits;

pub use export::{Exported, export};
pub use file::Stored;

/// How a client logs in to a registry that requires it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Auth {
    /// Anonymously.
    #[default]
    Anonymous,
    /// As this user, in every registry.
    Credentials(Credentials),
    /// With the credentials that `podman login` or `docker login` stored for the registry.
    Stored(Stored),
}

/// The credentials for one registry.
#[derive(Debug)]
pub(crate) enum Identity {
    Password(Credentials),
    /// A token with which a token server issues others (`identitytoken`).
    Token(SecretString),
}

/// Credentials, and where they were found.
pub(crate) struct Found {
    pub(crate) identity: Identity,
    pub(crate) origin: String,
}

/// A user of a registry, and the password.
///
/// Neither `Debug` nor an error shows the password.
#[derive(Clone)]
pub struct Credentials {
    user: String,
    password: SecretString,
}

/// An error that prevents credentials from being read. It does not contain them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not `USER:PASSWORD`.
    #[error("the credentials do not have the form USER:PASSWORD")]
    Form,
    /// A file cannot be read, or is too large.
    #[error(transparent)]
    File(#[from] crate::file::Error),
    /// A file does not contain credentials as JSON.
    #[error("{} does not contain credentials as JSON (line {line})", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The line of the problem.
        line: usize,
    },
    /// An entry of a file is not valid.
    #[error("{}: the entry for {key} does not contain credentials", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The key of the entry.
        key: String,
    },
    /// The credentials are a token that only the registry's own token server accepts.
    #[error(
        "the credentials for {registry} from {origin} are an identity token, which nodes cannot use"
    )]
    Token {
        /// The registry.
        registry: String,
        /// The file or the helper.
        origin: String,
    },
    /// A credential helper failed.
    #[error("the credential helper {name:?} failed: {problem}")]
    Helper {
        /// The name of the helper, without `docker-credential-`.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Token { registry, .. } => Some(format!(
                "create an access token or a robot account for {registry}, and log in with it as a \
                 password"
            )),
            _ => None,
        }
    }
}

/// Reads `bytes` twice: as the output of a credential helper, and as a file with credentials.
/// Returns what is exported of the file.
#[cfg(feature = "fuzz")]
pub(crate) fn read_all(bytes: &[u8], image: &ImageReference) -> Option<String> {
    let _ = helper::parse(bytes);
    let Identity::Password(found) = file::read_without_helpers(bytes, image)? else { return None };
    let auths = serde_json::Map::from_iter([export::entry(image, &found)]);
    Some(export::document(&auths))
}

impl Auth {
    /// Returns the credentials for the registry of `image`, if there are any.
    pub(crate) fn find(
        &self,
        image: &ImageReference,
        limits: &Limits,
    ) -> Result<Option<Found>, Error> {
        match self {
            Self::Anonymous => Ok(None),
            Self::Credentials(credentials) => {
                let identity = Identity::Password(credentials.clone());
                Ok(Some(Found { identity, origin: "the given credentials".to_owned() }))
            }
            Self::Stored(stored) => stored.find(image, limits),
        }
    }
}

impl Credentials {
    /// Creates the credentials of a user.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: password.into().into() }
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn password(&self) -> &SecretString {
        &self.password
    }
}

impl FromStr for Credentials {
    type Err = Error;

    /// Parses `USER:PASSWORD`; the password may contain colons.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            Some((user, password)) if !user.is_empty() => Ok(Self::new(user, password)),
            _ => Err(Error::Form),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::Credentials;

    #[test]
    fn unreadable_credentials_are_refused_without_being_shown() {
        let read: Credentials = "user:pass:word".parse().unwrap();
        assert_eq!((read.user(), read.password().expose_secret()), ("user", "pass:word"));
        assert!(!format!("{read:?}").contains("pass"));
        for text in ["secret", ":secret", ""] {
            let error = text.parse::<Credentials>().unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
