//! The channel graph: which entry is the head, and which entries its chain of replacements reaches
//! (operator-registry `alpha/model/model.go`, `validateReplacesChain`).
//!
//! ```
//! use unlade_catalog::{Entry, graph};
//!
//! let entry = |name: &str, replaces: &str| Entry {
//!     name: name.to_owned(),
//!     replaces: replaces.to_owned(),
//!     ..Entry::default()
//! };
//! let entries = [entry("b", "a"), entry("a", "")];
//! assert_eq!(graph::heads(&entries), ["b"]);
//! assert_eq!(graph::check(&entries), Ok(()));
//! ```

pub(crate) mod budget;
pub mod diagram;
pub mod dot;
mod draw;
mod escape;
pub mod mermaid;
mod selection;

use std::collections::{BTreeMap, HashMap, HashSet};

use unlade_text::excerpt;

use crate::record::Entry;

pub use budget::{MAX_EDGES, MAX_TEXT, MAX_WORK};
pub use draw::DrawError;
pub use selection::Selection;

/// The reason why upstream refuses the graph of a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Every entry is replaced or skipped by another.
    #[error("the channel has no head: another entry replaces or skips each of its entries")]
    NoHead,
    /// Several entries are neither replaced nor skipped.
    #[error("the channel has {} heads: {}", .0.len(), excerpt::list(.0, ", "))]
    SeveralHeads(Vec<String>),
    /// The replacements lead back to an entry.
    #[error("the replacements form a cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// The chain of replacements from the head does not reach these entries, and no entry skips
    /// them.
    #[error("no chain of replacements leads from the head to {}", excerpt::list(.0, ", "))]
    Stranded(Vec<String>),
}

/// Returns the names of the entries that no entry replaces or skips, sorted.
pub fn heads<'e>(entries: impl IntoIterator<Item = &'e Entry> + Clone) -> Vec<&'e str> {
    // A channel can skip millions of names that are not entries, so the targets are not kept.
    let mut heads: HashSet<_> =
        entries.clone().into_iter().map(|entry| entry.name.as_str()).collect();
    for target in entries.into_iter().flat_map(Entry::targets) {
        heads.remove(target);
    }
    let mut heads: Vec<_> = heads.into_iter().collect();
    heads.sort_unstable();
    heads
}

/// Checks the graph of a channel with at least one entry. Of several entries with the same name,
/// the last one counts.
///
/// Ranges of versions play no part. The last entry of the chain may replace a bundle that is not in
/// the channel.
///
/// # Errors
///
/// Returns the first error that upstream finds.
pub fn check<'e>(entries: impl IntoIterator<Item = &'e Entry> + Clone) -> Result<(), Error> {
    let heads = heads(entries.clone());
    let head = match heads.as_slice() {
        [] => return Err(Error::NoHead),
        [head] => *head,
        _ => return Err(Error::SeveralHeads(to_owned(heads))),
    };
    let graph = Graph::new(entries);
    let (mut chain, cycle) = graph.follow(head);
    if let Some(start) = cycle {
        let next = chain.get(start).copied();
        return Err(Error::Cycle(to_owned(chain.drain(start..).chain(next))));
    }
    let stranded = graph.without(&chain.into_iter().collect());
    if stranded.is_empty() { Ok(()) } else { Err(Error::Stranded(to_owned(stranded))) }
}

fn to_owned<'e>(names: impl IntoIterator<Item = &'e str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// Returns the names of the entries that no chain of replacements from any head reaches, and that
/// no entry skips, sorted.
///
/// In a channel with one head, these are the entries of [`Error::Stranded`].
pub fn stranded(entries: &[Entry]) -> Vec<&str> {
    let graph = Graph::new(entries);
    let mut reached = HashSet::new();
    for head in heads(entries) {
        // Chains may meet, so visit each entry only once.
        let mut current = Some(head);
        while let Some(name) = current.filter(|name| reached.insert(*name)) {
            let next = graph.by_name.get(name).map(|entry| entry.replaces.as_str());
            current = next.filter(|next| !graph.is_skipped(next));
        }
    }
    graph.without(&reached)
}

/// Returns the names that any entry skips. They need not be entries.
pub fn skipped<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> HashSet<&'e str> {
    entries.into_iter().flat_map(|entry| entry.skips.iter()).collect()
}

struct Graph<'e> {
    by_name: BTreeMap<&'e str, &'e Entry>,
    /// Whether any entry skips a name, for the names of entries and those that they replace.
    skips: HashMap<&'e str, bool>,
}

impl<'e> Graph<'e> {
    fn new(entries: impl IntoIterator<Item = &'e Entry> + Clone) -> Self {
        let by_name =
            entries.clone().into_iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let names = entries.clone().into_iter().flat_map(|it| [&*it.name, &*it.replaces]);
        let mut skips: HashMap<_, _> = names.map(|name| (name, false)).collect();
        for name in entries.into_iter().flat_map(|entry| entry.skips.iter()) {
            if let Some(is_skipped) = skips.get_mut(name) {
                *is_skipped = true;
            }
        }
        Self { by_name, skips }
    }

    /// Checks whether any entry skips an entry or a name that an entry replaces.
    fn is_skipped(&self, name: &str) -> bool {
        self.skips.get(name).is_some_and(|is_skipped| *is_skipped)
    }

    /// Follows the replacements from `head` to the first skipped name, or to the first name that is
    /// not an entry. Returns the names, and the index of the name that the last one leads back to.
    fn follow(&self, head: &'e str) -> (Vec<&'e str>, Option<usize>) {
        let mut chain = vec![head];
        let mut positions = HashMap::from([(head, 0)]);
        let mut current = self.by_name.get(head);
        while let Some(entry) = current {
            let next = entry.replaces.as_str();
            if self.is_skipped(next) {
                break;
            }
            if let Some(&start) = positions.get(next) {
                return (chain, Some(start));
            }
            positions.insert(next, chain.len());
            chain.push(next);
            current = self.by_name.get(next);
        }
        (chain, None)
    }

    /// Returns the entries that are neither in `reached` nor skipped.
    fn without(&self, reached: &HashSet<&str>) -> Vec<&'e str> {
        let is_stranded = |name: &&str| !reached.contains(name) && !self.is_skipped(name);
        self.by_name.keys().copied().filter(is_stranded).collect()
    }
}

#[cfg(test)]
mod tests;
