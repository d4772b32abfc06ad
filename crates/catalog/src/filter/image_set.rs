//! [`ImageSet`]: which operators a configuration file of oc-mirror selects.

use serde::{Deserialize, Deserializer};
use unlade_text::excerpt;
use unlade_yaml::{self as yaml, Limits, Scalars};

use super::choice::{BadChoice, Channels, Choice, Versions};
use crate::Catalog;

/// The kind of the configuration file.
const KIND: &str = "ImageSetConfiguration";

/// The maximum number of choices. The largest published catalog has about 400 packages.
const MAX_CHOICES: usize = 100_000;
/// The maximum size of the names of the packages in all choices, and of the cost of their ranges,
/// in bytes. Each channel of a package repeats its name and its range.
const MAX_TEXTS: usize = 16 << 20;

/// The operators of an `ImageSetConfiguration` of oc-mirror (`mirror.openshift.io/v1alpha2` and
/// `v2alpha1`). The other parts of the file concern other images, and are ignored.
#[derive(Debug, Clone)]
pub struct ImageSet {
    operators: Vec<Operators>,
}

/// The reason why a configuration file selects nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not YAML.
    #[error("the text is not YAML")]
    Syntax(#[from] yaml::Error),
    /// The file is of another kind.
    #[error("the document is not an {KIND}")]
    Kind,
    /// A field of the operators is unknown, or has the wrong type.
    #[error("failed to read mirror.operators")]
    Fields(#[from] serde_json::Error),
    /// The file selects no operators.
    #[error("mirror.operators is empty")]
    Empty,
    /// A version is invalid.
    #[error("a version of the package {} is invalid", excerpt::shorten(package))]
    Version {
        /// The package.
        package: String,
        /// The reason.
        #[source]
        source: BadChoice,
    },
    /// The file has too many choices for the catalog, or too long ones.
    #[error(
        "the file selects more than {MAX_CHOICES} packages and channels, or {MAX_TEXTS} bytes of their names \
         and ranges"
    )]
    Choices,
    /// The file has several catalogs, and none of them has the wanted name.
    #[error("the file selects from {names}, not from {}", excerpt::shorten(name))]
    Catalog {
        /// The wanted name.
        name: String,
        /// The names in the file.
        names: String,
    },
}

#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    mirror: Option<Mirror>,
}

#[derive(Debug, Default, Deserialize)]
struct Mirror {
    #[serde(default, deserialize_with = "list")]
    operators: Vec<Operators>,
}

/// The selection from one catalog. A field that is not here would change the selection in a way
/// that nobody would see, so it is an error.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields that say where images go have no effect on the selection")]
struct Operators {
    catalog: String,
    #[serde(default)]
    full: bool,
    #[serde(default, deserialize_with = "list")]
    packages: Vec<Package>,
    #[serde(default)]
    target_catalog: String,
    #[serde(default)]
    target_name: String,
    #[serde(default)]
    target_tag: String,
    #[serde(default)]
    target_catalog_source_template: String,
    #[serde(default)]
    skip_dependencies: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Package {
    name: String,
    #[serde(default, deserialize_with = "list")]
    channels: Vec<Channel>,
    #[serde(default)]
    min_version: String,
    #[serde(default)]
    max_version: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Channel {
    name: String,
    #[serde(default)]
    min_version: String,
    #[serde(default)]
    max_version: String,
}

/// Reads a list. As in Go, `null` is an empty list.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(from)?.unwrap_or_default())
}

impl ImageSet {
    /// Parses a configuration file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not such a file, if it selects no operators, or if a field
    /// of `mirror.operators` is not known.
    pub fn parse(text: &[u8], limits: &Limits) -> Result<Self, Error> {
        let tree = yaml::read(text, Scalars::Resolved, limits)?.tree;
        let kind = tree.root().get("kind").and_then(|kind| kind.as_str());
        if kind != Some(KIND) {
            return Err(Error::Kind);
        }
        let document: Document = serde_json::from_str(&tree.root().to_float_json())?;
        let Mirror { operators } = document.mirror.unwrap_or_default();
        if operators.is_empty() {
            return Err(Error::Empty);
        }
        Ok(Self { operators })
    }

    /// Returns the choices for a catalog, with the meaning that they have in oc-mirror v2:
    ///
    /// - Without a version, the head of a channel is kept; with `full`, all versions are.
    /// - Without channels, the default channel is kept; with `full`, all channels are.
    /// - Without packages, all packages are kept.
    ///
    /// `name` is the name of the catalog, which selects an entry if the file has several.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not contain the catalog, if a version is invalid, or if
    /// there are too many choices.
    pub fn choices(&self, name: &str, catalog: &Catalog) -> Result<Vec<Choice>, Error> {
        let (mut choices, mut n_bytes) = (Vec::new(), 0);
        let mut add = |choice: Choice| {
            n_bytes += choice.package.len();
            if let Versions::Range(range) = &choice.versions {
                n_bytes += range.cost();
            }
            if choices.len() == MAX_CHOICES || n_bytes > MAX_TEXTS {
                return Err(Error::Choices);
            }
            choices.push(choice);
            Ok(())
        };
        for operators in self.select(name)? {
            let full = operators.full;
            if operators.packages.is_empty() {
                catalog.packages.iter().try_for_each(|package| {
                    add(Choice {
                        package: package.name.clone(),
                        channels: if full { Channels::All } else { Channels::Default },
                        versions: if full { Versions::All } else { Versions::Head },
                    })
                })?;
            }
            for package in &operators.packages {
                let versions = |min: &str, max: &str| {
                    between(min, max, full)
                        .map_err(|source| Error::Version { package: package.name.clone(), source })
                };
                let choice = |channels, versions| Choice {
                    package: package.name.clone(),
                    channels,
                    versions,
                };
                let (min, max) = (&*package.min_version, &*package.max_version);
                if package.channels.is_empty() {
                    let channels = if full { Channels::All } else { Channels::Default };
                    add(choice(channels, versions(min, max)?))?;
                }
                for channel in &package.channels {
                    let (min, max) = match (&*channel.min_version, &*channel.max_version) {
                        ("", "") => (min, max),
                        own => own,
                    };
                    let channels = Channels::Named(vec![channel.name.clone()]);
                    add(choice(channels, versions(min, max)?))?;
                }
            }
        }
        Ok(choices)
    }

