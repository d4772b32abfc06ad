//! [`Stored`]: the files in which podman and docker store credentials (`containers-auth.json(5)`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer};
use unlade_name::image::{DEFAULT_REGISTRY, FORMER_DEFAULT_REGISTRY};
use unlade_name::{ImageReference, covered_length};

use super::{Credentials, Error, Found, Identity, helper};
use crate::{Limits, environment, file, limit};

/// The name by which docker stores the credentials for its own registry.
const DOCKER_KEY: &str = "https://index.docker.io/v1/";

/// The files with credentials, in the order in which they are searched.
///
/// An entry of a file is a registry or a namespace in it, and the longest one that covers an image
/// counts. A file can also name a credential helper, which is a program
/// `docker-credential-NAME` on the `PATH`.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Credentials that take precedence over those of the files, and their origin.
    given: Vec<(String, SecretString)>,
    files: Vec<PathBuf>,
    /// Whether a missing file is an error.
    is_required: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default, deserialize_with = "null_as_empty")]
    auths: BTreeMap<String, Entry>,
    #[serde(default, deserialize_with = "null_as_empty")]
    cred_helpers: BTreeMap<String, String>,
    #[serde(default)]
    creds_store: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

/// Reads null as an empty map, and a null in the map as an empty value, as Go does.
fn null_as_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let map: BTreeMap<_, Option<T>> = Option::deserialize(deserializer)?.unwrap_or_default();
    Ok(map.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

impl Stored {
    /// Searches only `file`, which must exist.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self { given: Vec::new(), files: vec![file.into()], is_required: true }
    }

    /// Searches the file that `REGISTRY_AUTH_FILE` names. Without this variable, searches the files
    /// of podman in `XDG_RUNTIME_DIR` (or `/run/containers/UID`) and in `XDG_CONFIG_HOME` (or
    /// `~/.config`), and then docker's, in `DOCKER_CONFIG` (or `~/.docker`).
    pub fn from_env() -> Self {
        if let Some(file) = environment::path("REGISTRY_AUTH_FILE") {
            return Self::file(file);
        }
        let home = environment::path("HOME");
        let beneath_home = |directory: &str| home.as_ref().map(|home| home.join(directory));
        let user = rustix::process::getuid().as_raw().to_string();
        let runtime =
            environment::path("XDG_RUNTIME_DIR").map(|directory| directory.join("containers"));
        let runtime = runtime.unwrap_or_else(|| PathBuf::from("/run/containers").join(user));
        let config = environment::path("XDG_CONFIG_HOME").or_else(|| beneath_home(".config"));
        let docker = environment::path("DOCKER_CONFIG").or_else(|| beneath_home(".docker"));
        let files = [
            Some(runtime.join("auth.json")),
            config.map(|directory| directory.join("containers/auth.json")),
            docker.map(|directory| directory.join("config.json")),
        ];
        let files = files.into_iter().flatten().collect();
        Self { given: Vec::new(), files, is_required: false }
    }

    /// Searches the pull secret `origin` before the files and before the secrets that are given
    /// later. `text` is the JSON of a file of docker (`config.json`).
    ///
    /// The entries have the meaning that they have for a kubelet: a host can contain `*`. A
    /// credential helper that the secret names is not run, because the author of the secret need
    /// not be the user of this machine.
    #[must_use]
    pub fn with_pull_secret(mut self, origin: impl Into<String>, text: SecretString) -> Self {
        self.given.push((origin.into(), text));
        self
    }

    /// Returns the credentials for the registry of `image`, if a file or a helper has them.
    pub(crate) fn find(
        &self,
        image: &ImageReference,
        limits: &Limits,
    ) -> Result<Option<Found>, Error> {
        for (origin, text) in &self.given {
            if let Some(found) = find_given(origin, text, image)? {
                return Ok(Some(found));
            }
        }
        for path in &self.files {
            let Some(config) = self.read(path)? else { continue };
            if let Some(found) = find(&config, path, image, limits)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn read(&self, path: &Path) -> Result<Option<Config>, Error> {
        let bytes = match file::read(path, limit::FILE) {
            Err(error) if error.is_missing() && !self.is_required => return Ok(None),
            bytes => bytes?,
        };
        // The error's own message may quote a password.
        let config = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Json { path: path.to_owned(), line: error.line() })?;
        Ok(Some(config))
    }
}

/// Reads the credentials for `image` in `bytes`, without asking a helper.
#[cfg(feature = "fuzz")]
pub(super) fn read_without_helpers(bytes: &[u8], image: &ImageReference) -> Option<Identity> {
    let config: Config = serde_json::from_slice(bytes).ok()?;
    best(&config.auths, image, covered)?.1.identity()
}

/// Finds the credentials for `image` in a pull secret.
fn find_given(
    origin: &str,
    text: &SecretString,
    image: &ImageReference,
) -> Result<Option<Found>, Error> {
    let path = PathBuf::from(origin);
    // The error's own message may quote a password.
    let config: Config = serde_json::from_str(text.expose_secret())
        .map_err(|error| Error::Json { path: path.clone(), line: error.line() })?;
    let Some((key, entry)) = best(&config.auths, image, covered_length) else {
        return Ok(None);
    };
    let identity = entry.identity().ok_or_else(|| Error::Entry { path, key: key.to_owned() })?;
    Ok(Some(Found { identity, origin: origin.to_owned() }))
}

fn find(
    config: &Config,
    path: &Path,
    image: &ImageReference,
    limits: &Limits,
) -> Result<Option<Found>, Error> {
    let registry = image.registry();
    let ask = |name: &str| {
        // Docker's own registry has two names.
        let old = (registry == DEFAULT_REGISTRY).then_some(DOCKER_KEY);
        for server in old.into_iter().chain([registry]) {
            if let Some(identity) = helper::get(name, server, limits.helper)? {
                let origin = format!("the credential helper {name:?}");
                return Ok(Some(Found { identity, origin }));
            }
        }
        Ok(None)
    };
    let names = [registry, FORMER_DEFAULT_REGISTRY, DOCKER_KEY];
    let names = if registry == DEFAULT_REGISTRY { &names[..] } else { &[registry] };
    let helper = names.iter().find_map(|name| config.cred_helpers.get(*name));
    if let Some(name) = helper.filter(|name| !name.is_empty()) {
        return ask(name);
    }
    if let Some((key, entry)) = best(&config.auths, image, covered) {
        let origin = path.display().to_string();
        let invalid = || Error::Entry { path: path.to_owned(), key: key.to_owned() };
        let identity = entry.identity().ok_or_else(invalid)?;
        return Ok(Some(Found { identity, origin }));
    }
    config.creds_store.as_deref().filter(|name| !name.is_empty()).map_or(Ok(None), ask)
}

/// Returns the entry for `image`: that with the longest path, as long as it is not empty. `covered`
/// returns the length of the path of a key that covers the image.
fn best<'a>(
    auths: &'a BTreeMap<String, Entry>,
    image: &ImageReference,
    covered: impl Fn(&str, &ImageReference) -> Option<usize>,
) -> Option<(&'a str, &'a Entry)> {
    let entries = auths.iter().filter(|(_, entry)| !entry.is_empty());
    let covering = entries.filter_map(|(key, entry)| Some((covered(key, image)?, key, entry)));
    // For the same path, prefer the plain name of the registry to an address. Of several such keys,
    // the last one counts: `*` is sorted before the other characters of a host.
    let best = covering.max_by_key(|(length, key, _)| (*length, !key.contains("://")));
    best.map(|(_, key, entry)| (key.as_str(), entry))
}

