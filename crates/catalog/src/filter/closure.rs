//! Adds the entries that a part of a channel needs to be valid.

use std::collections::{BTreeSet, HashMap};

use crate::{graph, record::Entry};

/// The maximum number of entries that are added one by one. If more are needed, all are kept.
const MAX_ADDED: usize = 1_000;

/// Adds entries to `kept` until the graph is valid, the lowest versions first. `entries` are those
/// of a valid channel, and `kept` has at least one of them. `rank` returns the rank of the version
/// of an entry. Returns the names that were added. Each step looks at all entries and edges, and
/// takes the [cost](visit) of their names from `budget`. If the budget is exhausted, all entries
/// are kept.
pub(super) fn complete<'e>(
    entries: &'e [Entry],
    rank: impl Fn(&str) -> usize,
    kept: &mut BTreeSet<&'e str>,
    budget: &mut usize,
) -> Vec<&'e str> {
    let mut added = Vec::new();
    let mut sources = None;
    let visits = |entry: &Entry| visit(&entry.name) + entry.targets().map(visit).sum::<usize>();
    let size: usize = entries.iter().map(visits).sum();
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

/// Returns the cost of a visit of an entry or edge, whose name is hashed and compared.
fn visit(name: &str) -> usize {
    1 + name.len() / 64
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

    /// Returns the entries of a channel, each of which replaces the next one.
    fn chain<const N: usize>(names: [&str; N]) -> Vec<Entry> {
        let entries = names.array_windows().map(|[name, replaces]| Entry {
            name: (*name).to_owned(),
            replaces: (*replaces).to_owned(),
            ..Entry::default()
        });
        entries.collect()
    }

    #[test]
    fn long_names_take_more_of_the_budget() {
        let long = ["d", "c", "b", "a"].map(|name| name.repeat(1_600));
        let [d, c, b, a] = long.each_ref().map(String::as_str);
        let entries = chain([d, c, b, a, ""]);
        // Each of the two steps looks at four entries and three edges.
        for (mut budget, expected) in [(14 * 26, vec![b]), (14 * 26 - 1, vec![b, d])] {
            let mut kept = BTreeSet::from([a, c]);
            let added = complete(&entries, |_| 0, &mut kept, &mut budget);
            assert!(added == expected, "{budget}");
        }
    }

    #[test]
    fn without_a_budget_for_entries_and_edges_all_entries_are_added() {
        let entries = chain(["d", "c", "b", "a", ""]);
        // Each of the two steps looks at four entries and three edges.
        for (mut budget, expected) in [(14, vec!["b"]), (13, vec!["b", "d"]), (6, vec!["d", "b"])] {
            let mut kept = BTreeSet::from(["a", "c"]);
            let added = complete(&entries, |_| 0, &mut kept, &mut budget);
            assert_eq!(added, expected);
        }
    }
}
