//! [`Rule`]: the rule for the registries with one prefix.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use unlade_name::ImageReference;

use super::{Endpoint, Endpoints, Error, full_name};

/// A `[[registry]]` of a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Table {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    mirror_by_digest_only: bool,
    /// Only a mirror may have it.
    #[serde(default)]
    pull_from_mirror: String,
    #[serde(default)]
    mirror: Vec<MirrorTable>,
}

/// A `[[registry.mirror]]`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MirrorTable {
    #[serde(default)]
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    pull_from_mirror: Option<Pull>,
}

/// The kind of references that are requested from a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pull {
    All,
    DigestOnly,
    TagOnly,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) file: PathBuf,
    /// The beginning of names, or `*.` and the end of host names.
    pub(super) prefix: String,
    /// The text that replaces the prefix. Empty if names are not changed.
    location: String,
    pub(super) insecure: bool,
    pub(super) blocked: bool,
    mirrors: Vec<Mirror>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirror {
    location: String,
    insecure: bool,
    pull: Pull,
}

impl Rule {
    /// Checks a table, as `postProcessRegistries` of containers/image does.
    pub(super) fn new(table: Table, file: &Path) -> Result<Self, Error> {
        let Table { prefix, location, insecure, blocked, mirror, .. } = table;
        let Table { mirror_by_digest_only, pull_from_mirror, .. } = table;
        let name = if prefix.is_empty() { &location } else { &prefix }.clone();
        let invalid = |problem: &str| Error::Rule {
            path: file.to_owned(),
            registry: name.clone(),
            problem: problem.to_owned(),
        };
        let parse = |text: &str| {
            if text.starts_with("http://") || text.starts_with("https://") {
                return Err(invalid("it must not begin with a scheme"));
            }
            Ok(text.trim_end_matches('/').to_owned())
        };
        let (prefix, location) = (parse(&prefix)?, parse(&location)?);
        if prefix.is_empty() && location.is_empty() {
            return Err(invalid("it has neither a prefix nor a location"));
        }
        if location.is_empty() && !prefix.starts_with("*.") {
            return Err(invalid("it has no location, and its prefix does not begin with \"*.\""));
        }
        if !pull_from_mirror.is_empty() {
            return Err(invalid("it has pull-from-mirror, which is a setting of a mirror"));
        }
        let prefix = if prefix.is_empty() { location.clone() } else { prefix };
        let mirrors = mirror.into_iter().map(|mirror| {
            let location = parse(&mirror.location)?;
            if location.is_empty() {
                return Err(invalid("a mirror has no location"));
            }
            if mirror_by_digest_only && mirror.pull_from_mirror.is_some() {
                return Err(invalid(
                    "it has mirror-by-digest-only, and a mirror has pull-from-mirror",
                ));
            }
            let all = if mirror_by_digest_only { Pull::DigestOnly } else { Pull::All };
            let pull = mirror.pull_from_mirror.unwrap_or(all);
            Ok(Mirror { location, insecure: mirror.insecure, pull })
        });
        let mirrors = mirrors.collect::<Result<_, Error>>()?;
        Ok(Self { file: file.to_owned(), prefix, location, insecure, blocked, mirrors })
    }

    /// Returns the registry of the rule: its location or, without one, its prefix.
    pub(super) fn registry(&self) -> &str {
        if self.location.is_empty() { &self.prefix } else { &self.location }
    }

    /// Returns the length of the part of `name` that the prefix matches. Returns `None` if the rule
    /// does not apply (`refMatchingPrefix` of containers/image).
    pub(super) fn covers(&self, name: &str) -> Option<usize> {
        let length = match self.prefix.strip_prefix('*') {
            Some(end) => {
                let start = name.find(end)?;
                (!name.get(..start)?.contains('/')).then_some(start + end.len())?
            }
            None => name.strip_prefix(self.prefix.as_str()).map(|_| self.prefix.len())?,
        };
        let rest = name.get(length..)?;
        (rest.is_empty() || rest.starts_with([':', '/', '@'])).then_some(length)
    }

    pub(super) fn endpoints(
        &self,
        image: &ImageReference,
        length: usize,
    ) -> Result<Endpoints, Error> {
        let endpoint = |location: &str, insecure, is_mirror| {
            let renamed = self.rename(image, length, location)?;
            let is_named = renamed.registry() == image.registry();
            let file = Some(self.file.clone());
            Ok(Endpoint { image: renamed, insecure, is_mirror, file, is_named })
        };
        let applies = |mirror: &&Mirror| match mirror.pull {
            Pull::All => true,
            Pull::DigestOnly => image.is_digest(),
            Pull::TagOnly => !image.is_digest(),
        };
        let mirrors = self.mirrors.iter().filter(applies);
        let mirrors = mirrors.map(|mirror| endpoint(&mirror.location, mirror.insecure, true));
        let mirrors = mirrors.collect::<Result<_, Error>>()?;
        Ok(Endpoints { mirrors, registry: endpoint(&self.location, self.insecure, false)? })
    }

    /// Returns the image with `location` in place of the prefix.
    fn rename(
        &self,
        image: &ImageReference,
        length: usize,
        location: &str,
    ) -> Result<ImageReference, Error> {
        if location.is_empty() {
            return Ok(image.clone());
        }
        let name = full_name(image);
        let renamed = format!("{location}{}", name.get(length..).unwrap_or_default());
        let renamed = ImageReference::parse(&renamed);
        renamed.map_err(|source| Error::Name { path: self.file.clone(), source })
    }
}
