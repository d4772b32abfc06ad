//! [`Rank`]: the place of a meta among those that `opm render` writes.

use crate::{BUNDLE, CHANNEL, DEPRECATIONS, Meta, PACKAGE};

/// The place of a meta among those that `opm render` writes (`writeToEncoder` in operator-registry
/// `alpha/declcfg/write.go`). Metas with the same rank keep their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// Metas without a package are last.
    is_without_package: bool,
    package: String,
    kind: Kind,
    /// The name, or the schema of a meta with another schema.
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Package,
    Channel,
    Bundle,
    Other,
    Deprecations,
}

impl Rank {
    /// Returns the rank of a meta. Returns `None` if upstream does not write the meta at all,
    /// because it has one of the four schemas of upstream, but no package.
    pub fn from_meta(meta: &Meta) -> Option<Self> {
        let (package, kind, name) = match meta.schema.as_str() {
            PACKAGE => (&meta.name, Kind::Package, ""),
            CHANNEL => (&meta.package, Kind::Channel, &*meta.name),
            BUNDLE => (&meta.package, Kind::Bundle, &*meta.name),
            DEPRECATIONS => (&meta.package, Kind::Deprecations, ""),
            // Metas with other schemas and without a package keep their order.
            _ if meta.package.is_empty() => (&meta.package, Kind::Other, ""),
            schema => (&meta.package, Kind::Other, schema),
        };
        let is_without_package = package.is_empty();
        if is_without_package && kind != Kind::Other {
            return None;
        }
        Some(Self { is_without_package, package: package.clone(), kind, name: name.to_owned() })
    }

    /// Returns the package of the meta. For a package, this is its name. Empty if it has none.
    pub fn package(&self) -> &str {
        &self.package
    }
}

#[cfg(test)]
mod tests {
    use unlade_yaml::Limits;

    use super::*;

    #[test]
    fn metas_have_the_order_of_opm() {
        let rank =
            |json: &str| Rank::from_meta(&Meta::from_json(json, &Limits::default()).unwrap());
        let ordered = [
            r#"{"schema":"olm.package","name":"a"}"#,
            r#"{"schema":"olm.channel","package":"a","name":"x"}"#,
            r#"{"schema":"olm.bundle","package":"a","name":"b"}"#,
            r#"{"schema":"olm.bundle","package":"a","name":"c"}"#,
            r#"{"schema":"alpha","package":"a","name":"z"}"#,
            r#"{"schema":"beta","package":"a","name":"a"}"#,
            r#"{"schema":"olm.deprecations","package":"a"}"#,
            r#"{"schema":"olm.channel","package":"b","name":"a"}"#,
            r#"{"schema":"beta","name":"a"}"#,
        ];
        let ranks: Vec<_> = ordered.iter().map(|json| rank(json).unwrap()).collect();
        assert!(ranks.is_sorted(), "{ranks:#?}");
        assert_eq!(rank(r#"{"schema":"alpha"}"#), rank(r#"{"schema":"beta"}"#));
        assert_eq!(rank(r#"{"schema":"olm.bundle","name":"b"}"#), None);
    }
}
