//! [`Planner`]: decides which entries of a catalog remain.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use unlade_text::excerpt::shorten;

use super::{
    adjustment::Adjustments,
    candidate::{Candidate, Name, candidates, choose_best, find, numbered},
    choice::{Channels, Choice, Versions as Wanted},
    closure::complete,
    need::{Need, Needs},
    plan::{Error, MAX_VISITS, Plan},
};
use crate::{
    Catalog,
    graph::{self, budget::Budget},
    record::{Channel, Entry, Package},
    version::Versions,
};

/// The work of a choice for each of its channels and for each entry of these, besides the lengths
/// of the names, as a part of [`MAX_WORK`](graph::MAX_WORK). A configuration file can choose from
/// the same channel thousands of times, and choosing an entry takes about a microsecond, so a
/// million of them are possible.
const ENTRY_WORK: usize = 2048;

/// The same for each name that an entry replaces or skips. Finding the head looks at all of them.
const TARGET_WORK: usize = 64;

/// A valid catalog, and the part of it that is wanted. Channels have indices, because comparing
/// long names takes long.
pub(super) struct Planner<'c> {
    packages: BTreeMap<&'c str, (&'c Package, Vec<usize>)>,
    channels: &'c [Channel],
    /// The indices of the channels by package and name.
    by_name: HashMap<Name<'c>, usize>,
    versions: &'c Versions<Name<'c>>,
    needs: &'c Needs,
    /// The bundles that are in a channel, sorted by package and name.
    candidates: Vec<Candidate<'c>>,
    /// The index of the candidate for each bundle of the needs.
    by_need: Vec<Option<usize>>,
    /// The wanted entries of each channel.
    wanted: BTreeMap<usize, BTreeSet<&'c str>>,
    /// The indices of the kept candidates whose dependencies were not followed yet.
    new: Vec<usize>,
    /// The channels with entries that were added since their graphs were completed.
    changed: BTreeSet<usize>,
    /// The needs that kept bundles meet.
    met: HashSet<&'c Need>,
    /// The needs that no bundle meets.
    unmet: HashSet<&'c Need>,
    /// What comparing versions with ranges may still cost.
    budget: Budget,
    /// The number of entries and edges at which completing graphs may still look.
    visits: usize,
    adjustments: Adjustments,
}

/// What meets a need.
enum Met<'c> {
    /// A bundle that remains anyway.
    Before,
    /// A bundle that was chosen for it.
    By(Chosen<'c>),
    /// No bundle.
    ByNothing,
}

/// An entry of a channel that was chosen to meet a need.
#[derive(Clone, Copy)]
struct Chosen<'c> {
    /// The index of the channel.
    index: usize,
    channel: &'c Channel,
    name: &'c str,
}

impl<'c> Planner<'c> {
    pub(super) fn new(
        catalog: &'c Catalog,
        versions: &'c Versions<Name<'c>>,
        needs: &'c Needs,
    ) -> Self {
        let mut packages: BTreeMap<_, _> = catalog
            .packages
            .iter()
            .map(|package| (package.name.as_str(), (package, Vec::new())))
            .collect();
        for (index, channel) in catalog.channels.iter().enumerate() {
            if let Some((_, channels)) = packages.get_mut(channel.package.as_str()) {
                channels.push(index);
            }
        }
        let channels = catalog.channels.as_slice();
        let names = channels.iter().map(|it| (it.package.as_str(), it.name.as_str()));
        let by_name = names.zip(0..).collect();
        let mut candidates = candidates(&packages, channels, versions);
        let mut by_need = Vec::new();
        for ((package, name), required) in &needs.bundles {
            let found = find(&candidates, (package, name));
            by_need.push(found);
            if let Some(candidate) = found.and_then(|index| candidates.get_mut(index)) {
                candidate.required = Some(required);
            }
        }
        Self {
            packages,
            channels,
            by_name,
            versions,
            needs,
            candidates,
            by_need,
            wanted: BTreeMap::new(),
            new: Vec::new(),
            changed: BTreeSet::new(),
            met: HashSet::new(),
            unmet: HashSet::new(),
            budget: Budget::default(),
            visits: MAX_VISITS,
            adjustments: Adjustments::default(),
        }
    }

