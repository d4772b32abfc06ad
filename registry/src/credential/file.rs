//! [`Stored`]: the files in which podman and docker keep logins (`containers-auth.json(5)`).

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use unlade_name::ImageReference;
use unlade_name::image::{DEFAULT_REGISTRY, FORMER_DEFAULT_REGISTRY};

use super::{Credentials, Error, Found, Identity, helper};
use crate::{Limits, limit};

/// The name by which docker stores the login for its own registry.
const DOCKER_KEY: &str = "https://index.docker.io/v1/";

/// The files with logins, in the order in which they are searched.
///
/// An entry of a file is a registry or a namespace in it, and the longest one that covers an image
/// counts. A file can also name a credential helper, which is a program
/// `docker-credential-NAME` on the `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    files: Vec<PathBuf>,
    /// Whether a missing file is an error.
    is_required: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default)]
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

impl Stored {
    /// Searches only `file`, which must exist.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self { files: vec![file.into()], is_required: true }
    }

    /// Searches the file that `REGISTRY_AUTH_FILE` names. Without this variable, searches the files
    /// of podman in `XDG_RUNTIME_DIR` (or `/run/containers/UID`) and in `XDG_CONFIG_HOME` (or
    /// `~/.config`), and then docker's, in `DOCKER_CONFIG` (or `~/.docker`).
    pub fn from_env() -> Self {
        let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = path("REGISTRY_AUTH_FILE") {
            return Self::file(file);
        }
        let home = path("HOME");
        let beneath_home = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let user = rustix::process::getuid().as_raw().to_string();
        let runtime = path("XDG_RUNTIME_DIR").map(|folder| folder.join("containers"));
        let runtime = runtime.unwrap_or_else(|| PathBuf::from("/run/containers").join(user));
        let config = path("XDG_CONFIG_HOME").or_else(|| beneath_home(".config"));
        let docker = path("DOCKER_CONFIG").or_else(|| beneath_home(".docker"));
        let files = [
            Some(runtime.join("auth.json")),
            config.map(|folder| folder.join("containers/auth.json")),
            docker.map(|folder| folder.join("config.json")),
        ];
        Self { files: files.into_iter().flatten().collect(), is_required: false }
    }

    /// Returns the login for the registry of `image`, if a file or a helper has one.
    pub(crate) fn find(
        &self,
        image: &ImageReference,
        limits: &Limits,
    ) -> Result<Option<Found>, Error> {
        for path in &self.files {
            let Some(config) = self.read(path)? else { continue };
            if let Some(found) = find(&config, path, image, limits)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn read(&self, path: &Path) -> Result<Option<Config>, Error> {
        let fails = |source| Error::File { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_required => {
                return Ok(None);
            }
            Err(error) => return Err(fails(error)),
        };
        let mut bytes = Vec::new();
        file.take(limit::LOGINS + 1).read_to_end(&mut bytes).map_err(fails)?;
        if bytes.len() as u64 > limit::LOGINS {
            return Err(Error::TooLarge { path: path.to_owned(), limit: limit::LOGINS });
        }
        // The error's own message may quote a password.
        let config = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Json { path: path.to_owned(), line: error.line() })?;
        Ok(Some(config))
    }
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
    if let Some((key, entry)) = best(&config.auths, image) {
        let origin = path.display().to_string();
        let invalid = || Error::Entry { path: path.to_owned(), key: key.to_owned() };
        let identity = entry.identity().ok_or_else(invalid)?;
        return Ok(Some(Found { identity, origin }));
    }
    config.creds_store.as_deref().filter(|name| !name.is_empty()).map_or(Ok(None), ask)
}

/// Returns the entry for `image`: that with the longest path, as long as it is not empty.
fn best<'a>(
    auths: &'a BTreeMap<String, Entry>,
    image: &ImageReference,
) -> Option<(&'a str, &'a Entry)> {
    let entries = auths.iter().filter(|(_, entry)| !entry.is_empty());
    let covering = entries.filter_map(|(key, entry)| Some((covered(key, image)?, key, entry)));
    // For the same path, prefer the plain name of the registry to an address.
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

    /// Returns the login. Returns `None` if it is not valid.
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
