//! [`Configuration`]: the rules for registries of podman and skopeo
//! (`containers-registries.conf(5)`, version 2).

mod rule;

use std::collections::BTreeMap;
use std::iter::{self, Chain, Once};
use std::path::{Path, PathBuf};
use std::vec;

use serde::Deserialize;
use unlade_name::ImageReference;

use crate::{Auth, environment, file, limit};

use self::rule::Rule;

/// The file of the system, and the directory with further files.
const SYSTEM: &str = "/etc/containers/registries.conf";

/// The files with the rules for registries. The default reads none.
///
/// A file replaces the rules of the files before it that have the same prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The first of these files that exists is read.
    files: Vec<PathBuf>,
    /// Whether one of them must exist.
    is_required: bool,
    /// The directories whose `*.conf` are read after it.
    directories: Vec<PathBuf>,
}

/// The rules of all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The rules by their prefixes.
    rules: BTreeMap<String, Rule>,
    search: Vec<String>,
}

/// A place from which an image is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The name of the image there.
    pub image: ImageReference,
    /// Whether any certificate, and a registry without TLS, is accepted there.
    pub insecure: bool,
    /// Whether the place is a mirror, and not the registry itself.
    pub is_mirror: bool,
    /// The file with the rule, if a rule applies.
    pub file: Option<PathBuf>,
    /// Whether it is the registry in the name that was requested. If not, it is a mirror, or the
    /// rule names another location.
    pub(crate) is_named: bool,
}

/// The places from which an image is requested, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoints {
    /// The mirrors that have rules for the image.
    pub mirrors: Vec<Endpoint>,
    /// The registry itself.
    pub registry: Endpoint,
}

/// An error that prevents the rules for registries from being read, or a rule that forbids a
/// registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or a directory cannot be read, or is too large.
    #[error(transparent)]
    File(#[from] file::Error),
    /// A file is not TOML, or has a field of the wrong type.
    #[error("{} is not a valid registries.conf", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The problem, with its line.
        source: Box<toml::de::Error>,
    },
    /// A file has version 1 of the format, which podman does not read any more either.
    #[error("{} has version 1 of the format, which is not supported", path.display())]
    Version {
        /// The file.
        path: PathBuf,
    },
    /// A rule is not valid.
    #[error("{}: the registry {registry:?} is not valid: {problem}", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// The prefix or the location of the rule.
        registry: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A rule blocks the registry.
    #[error("the registry {prefix} is blocked in {}", path.display())]
    Blocked {
        /// The prefix of the rule.
        prefix: String,
        /// The file.
        path: PathBuf,
    },
    /// A rule gives the image an invalid name.
    #[error("a rule in {} maps the image to an invalid name", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: unlade_name::image::Error,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Document {
    unqualified_search_registries: Option<Vec<String>>,
    #[serde(default)]
    registry: Vec<rule::Table>,
    /// A table of version 1.
    registries: Option<toml::Value>,
}

impl Configuration {
    /// Creates a configuration that reads only `file`, which must exist.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self { files: vec![file.into()], is_required: true, directories: Vec::new() }
    }

    /// Adds the files of `directory`, which are read after all others.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.push(directory.into());
        self
    }

    /// Creates a configuration that reads the file that `CONTAINERS_REGISTRIES_CONF` names. Without
    /// this variable, it reads `containers/registries.conf` in `XDG_CONFIG_HOME` (or `~/.config`),
    /// or else in `/etc`. In both cases, it then reads the directories `registries.conf.d` beside
    /// these two.
    pub fn from_env() -> Self {
        let home = environment::path("HOME").map(|home| home.join(".config"));
        let config = environment::path("XDG_CONFIG_HOME").or(home);
        let own = config.map(|directory| directory.join("containers/registries.conf"));
        let all: Vec<_> = own.into_iter().chain([PathBuf::from(SYSTEM)]).collect();
        let directories = all.iter().rev().map(|file| file.with_extension("conf.d")).collect();
        match environment::path("CONTAINERS_REGISTRIES_CONF") {
            Some(file) => Self { files: vec![file], is_required: true, directories },
            None => Self { files: all, is_required: false, directories },
        }
    }

    /// Reads the rules.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, or is not valid.
    pub fn read(&self) -> Result<Rules, Error> {
        let mut rules = Rules::default();
        let file = self.files.iter().find(|file| self.is_required || file.exists());
        if let Some(file) = file {
            rules.add(file)?;
        }
        for directory in &self.directories {
            for file in list(directory)? {
                rules.add(&file)?;
            }
        }
        Ok(rules)
    }
}

