//! [`Planner`]: decides which entries of a catalog remain.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use unlade_bundle::version::{self, Range, Version};
use unlade_text::excerpt::shorten;

use super::{
    choice::{Channels, Choice, Versions},
    closure::complete,
    need::{Need, Needs},
    plan::{Error, MAX_COMPARISONS, Plan},
};
use crate::{
    Catalog, graph,
    record::{Channel, Package},
};

/// A package, and the name of a bundle or a channel in it.
type Name<'c> = (&'c str, &'c str);

/// A valid catalog, and the part of it that is wanted.
pub(super) struct Planner<'c> {
    packages: BTreeMap<&'c str, (&'c Package, Vec<&'c Channel>)>,
    channels: HashMap<Name<'c>, &'c Channel>,
    versions: HashMap<(&'c str, &'c str), Version>,
    /// The channels of each bundle.
    places: BTreeMap<Name<'c>, Vec<&'c Channel>>,
    /// The wanted entries of each channel.
    wanted: BTreeMap<(&'c str, &'c str), BTreeSet<&'c str>>,
    /// The bundles of the wanted entries.
    kept: BTreeSet<Name<'c>>,
    /// The kept bundles whose dependencies were not followed yet.
    new: Vec<Name<'c>>,
    /// The channels with entries that were added since their graphs were completed.
    changed: BTreeSet<Name<'c>>,
    /// The needs that kept bundles meet.
    met: HashSet<&'c Need>,
    n_comparisons: usize,
    /// The number of entries at which completing graphs may still look.
    budget: usize,
    adjustments: BTreeSet<String>,
}

