//! [`export`]: the credentials for one image, as a file that contains nothing else.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};
use unlade_name::{ImageReference, without_api_version};

use super::{Auth, Credentials, Error, Found, Identity};
use crate::Limits;

/// Credentials that were copied from the files of the user.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exported {
    /// The JSON of a file of docker (`config.json`).
    pub config: SecretString,
    /// The file or the helper that the credentials come from.
    pub origin: String,
}

/// Returns the credentials for `image` as the JSON of Docker's configuration file (`config.json`),
/// which contains nothing else. Returns `None` if there are no credentials.
///
/// The entry is that of the repository of the image, not of the whole registry. The repositories of
/// the images `with` get an entry too if they are in the same registry and the same credentials are
/// for them.
///
/// # Errors
///
/// Returns [`Error::Token`] if the credentials are a token, because a kubelet only sends passwords.
/// Returns an error if a file with credentials cannot be read, or if a helper fails.
pub fn export(
    auth: &Auth,
    image: &ImageReference,
    with: &[ImageReference],
    limits: &Limits,
) -> Result<Option<Exported>, Error> {
    let Some(Found { identity, origin }) = auth.find(image, limits)? else { return Ok(None) };
    let Identity::Password(credentials) = identity else {
        return Err(Error::Token { registry: image.registry().to_owned(), origin });
    };
    let mut auths = Map::from_iter([entry(image, &credentials)]);
    for other in with.iter().filter(|other| other.registry() == image.registry()) {
        let found = auth.find(other, limits)?.map(|found| found.identity);
        if matches!(found, Some(Identity::Password(found)) if found.is_same(&credentials)) {
            auths.extend([entry(other, &credentials)]);
        }
    }
    Ok(Some(Exported { config: document(&auths).into(), origin }))
}

/// Returns the text of a file with these entries.
pub(super) fn document(auths: &Map<String, Value>) -> String {
    json!({"auths": auths}).to_string()
}

/// Returns the entry for an image, with its key.
pub(super) fn entry(image: &ImageReference, credentials: &Credentials) -> (String, Value) {
    (key(image), json!({"auth": credentials.encode()}))
}

/// Returns the key by which a kubelet finds the entry for an image.
fn key(image: &ImageReference) -> String {
    let (registry, repository) = (image.registry(), image.repository());
    // The kubelet removes these from a key, so such an entry would be for another repository.
    if without_api_version(repository) != repository {
        return registry.to_owned();
    }
    format!("{registry}/{repository}")
}

impl Credentials {
    /// Returns `USER:PASSWORD` in base64.
    pub(crate) fn encode(&self) -> String {
        BASE64_STANDARD.encode(format!("{}:{}", self.user(), self.password().expose_secret()))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.user() == other.user()
            && self.password().expose_secret() == other.password().expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::credential::Stored;

    /// Exports from a file with these credentials for `a.example/team/etcd:1`.
    fn exported(auths: &Value, with: &[&str]) -> Result<Option<Value>, Error> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        fs::write(&path, json!({"auths": auths}).to_string()).unwrap();
        let image = "a.example/team/etcd:1".parse().unwrap();
        let with: Vec<_> = with.iter().map(|image| image.parse().unwrap()).collect();
        let auth = Auth::Stored(Stored::file(path));
        let found = export(&auth, &image, &with, &Limits::default())?;
        Ok(found.map(|found| serde_json::from_str(found.config.expose_secret()).unwrap()))
    }

    #[test]
    fn only_the_credentials_for_the_image_are_exported() {
        let (ours, theirs) = (json!({"auth": "YTpi"}), json!({"auth": "Yzpk"}));
        let auths = json!({"a.example": ours, "b.example": theirs, "a.example/other": theirs});
        let with = ["a.example/tools/unpacker:1", "a.example/other/x:1", "b.example/x:1", "c/d:1"];
        let found = exported(&auths, &with).unwrap().unwrap();
        let wanted = json!({"a.example/team/etcd": ours, "a.example/tools/unpacker": ours});
        assert_eq!(found, json!({"auths": wanted}));
        assert!(exported(&json!({"b.example": theirs}), &[]).unwrap().is_none());
    }

    #[test]
    fn the_entry_of_a_repository_that_looks_like_a_version_is_that_of_the_registry() {
        assert_eq!(key(&"a.example/v2/etcd:1".parse().unwrap()), "a.example");
    }

    #[test]
    fn a_token_is_refused_without_being_shown() {
        let auths = json!({"a.example": {"auth": "YTpi", "identitytoken": "secret"}});
        let error = exported(&auths, &[]).unwrap_err();
        assert!(matches!(error, Error::Token { .. }), "{error:?}");
        let text = format!("{error} {error:?} {:?}", error.hint());
        assert!(!text.contains("secret") && text.contains("a.example"), "{text}");
    }
}
