//! The rules of a package.

use std::collections::{BTreeMap, BTreeSet};

use unlade_name::{MAX_LABEL, check_label};
use unlade_text::excerpt;

use crate::{
    problem::{Problem, Problems},
    record::{Bundle, Package},
    rule::Rule,
};

/// Checks the name and the default channel of a package. `channels` are the names of its channels.
/// It is `None` if the catalog is incomplete.
pub(crate) fn check(package: &Package, channels: Option<&BTreeSet<&str>>, problems: &mut Problems) {
    let Package { name, default_channel, place } = package;
    let [shown, shown_channel] = [name, default_channel].map(|it| excerpt::shorten(it));
    let mut add = |rule, field: &str, message: String| {
        let place = if field.is_empty() { place.clone() } else { place.field(field) };
        problems.push(Problem::new(rule, place, message).package(name));
    };
    if name.is_empty() {
        add(Rule::PackageName, "", "the package has no name".to_owned());
    } else if let Err(error) = check_label(name, MAX_LABEL) {
        let message = format!("the package name {shown} is invalid: {error}");
        add(Rule::PackageName, "name", message);
    }
    if default_channel.is_empty() {
        add(Rule::DefaultChannel, "", format!("the package {shown} has no default channel"));
    }
    let Some(channels) = channels else { return };
    if !default_channel.is_empty() && !channels.contains(default_channel.as_str()) {
        let message =
            format!("the default channel {shown_channel} of the package {shown} does not exist");
        add(Rule::DefaultChannel, "defaultChannel", message);
    }
    if channels.is_empty() && default_channel.is_empty() {
        add(Rule::NoChannel, "", format!("the package {shown} has no channel"));
    }
}

/// Checks that each version occurs once among the bundles of a package.
pub(crate) fn check_versions<'b>(
    bundles: impl Iterator<Item = &'b Bundle>,
    problems: &mut Problems,
) {
    let mut by_version: BTreeMap<&str, &Bundle> = BTreeMap::new();
    for bundle in bundles.filter(|bundle| !bundle.version.is_empty()) {
        let Bundle { package, name, version, place, .. } = bundle;
        match by_version.get(version.as_str()) {
            Some(first) if first.name != *name => {
                let message = format!(
                    "the version {} is also the version of the bundle {}",
                    excerpt::shorten(version),
                    excerpt::shorten(&first.name)
                );
                let problem = Problem::new(Rule::DuplicateVersion, place.clone(), message);
                problems.push(problem.package(package).bundle(name));
            }
            Some(_) => {}
            None => drop(by_version.insert(version, bundle)),
        }
    }
}
