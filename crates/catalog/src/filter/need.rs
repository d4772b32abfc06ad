//! [`Needs`]: what bundles provide and require.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::typed::field;
use unlade_yaml::json::Value;

use crate::{
    BUNDLE, Meta,
    meta::{items, text},
};

/// A bundle by its package and its name.
pub(super) type Key = (String, String);

/// What the bundles of a catalog provide and require.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    pub(super) required: BTreeMap<Key, BTreeSet<Need>>,
    pub(super) providers: BTreeMap<Api, BTreeSet<Key>>,
}

/// Something that a bundle requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Need {
    /// A package with a version in a range.
    Package(String, String),
    /// An API.
    Api(Api),
    /// A constraint, which is not followed.
    Constraint,
}

/// Group, version and kind of an API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Api([String; 3]);

impl Needs {
    /// Adds what a bundle provides and requires. Other metas are ignored.
    pub fn add(&mut self, meta: &Meta) {
        if meta.schema != BUNDLE {
            return;
        }
        let key = (meta.package.clone(), meta.name.clone());
        for property in items(meta.value(), "properties") {
            let Some(value) = field(property, "value") else { continue };
            let need = match text(property, "type").as_str() {
                "olm.gvk" => {
                    self.providers.entry(Api::new(value)).or_default().insert(key.clone());
                    continue;
                }
                "olm.gvk.required" => Need::Api(Api::new(value)),
                "olm.package.required" => {
                    Need::Package(text(value, "packageName"), text(value, "versionRange"))
                }
                "olm.constraint" => Need::Constraint,
                _ => continue,
            };
            self.required.entry(key.clone()).or_default().insert(need);
        }
    }
}

impl Need {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Package(package, range) => format!("package {package} {range}"),
            Self::Api(Api([group, version, kind])) => format!("API {kind} {group}/{version}"),
            Self::Constraint => "a constraint".to_owned(),
        }
    }
}

impl Api {
    fn new(value: Value<'_>) -> Self {
        Self(["group", "version", "kind"].map(|name| text(value, name)))
    }
}