impl<'c> Planner<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        let mut packages: BTreeMap<_, _> = catalog
            .packages
            .iter()
            .map(|package| (package.name.as_str(), (package, Vec::new())))
            .collect();
        for channel in &catalog.channels {
            if let Some((_, channels)) = packages.get_mut(channel.package.as_str()) {
                channels.push(channel);
            }
        }
        // Of several channels with a name, the first one counts.
        let named = |channel: &'c Channel| ((&*channel.package, &*channel.name), channel);
        let channels = catalog.channels.iter().rev().map(named).collect();
        let version = |text: &str| version::parse(text).unwrap_or(Version::new(0, 0, 0));
        let versions = catalog.bundles.iter().map(|bundle| {
            ((bundle.package.as_str(), bundle.name.as_str()), version(&bundle.plain_version))
        });
        let versions = versions.collect();
        let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for channel in &catalog.channels {
            for entry in &channel.entries {
                let key = (channel.package.as_str(), entry.name.as_str());
                places.entry(key).or_default().push(channel);
            }
        }
        Self {
            packages,
            channels,
            versions,
            places,
            wanted: BTreeMap::new(),
            kept: BTreeSet::new(),
            new: Vec::new(),
            changed: BTreeSet::new(),
            met: HashSet::new(),
            n_comparisons: 0,
            budget: MAX_COMPARISONS,
            adjustments: BTreeSet::new(),
        }
    }

    fn version(&self, package: &str, name: &str) -> Version {
        self.versions.get(&(package, name)).cloned().unwrap_or(Version::new(0, 0, 0))
    }

    pub(super) fn choose(&mut self, choice: &Choice) -> Result<(), Error> {
        let Some((package, channels)) = self.packages.get(choice.package.as_str()) else {
            return Err(Error::Package(choice.package.clone()));
        };
        let meta = *package;
        let package = meta.name.as_str();
        if let Channels::Named(names) = &choice.channels {
            let unknown = |name: &&String| !channels.iter().any(|channel| channel.name == **name);
            if let Some(channel) = names.iter().find(unknown) {
                let (package, channel) = (package.to_owned(), channel.clone());
                return Err(Error::Channel { package, channel });
            }
        }
        let is_chosen = |channel: &&&Channel| match &choice.channels {
            Channels::All => true,
            Channels::Default => channel.name == meta.default_channel,
            Channels::Named(names) => names.contains(&channel.name),
        };
        let mut has_versions = false;
        for channel in channels.clone().iter().filter(is_chosen) {
            let names = channel.entries.iter().map(|entry| entry.name.as_str());
            let heads = match choice.versions {
                Versions::Head => graph::heads(&channel.entries),
                _ => Vec::new(),
            };
            let is_in_range = |name: &&str| match &choice.versions {
                Versions::All => true,
                Versions::Head => heads.contains(name),
                Versions::Range(range) => range.matches(&self.version(package, name)),
            };
            let names: Vec<_> = names.filter(is_in_range).collect();
            if names.is_empty() {
                let channel = shorten(&channel.name);
                let note = format!(
                    "channel {channel} of package {package} is left out: no version is in the range"
                );
                self.adjustments.insert(note);
                continue;
            }
            has_versions = true;
            for name in names {
                self.want(package, &channel.name, name);
            }
        }
        if has_versions { Ok(()) } else { Err(Error::Versions(package.to_owned())) }
    }

    /// Keeps an entry. Returns whether it is new.
    fn want(&mut self, package: &'c str, channel: &'c str, name: &'c str) -> bool {
        let is_new = self.wanted.entry((package, channel)).or_default().insert(name);
        if is_new {
            self.changed.insert((package, channel));
            if self.kept.insert((package, name)) {
                self.new.push((package, name));
            }
        }
        is_new
    }

    /// Adds the entries without which the graphs of the changed channels would be invalid.
    pub(super) fn complete_changed(&mut self) {
        for (package, name) in std::mem::take(&mut self.changed) {
            let Some(channel) = self.channels.get(&(package, name)) else { continue };
            let mut names = self.wanted.remove(&(package, name)).unwrap_or_default();
            let mut budget = self.budget;
            let version = |name: &str| self.version(package, name);
            let added = complete(&channel.entries, version, &mut names, &mut budget);
            self.budget = budget;
            self.wanted.insert((package, name), names);
            for entry in added {
                if self.kept.insert((package, entry)) {
                    self.new.push((package, entry));
                }
                let (name, entry) = (shorten(name), shorten(entry));
                self.adjustments.insert(format!(
                    "entry {entry} remains in channel {name} of package {package}: its graph would \
                     be invalid without it"
                ));
            }
        }
    }

    /// Adds what the bundles require that are new since the last call. Returns whether anything was
    /// added. A need that is met stays met, because nothing is removed.
    pub(super) fn add_dependencies(&mut self, needs: &'c Needs) -> Result<bool, Error> {
        let mut new = std::mem::take(&mut self.new);
        new.sort_unstable();
        let mut has_added = false;
        let (mut added, mut chosen) = (HashSet::new(), HashMap::new());
        for (package, bundle) in new {
            let key = (package.to_owned(), bundle.to_owned());
            for need in needs.required.get(&key).into_iter().flatten() {
                let by = shorten(bundle);
                if *need == Need::Constraint {
                    let note = format!("bundle {by} has a constraint, which is not followed");
                    self.adjustments.insert(note);
                    continue;
                }
                if self.met.contains(need) {
                    continue;
                }
                let choice = if let Some(choice) = chosen.get(need) {
                    *choice
                } else {
                    let fitting = self.fitting(need, needs)?;
                    if fitting.iter().any(|it| self.kept.contains(it) && !added.contains(it)) {
                        // A bundle that remains anyway is enough.
                        self.met.insert(need);
                        continue;
                    }
                    *chosen.entry(need).or_insert(self.choose_best(&fitting))
                };
                if let Some((package, channel, name)) = choice {
                    if !self.kept.contains(&(package, name)) {
                        added.insert((package, name));
                    }
                    has_added |= self.want(package, channel, name);
                    let (name, channel) = (shorten(name), shorten(channel));
                    self.adjustments.insert(format!(
                        "bundle {name} of package {package} remains in channel {channel}: bundle \
                         {by} requires {}",
                        shorten(&need.describe())
                    ));
                } else {
                    let need = shorten(&need.describe());
                    let note = format!("bundle {by} requires {need}, which no bundle provides");
                    self.adjustments.insert(note);
                }
            }
        }
        Ok(has_added)
    }

    /// Returns the bundles that meet a need, sorted. A range that is invalid contains no version.
    fn fitting(&mut self, need: &'c Need, needs: &'c Needs) -> Result<Vec<Name<'c>>, Error> {
        let mut fitting: Vec<_> = match need {
            Need::Constraint => Vec::new(),
            Need::Api(api) => {
                let keys = needs.providers.get(api).into_iter().flatten();
                keys.map(|(package, name)| (package.as_str(), name.as_str())).collect()
            }
            Need::Package(package, range) => {
                let Ok(range) = range.parse::<Range>() else { return Ok(Vec::new()) };
                let names = self.places.range((package.as_str(), "")..);
                let names = names.map(|(key, _)| *key).take_while(|(it, _)| it == package);
                let names: Vec<_> = names.collect();
                self.n_comparisons += names.len();
                if self.n_comparisons > MAX_COMPARISONS {
                    return Err(Error::Work);
                }
                let is_in_range =
                    |(package, name): &(&str, &str)| range.matches(&self.version(package, name));
                names.into_iter().filter(is_in_range).collect()
            }
        };
        fitting.retain(|key| self.places.contains_key(key));
        Ok(fitting)
    }

    /// Returns the highest version of the first package, in its default channel if that has any.
    fn choose_best(&self, keys: &[Name<'c>]) -> Option<(&'c str, &'c str, &'c str)> {
        let mut best: Option<(bool, Version, (&str, &str, &str))> = None;
        for &(package, name) in keys {
            let Some((meta, _)) = self.packages.get(package) else { continue };
            for channel in self.places.get(&(package, name)).into_iter().flatten() {
                let is_default = channel.name == meta.default_channel;
                let version = self.version(package, name);
                let is_better = best.as_ref().is_none_or(|(was_default, other, (first, ..))| {
                    (is_default && !*was_default)
                        || (is_default == *was_default
                            && *first == package
                            && version.cmp_precedence(other).is_gt())
                });
                if is_better {
                    best = Some((is_default, version, (&meta.name, &channel.name, name)));
                }
            }
        }
        best.map(|(.., found)| found)
    }

    pub(super) fn finish(mut self) -> Plan {
        let mut default_channels = BTreeMap::new();
        for (name, (package, channels)) in &self.packages {
            let kept: Vec<_> = channels
                .iter()
                .filter(|channel| self.wanted.contains_key(&(*name, channel.name.as_str())))
                .collect();
            let is_default = |channel: &&&&Channel| channel.name == package.default_channel;
            let head = |channel: &Channel| {
                let kept = self.wanted.get(&(*name, channel.name.as_str()));
                let entries = channel
                    .entries
                    .iter()
                    .filter(|entry| kept.is_some_and(|kept| kept.contains(entry.name.as_str())));
                graph::heads(entries).first().map(|head| self.version(name, head))
            };
            let highest = || {
                kept.iter().max_by(|a, b| match (head(a), head(b)) {
                    (Some(a), Some(b)) => a.cmp_precedence(&b),
                    (a, b) => a.is_some().cmp(&b.is_some()),
                })
            };
            let Some(default) = kept.iter().find(is_default).or_else(highest) else { continue };
            if default.name != package.default_channel {
                let [new, old] = [&default.name, &package.default_channel].map(|it| shorten(it));
                self.adjustments.insert(format!(
                    "the default channel of package {name} is {new}: channel {old} is left out"
                ));
            }
            default_channels.insert((*name).to_owned(), default.name.clone());
        }
        let own = |text: &str| text.to_owned();
        let bundles = self.kept.into_iter().map(|(package, name)| (own(package), own(name)));
        let bundles = bundles.collect();
        let channels = self.wanted.into_iter().map(|((package, channel), names)| {
            ((own(package), own(channel)), names.into_iter().map(own).collect())
        });
        Plan {
            channels: channels.collect(),
            default_channels,
            bundles,
            adjustments: self.adjustments.into_iter().collect(),
        }
    }
}
