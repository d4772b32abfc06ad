//! Upgrades that lead to a lower version.

use std::collections::HashMap;

use unlade_bundle::version::{self, Version};
use unlade_text::excerpt::shorten;

use crate::{
    problem::{Problem, Problems},
    record::{Bundle, Channel},
    rule::Rule,
};

/// Checks that no entry replaces a bundle with a higher version. Suffixes are not compared, because
/// many catalogs add one to the version of a rebuilt bundle, and skipped versions are not checked,
/// because a version that was withdrawn is skipped by a lower one.
pub(crate) fn check<'c>(
    channels: impl Iterator<Item = &'c Channel>,
    bundles: impl Iterator<Item = &'c Bundle>,
    problems: &mut Problems,
) {
    let version =
        |bundle: &'c Bundle| Some((&*bundle.name, version::parse(&bundle.plain_version).ok()?));
    let versions: HashMap<&str, Version> = bundles.filter_map(version).collect();
    for channel in channels {
        for (index, entry) in channel.entries.iter().enumerate() {
            let Some(own) = versions.get(entry.name.as_str()) else { continue };
            let core = |version: &Version| (version.major, version.minor, version.patch);
            let Some(other) = versions.get(entry.replaces.as_str()) else { continue };
            if core(other) <= core(own) {
                continue;
            }
            let (shown, target) = (shorten(&entry.name), shorten(&entry.replaces));
            let message = format!(
                "entry {shown} ({own}) replaces {target} ({other}), which has a higher version"
            );
            let place = channel.place.item("entries", index);
            let problem = Problem::new(Rule::Downgrade, place, message);
            problems.push(problem.package(&channel.package).channel(&channel.name));
        }
    }
}
