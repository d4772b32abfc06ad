//! Limits the expansion of aliases, with the rule and the numbers of go-yaml v2.

use super::Error;

/// Counts the calls of `unmarshal` that Go would make.
#[derive(Debug, Default)]
pub(super) struct Count {
    all: u64,
    /// The calls within the expansion of an alias.
    aliased: u64,
}

/// Up to this number of calls, 99 % may come from aliases (`alias_ratio_range_low`).
const LOW: u64 = 400_000;
/// From this number of calls, 10 % may come from aliases (`alias_ratio_range_high`). Between both
/// numbers, the share falls linearly.
const HIGH: u64 = 4_000_000;

impl Count {
    /// Counts `all` more calls, `aliased` of them for aliases.
    ///
    /// Go checks after each call. During the calls of one alias, the share only rises and the limit
    /// only falls, so one check after them has the same result.
    pub(super) fn add(&mut self, all: u64, aliased: u64, line: u64) -> Result<(), Error> {
        self.all = self.all.saturating_add(all);
        self.aliased = self.aliased.saturating_add(aliased);
        // The document itself is a call, too.
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