    pub(super) fn choose(&mut self, choice: &Choice) -> Result<(), Error> {
        let Some((meta, channels)) = self.packages.get(choice.package.as_str()) else {
            return Err(Error::Package(choice.package.clone()));
        };
        let package = meta.name.as_str();
        let find = |channel: &str| self.by_name.get(&(package, channel)).copied();
        let indices = match &choice.channels {
            Channels::All => channels.clone(),
            Channels::Default => find(&meta.default_channel).into_iter().collect(),
            Channels::Named(names) => {
                let find = |name: &String| {
                    find(name).ok_or_else(|| Error::Channel {
                        package: package.to_owned(),
                        channel: name.clone(),
                    })
                };
                // Of equal names, one is enough.
                let indices: BTreeSet<_> = names.iter().map(find).collect::<Result<_, _>>()?;
                indices.into_iter().collect()
            }
        };
        let mut has_versions = false;
        for (index, channel) in numbered(&indices, self.channels) {
            self.budget.add_work(work(channel)).map_err(|_| Error::Work)?;
            let names = channel.entries.iter().map(|entry| entry.name.as_str());
            let heads = match &choice.versions {
                Wanted::All => Vec::new(),
                Wanted::Head => graph::heads(&channel.entries),
                Wanted::Range(range) => {
                    let added = self.budget.add_comparisons(range, channel.entries.len());
                    added.map_err(|_| Error::Work)?;
                    Vec::new()
                }
            };
            let is_in_range = |name: &&str| match &choice.versions {
                Wanted::All => true,
                Wanted::Head => heads.contains(name),
                Wanted::Range(range) => {
                    range.matches(&self.versions.get(&(package, *name)).version)
                }
            };
            let names: Vec<_> = names.filter(is_in_range).collect();
            if names.is_empty() {
                let [channel, package] = [&*channel.name, package].map(shorten);
                let note = format!(
                    "the channel {channel} of the package {package} is skipped: it contains no \
                     version in the range"
                );
                self.adjustments.add(note);
                continue;
            }
            has_versions = true;
            for name in names {
                self.want(index, channel, name);
            }
        }
        if has_versions { Ok(()) } else { Err(Error::Versions(package.to_owned())) }
    }

    /// Keeps an entry. Returns whether it is new.
    fn want(&mut self, index: usize, channel: &'c Channel, name: &'c str) -> bool {
        let is_new = self.wanted.entry(index).or_default().insert(name);
        if is_new {
            self.changed.insert(index);
            self.keep(&channel.package, name);
        }
        is_new
    }

    /// Keeps a bundle.
    fn keep(&mut self, package: &str, name: &str) {
        let Some(index) = find(&self.candidates, (package, name)) else { return };
        let Some(candidate) = self.candidates.get_mut(index) else { return };
        if !candidate.is_kept {
            candidate.is_kept = true;
            self.new.push(index);
        }
    }

    /// Adds the entries without which the graphs of the changed channels would be invalid.
    pub(super) fn complete_changed(&mut self) {
        for index in std::mem::take(&mut self.changed) {
            let Some(channel) = self.channels.get(index) else { continue };
            let (package, name) = (channel.package.as_str(), channel.name.as_str());
            let mut names = self.wanted.remove(&index).unwrap_or_default();
            let rank = |name: &str| self.versions.get(&(package, name)).exact_rank;
            let added = complete(&channel.entries, rank, &mut names, &mut self.visits);
            self.wanted.insert(index, names);
            for entry in added {
                self.keep(package, entry);
                let [package, name, entry] = [package, name, entry].map(shorten);
                self.adjustments.add(format!(
                    "the entry {entry} remains in the channel {name} of the package {package}: the \
                     graph would be invalid without it"
                ));
            }
        }
    }

    /// Adds what the bundles that were added since the last call require. Returns whether anything
    /// was added. A need that is met stays met, because nothing is removed.
    pub(super) fn add_dependencies(&mut self) -> Result<bool, Error> {
        let mut new = std::mem::take(&mut self.new);
        new.sort_unstable();
        let (mut has_added, mut chosen) = (false, HashMap::new());
        for index in new {
            let Some(candidate) = self.candidates.get(index) else { continue };
            let by = shorten(candidate.name);
            for need in candidate.required.into_iter().flatten() {
                let found = match chosen.get(need) {
                    Some(choice) => Met::By(*choice),
                    None => self.meet(need, &mut has_added)?,
                };
                if let Met::By(choice) = found {
                    chosen.insert(need, choice);
                }
                if let Some(adjustment) = describe(&by, need, &found) {
                    self.adjustments.add(adjustment);
                }
            }
        }
        // What was chosen is kept from now on.
        self.met.extend(chosen.into_keys());
        Ok(has_added)
    }