/// Returns the length of the path in `key` if the key covers `image`: `HOST[:PORT][/NAMESPACE...]`,
/// or an address such as `https://HOST/v1/`, whose path does not count.
fn covered(key: &str, image: &ImageReference) -> Option<usize> {
    let address = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
    let (host, path) = match address {
        Some(address) => (address.split('/').next().unwrap_or_default(), ""),
        None => key.split_once('/').unwrap_or((key, "")),
    };
    let host = if host == FORMER_DEFAULT_REGISTRY { DEFAULT_REGISTRY } else { host };
    let path = path.trim_end_matches('/');
    let rest = image.repository().strip_prefix(path)?;
    let is_whole = path.is_empty() || rest.is_empty() || rest.starts_with('/');
    (host == image.registry() && is_whole).then_some(path.len())
}

impl Entry {
    fn is_empty(&self) -> bool {
        [&self.auth, &self.username, &self.identitytoken]
            .into_iter()
            .all(|text| text.as_ref().is_none_or(String::is_empty))
    }

    /// Returns the credentials. Returns `None` if they are not valid.
    fn identity(&self) -> Option<Identity> {
        let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(token) = text(&self.identitytoken) {
            return Some(Identity::Token(token.into()));
        }
        if let Some(user) = text(&self.username) {
            let password = self.password.clone().unwrap_or_default();
            return Some(Identity::Password(Credentials::new(user, password)));
        }
        let auth = BASE64_STANDARD.decode(text(&self.auth)?.trim()).ok()?;
        let both = String::from_utf8(auth).ok()?;
        // Docker pads the password with NUL.
        both.trim_end_matches('\0').parse().ok().map(Identity::Password)
    }
}

#[cfg(test)]
mod tests;
