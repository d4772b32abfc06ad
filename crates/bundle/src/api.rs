//! [`Api`] and [`Definition`]: the APIs of a bundle, and how a ClusterServiceVersion lists them.

use std::fmt;

use serde::Serialize;
use unlade_text::excerpt;

use crate::typed::Reader;

/// An API. Upstream calls it `GroupVersionKind` or `APIKey`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Api {
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural name, which is used in URLs.
    pub plural: String,
}

/// A CRD or an APIService that a CSV lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// The API group. CSVs leave it out for CRDs, because the name contains it.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The name: `<plural>.<group>` for a CRD, and the plural for an APIService.
    pub name: String,
    /// The version.
    pub version: String,
}

impl Api {
    /// Returns the API of an APIService that a CSV lists.
    pub fn from_service(service: &Definition) -> Self {
        let Definition { group, kind, name, version } = service.clone();
        Self { group, version, kind, plural: name }
    }

    /// Returns the API of a CRD that a CSV lists. The name of the CRD contains the group
    /// (operator-registry `pkg/registry/bundle.go`, `RequiredAPIs`). Returns `None`, and reports
    /// the name, if it does not.
    pub fn from_crd(crd: &Definition, reader: &mut Reader<'_>) -> Option<Self> {
        let Some((plural, group)) = crd.name.split_once('.') else {
            let name = excerpt::shorten(&crd.name);
            reader
                .invalid(format!("the CRD name {name:?} does not have the form <plural>.<group>"));
            return None;
        };
        Some(Self {
            group: group.to_owned(),
            version: crd.version.clone(),
            kind: crd.kind.clone(),
            plural: plural.to_owned(),
        })
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, version, kind, plural } = self;
        write!(f, "{group}/{version}/{kind} ({plural})")
    }
}
