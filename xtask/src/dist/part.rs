//! What the unpacker is linked from.

use std::{collections::BTreeSet, path::PathBuf};

/// Something that the unpacker is linked from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) licence: String,
    pub(crate) description: Option<String>,
    /// Where its sources are developed.
    pub(crate) repository: Option<String>,
    /// Its name in the databases of vulnerabilities: a package URL, a CPE.
    pub(crate) purl: Option<String>,
    pub(crate) cpe: Option<String>,
    /// The SHA-256 of the archive that it came in.
    pub(crate) checksum: Option<String>,
    /// The parts that it uses itself.
    pub(crate) uses: BTreeSet<String>,
    /// Where its licences are.
    pub(crate) texts: Texts,
}

/// Where the licences of a part are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Texts {
    /// Files of this folder, known by their names.
    Folder(PathBuf),
    /// Those of SPDX by their names, and perhaps a file of notices.
    Named { names: &'static [&'static str], notices: Option<PathBuf> },
    /// It is ours, and has the licence of the whole.
    Ours,
}

impl Part {
    /// What others refer to it by.
    pub(crate) fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

#[cfg(test)]
impl Part {
    /// One that uses nothing, under MIT.
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
