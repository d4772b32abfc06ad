//! The package and the channels that the annotations of a bundle name.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::{
    Finding, Findings, Reason,
    annotation::{CHANNELS, DEFAULT_CHANNEL, PACKAGE},
};
use unlade_text::excerpt;

use crate::{Channel, PackageManifest};

/// The maximum length of the name of an object, in bytes (apimachinery
/// `DNS1123SubdomainMaxLength`).
const NAME_SIZE: usize = 253;

/// The package and the channels of a bundle, as written.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    pub(crate) package: String,
    pub(crate) list: Vec<String>,
    pub(crate) default: String,
}

/// Whether `annotation` names the package or the channels.
pub(crate) fn is_package_annotation(annotation: &str) -> bool {
    [PACKAGE, CHANNELS, DEFAULT_CHANNEL].contains(&annotation)
}

/// Whether `annotations` name a package or channels.
pub(crate) fn are_named_in(annotations: &BTreeMap<String, String>) -> bool {
    annotations.iter().any(|(key, value)| is_package_annotation(key) && !value.is_empty())
}

impl Channels {
    /// Reads the package and the channels from `annotations`, and adds findings about problems.
    pub(crate) fn read(annotations: &BTreeMap<String, String>, findings: &mut Findings) -> Self {
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
                let message = format!("the annotations do not name a {noun}");
                findings.push(Finding::new(reason, key, message));
            }
        }
        if !read.list.iter().eq(read.names()) {
            let list = excerpt::shorten(&list);
            let message = format!(
                "the list `{list}` contains spaces, empty names or repeated names: OLM keeps them, \
                 and the package manifest leaves them out"
            );
            findings.push(Finding::new(Reason::InvalidValue, CHANNELS, message));
        }
        read
    }

    /// Returns the default channel if it is one of the bundle's own, else the first of these.
    pub(crate) fn name(&self) -> &str {
        let default = self.list.iter().find(|&channel| *channel == self.default);
        default.or(self.list.first()).map_or("", String::as_str)
    }

    /// Creates the package manifest from the annotations and the name of the CSV. Names that are
    /// too long for Kubernetes are left out, because each channel has a copy of the name.
    pub(crate) fn package_manifest(&self, csv_name: &str) -> PackageManifest {
        let csv_name = if csv_name.len() > NAME_SIZE { "" } else { csv_name };
        let channel = |name: &str| Channel {
            name: name.to_owned(),
            current_csv: csv_name.to_owned(),
            deprecation: None,
        };
        PackageManifest {
            package_name: self.package.clone(),
            channels: self.names().map(channel).collect(),
            default_channel_name: self.default.trim().to_owned(),
            deprecation: None,
        }
    }

    /// Returns the names of the channels, trimmed, without empty names and duplicates.
    fn names(&self) -> impl Iterator<Item = &str> {
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
    fn the_default_channel_counts_only_if_it_is_an_own_one() {
        assert_eq!(read("alpha,beta", "beta").0.name(), "beta");
        assert_eq!(read("alpha,beta", "stable").0.name(), "alpha");
        assert_eq!(read("alpha,beta", "").0.name(), "alpha");
        assert_eq!(read("", "stable").0.name(), "");
    }

    #[test]
    fn channels_are_split_as_upstream_does_and_the_package_manifest_is_tidy() {
        let (channels, findings) = read("beta, stable ,,beta", "stable");
        assert_eq!(channels.list, ["beta", " stable ", "", "beta"]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        let manifest = channels.package_manifest("csv");
        let names: Vec<_> = manifest.channels.iter().map(|channel| &channel.name).collect();
        assert_eq!(names, ["beta", "stable"]);
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
