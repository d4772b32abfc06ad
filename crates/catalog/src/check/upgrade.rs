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
    let core = |bundle: &'c Bundle| {
        let text = &*bundle.plain_version;
        let Version { major, minor, patch, .. } = version::parse(text).ok()?;
        Some((&*bundle.name, ((major, minor, patch), text)))
    };
    let versions: HashMap<&str, _> = bundles.filter_map(core).collect();
    for channel in channels {
        for (index, entry) in channel.entries.iter().enumerate() {
            let Some((own, own_text)) = versions.get(entry.name.as_str()) else { continue };
            let Some((other, other_text)) = versions.get(entry.replaces.as_str()) else { continue };
            if other <= own {
                continue;
            }
            // A version can be megabytes long, and each entry can have a message.
            let [shown, own, target, other] =
                [&*entry.name, own_text, &*entry.replaces, other_text].map(shorten);
            let message = format!(
                "the entry {shown} ({own}) replaces {target} ({other}), which has a higher version"
            );
            let place = channel.place.item("entries", index);
            let problem = Problem::new(Rule::Downgrade, place, message);
            let problem = problem.package(&channel.package).channel(&channel.name);
            problems.push(problem.bundle(&entry.name));
        }
    }
}
