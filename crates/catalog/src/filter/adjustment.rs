//! [`Adjustments`]: what a filter has kept or left out besides the choices.

use std::collections::BTreeSet;

/// The maximum number of adjustments that are listed. Each of the bundles of a catalog can cause
/// several, and a catalog of 10 MB can have 250,000 bundles and requirements.
pub const MAX_ADJUSTMENTS: usize = 10_000;

/// A list of adjustments, with a limit.
#[derive(Debug, Default)]
pub(super) struct Adjustments {
    listed: BTreeSet<String>,
    n_others: usize,
}

impl Adjustments {
    /// Adds an adjustment, or only counts it if the list is full.
    pub(super) fn add(&mut self, adjustment: String) {
        if self.listed.len() < MAX_ADJUSTMENTS {
            self.listed.insert(adjustment);
        } else if !self.listed.contains(&adjustment) {
            self.n_others += 1;
        }
    }

    /// Returns the sorted adjustments, and after them the number of those that are not listed.
    pub(super) fn into_vec(self) -> Vec<String> {
        let Self { listed, n_others } = self;
        let others = (n_others > 0).then(|| format!("{n_others} more adjustments are not listed"));
        listed.into_iter().chain(others).collect()
    }
}
