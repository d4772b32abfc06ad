//! Adds the entries that a part of a channel needs to be valid.

use std::collections::{BTreeSet, HashMap};

use crate::{graph, record::Entry};

/// The maximum number of entries that are added one by one. If more are needed, all are kept.
const MAX_ADDED: usize = 1_000;

/// Adds entries to `kept` until the graph is valid, the lowest versions first. `entries` are those
/// of a valid channel, and `kept` has at least one of them. `rank` returns the rank of the version
/// of an entry. Returns the names that were added. Each step looks at all entries and edges, and
/// takes their number from `budget`; without a budget, all are kept.
pub(super) fn complete<'e>(
    entries: &'e [Entry],
    rank: impl Fn(&str) -> usize,
    kept: &mut BTreeSet<&'e str>,
    budget: &mut usize,
) -> Vec<&'e str> {
    let mut added = Vec::new();
    let mut sources = None;
    let size: usize = entries.iter().map(|entry| 1 + entry.targets().count()).sum();
    while added.len() < MAX_ADDED
        && let Some(rest) = budget.checked_sub(size)
    {
        *budget = rest;
        let part = entries.iter().filter(|entry| kept.contains(entry.name.as_str()));
        let Err(error) = graph::check(part.clone()) else { return added };
        let loose = match error {
            graph::Error::SeveralHeads(names)
            | graph::Error::Stranded(names)
            | graph::Error::Cycle(names) => names,
            graph::Error::NoHead => part.map(|entry| entry.name.clone()).collect(),
        };
        // Most channels are valid, and need no index.
        let sources = sources.get_or_insert_with(|| Sources::new(entries, &rank));
        // Connect the lowest versions first, so that few higher versions are added.
        let connected = loose.iter().filter_map(|name| {
            Some((sources.ranks.get(name.as_str())?, sources.find(name, kept)?))
        });
        let Some((_, entry)) = connected.min() else { break };
        kept.insert(entry);
        added.push(entry);
    }
    for entry in entries {
        if kept.insert(&entry.name) {
            added.push(&entry.name);
        }
    }
    added
}

/// From where each entry of a channel can be reached.
struct Sources<'e> {
    /// The position of each name in the order of versions and names.
    ranks: HashMap<&'e str, usize>,
    /// The entries that replace or skip a name, the lowest version first.
    by_target: HashMap<&'e str, Vec<&'e str>>,
}

impl<'e> Sources<'e> {
    fn new(entries: &'e [Entry], rank: impl Fn(&str) -> usize) -> Self {
        let mut sorted: Vec<_> = entries.iter().map(|it| (rank(&it.name), it)).collect();
        sorted.sort_by_key(|(rank, entry)| (*rank, &entry.name));
        let (mut ranks, mut by_target) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for (rank, (_, entry)) in sorted.into_iter().enumerate() {
            ranks.insert(entry.name.as_str(), rank);
            for target in entry.targets() {
                by_target.entry(target).or_default().push(entry.name.as_str());
            }
        }
        Self { ranks, by_target }
    }

    /// Returns the entry with the lowest version that leads to `name` and is not kept.
    fn find(&self, name: &str, kept: &BTreeSet<&str>) -> Option<&'e str> {
        let sources = self.by_target.get(name)?;
        sources.iter().copied().find(|source| !kept.contains(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_budget_for_entries_and_edges_all_entries_are_added() {
        let chain = ["d", "c", "b", "a", ""];
        let entries = chain.array_windows().map(|[name, replaces]| Entry {
            name: (*name).to_owned(),
            replaces: (*replaces).to_owned(),
            ..Entry::default()
        });
        let entries: Vec<_> = entries.collect();
        // Each of the two steps looks at four entries and three edges.
        for (mut budget, expected) in [(14, vec!["b"]), (13, vec!["b", "d"]), (6, vec!["d", "b"])] {
            let mut kept = BTreeSet::from(["a", "c"]);
            let added = complete(&entries, |_| 0, &mut kept, &mut budget);
            assert_eq!(added, expected);
        }
    }
}
