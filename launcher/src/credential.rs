//! [`Credentials`]: the credentials that a launch gives to the nodes.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

/// The credentials with which the nodes pull the images of one launch.
///
/// The launch stores them in a Secret, and deletes the Secret when the attempt has ended. The Job
/// owns the Secret, so that the Secret is deleted with the Job if the launch is terminated. `Debug`
/// does not show the credentials.
#[derive(Clone)]
pub struct Credentials(SecretString);

impl Credentials {
    /// Creates credentials from the JSON of Docker's `config.json`. Anyone who can read Secrets in
    /// the namespace can read the JSON, so it should have only the entry that the images need.
    pub fn new(docker_config: impl Into<SecretString>) -> Self {
        Self(docker_config.into())
    }

    pub(crate) fn docker_config(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        self.docker_config() == other.docker_config()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}
