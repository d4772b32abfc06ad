//! How much a document may make of aliases: go-yaml v2's rule, with its figures.

use super::Error;

/// How often Go would have called `unmarshal` so far.
#[derive(Debug, Default)]
pub(super) struct Count {
    all: u64,
    /// Those within the expansion of an alias.
    aliased: u64,
}

/// Up to here 99 % may come from aliases (`alias_ratio_range_low`).
const LOW: u64 = 400_000;
/// From here on 10 % (`alias_ratio_range_high`); the share falls evenly in between.
const HIGH: u64 = 4_000_000;

impl Count {
    /// Counts `all` more calls, `aliased` of them for aliases.
    ///
    /// Go checks after each single call. The calls of one alias only make the share rise and what
    /// is allowed fall, so one look at the end of them finds the same.
    pub(super) fn add(&mut self, all: u64, aliased: u64, line: u64) -> Result<(), Error> {
        self.all = self.all.saturating_add(all);
        self.aliased = self.aliased.saturating_add(aliased);
        // The document itself is a call as well.
        let calls = self.all.saturating_add(1);
        if self.aliased > 100 && calls > 1000 && share(self.aliased, calls) > allowed(calls) {
            return Err(Error::Aliasing { line });
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share, computed as Go does")]
fn share(aliased: u64, calls: u64) -> f64 {
    aliased as f64 / calls as f64
}

fn allowed(calls: u64) -> f64 {
    match calls {
        ..=LOW => 0.99,
        HIGH.. => 0.10,
        calls => 0.99 - 0.89 * share(calls - LOW, HIGH - LOW),
    }
}