    /// Checks whether each entry for the catalog `name` sets `skipDependencies`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not contain the catalog.
    pub fn skips_dependencies(&self, name: &str) -> Result<bool, Error> {
        Ok(self.select(name)?.into_iter().all(|operators| operators.skip_dependencies))
    }

    /// Returns the entries for the catalog `name`.
    fn select(&self, name: &str) -> Result<Vec<&Operators>, Error> {
        let plain = |name: &str| name.strip_prefix("docker://").unwrap_or(name).to_owned();
        let is_selected = |it: &&Operators| plain(&it.catalog) == plain(name);
        let mut selected: Vec<_> = self.operators.iter().filter(is_selected).collect();
        if let ([], [only]) = (selected.as_slice(), self.operators.as_slice()) {
            selected.push(only);
        }
        if selected.is_empty() {
            let names = excerpt::list(self.operators.iter().map(|it| it.catalog.clone()), ", ");
            return Err(Error::Catalog { name: name.to_owned(), names });
        }
        Ok(selected)
    }
}

/// Returns the versions between two bounds, each of which can be empty.
fn between(min: &str, max: &str, full: bool) -> Result<Versions, BadChoice> {
    let bound = |operator, version: &str| match version {
        "" => String::new(),
        _ => format!("{operator}{version} "),
    };
    let range = bound(">=", min) + &bound("<=", max);
    match range.trim_end() {
        "" if full => Ok(Versions::All),
        "" => Ok(Versions::Head),
        range => range.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::File;

    fn parse(mirror: &str) -> Result<ImageSet, Error> {
        let text = format!("kind: ImageSetConfiguration\n{mirror}\n");
        ImageSet::parse(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn choices_are_counted_as_they_are_made() {
        let set = |mirror: &str| parse(&format!("mirror: {{operators: [{mirror}]}}")).unwrap();
        let mut catalog = Catalog::default();
        let packages = "schema: olm.package\nname: a\n---\n".repeat(1_001);
        catalog.add(File::read("c.yaml", packages.as_bytes(), &crate::Limits::default()));
        let all =
            |n: usize| set(&"{catalog: x},".repeat(n)).choices("x", &catalog).map(|it| it.len());
        assert_eq!(all(99).unwrap(), 99 * 1_001);
        assert!(matches!(all(100), Err(Error::Choices)));
        // Each channel repeats the name of its package.
        let name = "n".repeat(1 << 20);
        let channels = |n: usize| {
            let package = format!("{{name: {name}, channels: [{}]}}", "{name: c},".repeat(n));
            set(&format!("{{catalog: x, packages: [{package}]}}"))
                .choices("x", &catalog)
                .map(|it| it.len())
        };
        assert_eq!(channels(16).unwrap(), 16);
        assert!(matches!(channels(17), Err(Error::Choices)));
    }

    #[test]
    fn ranges_that_channels_inherit_are_counted() {
        // With ">=", the name and 16 for the comparison, each choice counts as 16 KiB.
        let version = format!("1.0.0-{}", "a".repeat((16 << 10) - 16 - 9));
        let choices = |n: usize| {
            let channels = "{name: c},".repeat(n);
            let package = format!("{{name: p, minVersion: {version}, channels: [{channels}]}}");
            parse(&format!("mirror: {{operators: [{{catalog: x, packages: [{package}]}}]}}"))
                .unwrap()
                .choices("x", &Catalog::default())
        };
        let ranges: Vec<_> = choices(1_024).unwrap().into_iter().map(|it| it.versions).collect();
        assert_eq!(ranges, vec![format!(">={version}").parse().unwrap(); 1_024]);
        assert!(matches!(choices(1_025), Err(Error::Choices)));
    }

    #[test]
    fn a_file_without_operators_is_refused() {
        for mirror in [
            "",
            "mirror:",
            "mirror: {}",
            "mirror: {operators: }",
            "mirror: {operators: []}",
            "mirror: {additionalImages: [{name: x}]}",
        ] {
            assert!(matches!(parse(mirror), Err(Error::Empty)), "{mirror}");
        }
    }

    #[test]
    fn a_list_that_is_null_is_empty() {
        let set = parse("mirror: {operators: [{catalog: x, packages: }]}").unwrap();
        assert!(set.operators[0].packages.is_empty());
        let set = parse("mirror: {operators: [{catalog: x, packages: [{name: a, channels: }]}]}");
        assert!(set.unwrap().operators[0].packages[0].channels.is_empty());
    }
}
