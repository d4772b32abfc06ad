//! The parts of a program.

use std::{collections::BTreeSet, path::PathBuf};

/// A crate or a library that is linked into a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The licence, as an SPDX expression.
    pub(crate) licence: String,
    pub(crate) description: Option<String>,
    /// The repository of its sources.
    pub(crate) repository: Option<String>,
    /// Its names in databases of vulnerabilities: a package URL and a CPE.
    pub(crate) purl: Option<String>,
    pub(crate) cpe: Option<String>,
    /// The SHA-256 of its archive.
    pub(crate) checksum: Option<String>,
    /// The parts that it depends on.
    pub(crate) uses: BTreeSet<String>,
    /// The texts of its licences.
    pub(crate) texts: Texts,
}

/// The location of the licences of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Texts {
    /// The files with the usual names in this directory.
    Directory(PathBuf),
    /// Licences of SPDX by their names, and an optional file of notices.
    Named { names: &'static [&'static str], notices: Option<PathBuf> },
    /// The part is a crate of the workspace, and has its licence.
    Ours,
}

impl Part {
    /// Returns the identifier that other parts refer to.
    pub(crate) fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

#[cfg(test)]
impl Part {
    /// Creates a part without dependencies, under MIT.
    pub(crate) fn sample(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: "MIT".to_owned(),
            description: None,
            repository: None,
            purl: None,
            cpe: None,
            checksum: None,
            uses: BTreeSet::new(),
            texts: Texts::Ours,
        }
    }
}