    /// Finds what meets a need that was not met in this round, and keeps it. Sets `has_added` if it
    /// is new.
    fn meet(&mut self, need: &'c Need, has_added: &mut bool) -> Result<Met<'c>, Error> {
        if self.met.contains(need) {
            return Ok(Met::Before);
        }
        if self.unmet.contains(need) {
            return Ok(Met::ByNothing);
        }
        let channels = self.channels;
        let fitting = self.fitting(need)?;
        if fitting.iter().any(|it| it.is_kept) {
            // A bundle that remains anyway is enough.
            self.met.insert(need);
            return Ok(Met::Before);
        }
        let choice = choose_best(&fitting).and_then(|best| {
            let (index, name) = (best.channel, best.name);
            Some(Chosen { index, channel: channels.get(index)?, name })
        });
        let Some(choice) = choice else {
            self.unmet.insert(need);
            return Ok(Met::ByNothing);
        };
        *has_added |= self.want(choice.index, choice.channel, choice.name);
        Ok(Met::By(choice))
    }

    /// Returns the bundles that meet a need, sorted. A range that is invalid contains no version.
    fn fitting(&mut self, need: &Need) -> Result<Vec<&Candidate<'c>>, Error> {
        match need {
            // Constraints are not evaluated.
            Need::Constraint => Ok(Vec::new()),
            Need::Api(api) => {
                let providers = self.needs.providers.get(api).into_iter().flatten();
                let mut indices: Vec<_> =
                    providers.filter_map(|index| *self.by_need.get(*index)?).collect();
                indices.sort_unstable();
                Ok(indices.into_iter().filter_map(|index| self.candidates.get(index)).collect())
            }
            Need::Package(package, range) => {
                let start = self.candidates.partition_point(|it| it.package < package.as_str());
                let rest = self.candidates.get(start..).unwrap_or_default();
                let end = rest.partition_point(|it| it.package == package);
                let all = rest.get(..end).unwrap_or_default();
                let versions = all.iter().map(|it| it.version);
                let is_in_range = self.budget.compare(range, versions).map_err(|_| Error::Work)?;
                let pairs = all.iter().zip(is_in_range);
                Ok(pairs.filter(|(_, is_in_range)| *is_in_range).map(|(it, _)| it).collect())
            }
        }
    }

    pub(super) fn finish(mut self) -> Plan {
        let mut default_channels = BTreeMap::new();
        for (name, (package, channels)) in &self.packages {
            let kept: Vec<_> = numbered(channels, self.channels)
                .filter(|(index, _)| self.wanted.contains_key(index))
                .collect();
            let is_default =
                |(_, channel): &&(usize, &Channel)| channel.name == package.default_channel;
            let head = |(index, channel): &&(usize, &Channel)| {
                let kept = self.wanted.get(index);
                let entries = channel
                    .entries
                    .iter()
                    .filter(|entry| kept.is_some_and(|kept| kept.contains(entry.name.as_str())));
                let head = *graph::heads(entries).first()?;
                Some(self.versions.get(&(*name, head)).exact_rank)
            };
            let highest = || kept.iter().max_by_key(head);
            let Some((_, default)) = kept.iter().find(is_default).or_else(highest) else {
                continue;
            };
            if default.name != package.default_channel {
                let [shown, new, old] =
                    [name, &*default.name, &*package.default_channel].map(shorten);
                self.adjustments.add(format!(
                    "the default channel of the package {shown} is {new}, because the channel \
                     {old} is skipped"
                ));
            }
            default_channels.insert((*name).to_owned(), default.name.clone());
        }
        let own = |text: &str| text.to_owned();
        let kept = self.candidates.iter().filter(|it| it.is_kept);
        let bundles = kept.map(|it| (own(it.package), own(it.name))).collect();
        let channels = self.wanted.into_iter().filter_map(|(index, names)| {
            let Channel { package, name, .. } = self.channels.get(index)?;
            Some(((own(package), own(name)), names.into_iter().map(own).collect()))
        });
        Plan {
            channels: channels.collect(),
            default_channels,
            bundles,
            adjustments: self.adjustments.into_vec(),
        }
    }
}

/// Returns the work of choosing from a channel.
fn work(channel: &Channel) -> usize {
    let of_entry = |entry: &Entry| {
        let targets: usize = entry.targets().map(|name| TARGET_WORK + name.len()).sum();
        ENTRY_WORK + entry.name.len() + targets
    };
    ENTRY_WORK + channel.entries.iter().map(of_entry).sum::<usize>()
}

/// Describes the adjustment that a need of the bundle `by` causes, if any.
fn describe(by: &str, need: &Need, found: &Met<'_>) -> Option<String> {
    if *need == Need::Constraint {
        return Some(format!(
            "the bundle {by} has a constraint, which this command does not evaluate"
        ));
    }
    let described = || shorten(&need.describe());
    match found {
        Met::Before => None,
        Met::By(Chosen { channel, name, .. }) => {
            let [package, channel, name] = [&channel.package, &channel.name, *name].map(shorten);
            Some(format!(
                "the bundle {name} of the package {package} remains in the channel {channel}: the \
                 bundle {by} requires {}",
                described()
            ))
        }
        Met::ByNothing => {
            Some(format!("the bundle {by} requires {}, which no bundle provides", described()))
        }
    }
}