/// Lists the `*.conf` files of a directory, sorted by name. A directory that does not exist has
/// none.
fn list(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_conf = |path: &Path| path.extension().is_some_and(|it| it == "conf") && path.is_file();
    match file::list(directory, is_conf) {
        Err(error) if error.is_missing() => Ok(Vec::new()),
        paths => Ok(paths?),
    }
}

impl Rules {
    /// Adds the rules of a file.
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        let bytes = file::read(path, limit::FILE)?;
        self.parse(&String::from_utf8_lossy(&bytes), path)
    }

    /// Parses the text of a file. `path` is for messages.
    pub(crate) fn parse(&mut self, text: &str, path: &Path) -> Result<(), Error> {
        let document: Document = toml::from_str(text)
            .map_err(|error| Error::Toml { path: path.to_owned(), source: Box::new(error) })?;
        if document.registries.is_some() {
            return Err(Error::Version { path: path.to_owned() });
        }
        // A registry can have several prefixes, whose rules must agree (`postProcessRegistries`).
        let mut settings = BTreeMap::new();
        for table in document.registry {
            let rule = Rule::new(table, path)?;
            let own = (rule.insecure, rule.blocked);
            let registry = rule.registry().to_owned();
            if *settings.entry(registry.clone()).or_insert(own) != own {
                let problem = "it is defined more than once, with conflicting values of insecure \
                               or blocked"
                    .to_owned();
                return Err(Error::Rule { path: path.to_owned(), registry, problem });
            }
            // Podman also uses the last rule with a prefix if it has read a file of a directory, as
            // on most systems. Otherwise it uses the first one (`updateWithConfigurationFrom`).
            self.rules.insert(rule.prefix.clone(), rule);
        }
        if let Some(search) = document.unqualified_search_registries {
            self.search = search;
        }
        Ok(())
    }

    /// Returns the registries in which podman searches for a name without a registry.
    pub fn unqualified_search_registries(&self) -> &[String] {
        &self.search
    }

    /// Returns the places from which `image` is requested.
    ///
    /// # Errors
    ///
    /// Returns an error if the registry is blocked, or if a rule gives the image an invalid name.
    pub fn endpoints(&self, image: &ImageReference) -> Result<Endpoints, Error> {
        match self.find(image)? {
            Some((rule, length)) => rule.endpoints(image, length),
            None => Ok(Endpoint::new(image).into()),
        }
    }

    /// Returns the place to which `image` is pushed. Mirrors and other locations do not apply.
    ///
    /// # Errors
    ///
    /// Returns an error if the registry is blocked.
    pub fn destination(&self, image: &ImageReference) -> Result<Endpoint, Error> {
        let found = self.find(image)?;
        let insecure = found.is_some_and(|(rule, _)| rule.insecure);
        let file = found.map(|(rule, _)| rule.file.clone());
        Ok(Endpoint { insecure, file, ..Endpoint::new(image) })
    }

    /// Returns the rule with the longest matching prefix, and the length of the match.
    fn find(&self, image: &ImageReference) -> Result<Option<(&Rule, usize)>, Error> {
        let name = full_name(image);
        let rules = self.rules.values().filter_map(|rule| Some((rule, rule.covers(&name)?)));
        match rules.max_by_key(|(rule, _)| rule.prefix.len()) {
            Some((rule, _)) if rule.blocked => {
                Err(Error::Blocked { prefix: rule.prefix.clone(), path: rule.file.clone() })
            }
            found => Ok(found),
        }
    }
}

impl IntoIterator for Endpoints {
    type Item = Endpoint;
    type IntoIter = Chain<vec::IntoIter<Endpoint>, Once<Endpoint>>;

    fn into_iter(self) -> Self::IntoIter {
        self.mirrors.into_iter().chain(iter::once(self.registry))
    }
}

impl From<Endpoint> for Endpoints {
    fn from(registry: Endpoint) -> Self {
        Self { mirrors: Vec::new(), registry }
    }
}

impl Endpoint {
    /// Returns the registry itself, without any rule.
    pub(crate) fn new(image: &ImageReference) -> Self {
        Self { image: image.clone(), insecure: false, is_mirror: false, file: None, is_named: true }
    }

    /// Returns what to log in with here.
    pub(crate) fn auth(&self, auth: &Auth) -> Auth {
        match auth {
            // They are for the registry that the user named, and for no other.
            Auth::Credentials(_) if self.is_mirror || !self.is_named => Auth::Anonymous,
            auth => auth.clone(),
        }
    }
}

/// Returns the name of an image with its registry, but without the default tag.
fn full_name(image: &ImageReference) -> String {
    let mut name = format!("{}/{}", image.registry(), image.repository());
    for (separator, part) in [(':', image.tag()), ('@', image.digest())] {
        if let Some(part) = part {
            name.push(separator);
            name.push_str(part);
        }
    }
    name
}

#[cfg(test)]
mod tests;
