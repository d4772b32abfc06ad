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

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use unlade_text::excerpt;

use crate::record::Entry;

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
pub fn heads(entries: &[Entry]) -> Vec<&str> {
    let mut targets: HashSet<&str> = HashSet::new();
    for entry in entries {
        targets.extend(entry.skips.iter().map(String::as_str));
        targets.extend(Some(entry.replaces.as_str()).filter(|name| !name.is_empty()));
    }
    let names: BTreeSet<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    names.into_iter().filter(|name| !targets.contains(name)).collect()
}

/// Checks the graph of a channel with at least one entry. Of several entries with the same name, the
/// last one counts.
///
/// Ranges of versions play no part. The last entry of the chain may replace a bundle that is not in
/// the channel.
///
/// # Errors
///
/// Returns the first error that upstream finds.
pub fn check(entries: &[Entry]) -> Result<(), Error> {
    let head = match *heads(entries).as_slice() {
        [] => return Err(Error::NoHead),
        [head] => head,
        ref several => {
            return Err(Error::SeveralHeads(several.iter().map(|&name| name.to_owned()).collect()));
        }
    };
    let by_name: BTreeMap<&str, &Entry> =
        entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let skipped: HashSet<&str> =
        entries.iter().flat_map(|entry| &entry.skips).map(String::as_str).collect();
    let mut chain = vec![head];
    let mut positions = HashMap::from([(head, 0)]);
    let mut current = by_name.get(head);
    while let Some(entry) = current {
        let next = entry.replaces.as_str();
        if skipped.contains(next) {
            break;
        }
        if let Some(&start) = positions.get(next) {
            let cycle = chain.iter().skip(start).chain([&next]);
            return Err(Error::Cycle(cycle.map(|&name| name.to_owned()).collect()));
        }
        positions.insert(next, chain.len());
        chain.push(next);
        current = by_name.get(next);
    }
    let is_stranded = |name: &&&str| !positions.contains_key(**name) && !skipped.contains(**name);
    let stranded: Vec<_> =
        by_name.keys().filter(is_stranded).map(|&name| name.to_owned()).collect();
    if stranded.is_empty() { Ok(()) } else { Err(Error::Stranded(stranded)) }
}

#[cfg(test)]
mod tests;
