//! [`Channels`]: the package and the channels that the annotations of a bundle name.

use std::collections::{BTreeMap, BTreeSet};

use unlade_text::excerpt;

use crate::{
    Finding, Findings, Reason,
    annotation::{CHANNELS, DEFAULT_CHANNEL, PACKAGE},
};

/// The annotations that name the package and the channels.
pub const ANNOTATIONS: [&str; 3] = [PACKAGE, CHANNELS, DEFAULT_CHANNEL];

/// The package and the channels of a bundle, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Channels {
    /// The name of the package. Empty if the annotations do not name one.
    pub package: String,
    /// The channels, split at `,` and otherwise as written, as upstream does. See
    /// [`Channels::names`] for their names without spaces.
    pub list: Vec<String>,
    /// The default channel of the package. Empty if the annotations do not name one.
    pub default: String,
}

impl Channels {
    /// Reads the package and the channels from `annotations`, and adds findings about problems.
    pub fn read(annotations: &BTreeMap<String, String>, findings: &mut Findings) -> Self {
        let text = |key: &str| annotations.get(key).cloned().unwrap_or_default();
        let list = text(CHANNELS);
        let split = match list.as_str() {
            "" => Vec::new(),
            list => list.split(',').map(str::to_owned).collect(),
        };
        let read = Self { package: text(PACKAGE), list: split, default: text(DEFAULT_CHANNEL) };
        for (reason, key, is_missing, noun) in [
            (Reason::NoPackage, PACKAGE, read.package.is_empty(), "package"),
            (Reason::NoChannels, CHANNELS, read.list.is_empty(), "channel"),
        ] {
            if is_missing {
                let message = format!(
                    "the annotations do not name a {noun}: add this annotation to \
                     metadata/annotations.yaml"
                );
                findings.push(Finding::new(reason, key, message));
            }
        }
        if !read.list.iter().eq(read.names()) {
            let list = excerpt::shorten(&list);
            let message = format!(
                "the list {list:?} contains spaces, empty names or repeated names: OLM keeps them, \
                 but the package manifest drops them"
            );
            findings.push(Finding::new(Reason::InvalidValue, CHANNELS, message));
        }
        read
    }

    /// Returns the default channel if it is one of the bundle's own, else the first of these. Empty
    /// if the bundle has no channels.
    pub fn preferred(&self) -> &str {
        let default = self.list.iter().find(|&channel| *channel == self.default);
        default.or(self.list.first()).map_or("", String::as_str)
    }

    /// Returns the names of the channels, trimmed, without empty names and duplicates.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut seen = BTreeSet::new();
        let names = self.list.iter().map(|name| name.trim());
        names.filter(move |name| !name.is_empty() && seen.insert(*name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(channels: &str, default: &str) -> (Channels, Vec<Finding>) {
        let mut findings = Findings::default();
        let annotations = [(PACKAGE, "p"), (CHANNELS, channels), (DEFAULT_CHANNEL, default)];
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        (Channels::read(&annotations, &mut findings), findings.into_vec())
    }

    #[test]
    fn the_default_channel_counts_only_if_the_package_has_it() {
        assert_eq!(read("alpha,beta", "beta").0.preferred(), "beta");
        assert_eq!(read("alpha,beta", "stable").0.preferred(), "alpha");
        assert_eq!(read("alpha,beta", "").0.preferred(), "alpha");
        assert_eq!(read("", "stable").0.preferred(), "");
    }

    #[test]
    fn channels_are_split_as_upstream_does_and_their_names_are_tidy() {
        let (channels, findings) = read("beta, stable ,,beta", "stable");
        assert_eq!(channels.list, ["beta", " stable ", "", "beta"]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(channels.names().collect::<Vec<_>>(), ["beta", "stable"]);
    }

    #[test]
    fn a_bundle_without_channels_is_reported() {
        let (channels, findings) = read("", "");
        assert!(channels.list.is_empty());
        let [Finding { reason: Reason::NoChannels, .. }] = findings[..] else {
            panic!("{findings:?}")
        };
    }
}
