//! [`Needs`]: what bundles provide and require.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::property::{CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE_REQUIRED};
use unlade_bundle::typed::field;
use unlade_yaml::json::Value;

use crate::{
    BUNDLE, Meta,
    meta::{properties, text},
};

/// The maximum memory for what bundles provide and require, in bytes. A published bundle needs
/// about 2 KiB, and the largest published catalogs have a few thousand bundles.
pub(super) const MAX_MEMORY: usize = 64 << 20;

/// The memory of an item without its texts, in bytes.
const ITEM: usize = 200;

/// A bundle by its package and its name.
pub(super) type Key = (String, String);

/// What the bundles of a catalog provide and require.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// The bundles and what they require. A bundle that appears several times has several items.
    pub(super) bundles: Vec<(Key, BTreeSet<Need>)>,
    /// The indices of the bundles that provide an API. A name can be megabytes long, and a bundle
    /// may provide thousands of APIs.
    pub(super) providers: BTreeMap<Api, BTreeSet<usize>>,
    /// The memory of both, in bytes.
    memory: usize,
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
    /// Adds what a bundle provides and requires. Other metas are ignored. If this needs too much
    /// memory, nothing more is added, and [`Plan::new`](super::Plan::new) returns an error.
    pub fn add(&mut self, meta: &Meta) {
        if meta.schema != BUNDLE || self.is_too_large() {
            return;
        }
        self.memory += ITEM + meta.package.len() + meta.name.len();
        let mut required = BTreeSet::new();
        for (kind, value) in properties(meta.value()) {
            let Some(value) = value else { continue };
            let need = match kind.as_str() {
                GVK => {
                    self.memory += ITEM + memory(value);
                    let index = self.bundles.len();
                    self.providers.entry(Api::new(value)).or_default().insert(index);
                    continue;
                }
                GVK_REQUIRED => Need::Api(Api::new(value)),
                PACKAGE_REQUIRED => {
                    Need::Package(text(value, "packageName"), text(value, "versionRange"))
                }
                CONSTRAINT => Need::Constraint,
                _ => continue,
            };
            self.memory += ITEM + memory(value);
            required.insert(need);
        }
        self.bundles.push(((meta.package.clone(), meta.name.clone()), required));
    }

    /// Checks whether bundles are missing because they would need too much memory.
    pub(super) fn is_too_large(&self) -> bool {
        self.memory > MAX_MEMORY
    }
}

impl Need {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Package(package, range) => format!("the package {package} {range}"),
            Self::Api(Api([group, version, kind])) => format!("the API {kind} {group}/{version}"),
            Self::Constraint => "a constraint".to_owned(),
        }
    }
}

impl Api {
    fn new(value: Value<'_>) -> Self {
        Self(["group", "version", "kind"].map(|name| text(value, name)))
    }
}

/// Returns the size of the texts in a property, in bytes.
fn memory(value: Value<'_>) -> usize {
    let fields = ["group", "version", "kind", "packageName", "versionRange"];
    let texts = fields.into_iter().filter_map(|name| field(value, name)?.as_str());
    texts.map(str::len).sum()
}
