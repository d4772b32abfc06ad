//! Requests that happen at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Counts what happens at the same time.
#[derive(Default)]
pub(crate) struct Crowd {
    /// The number now, and the largest number so far.
    count: Mutex<(usize, usize)>,
    changed: Condvar,
    is_over: AtomicBool,
}

impl Crowd {
    /// Returns when `size` callers have been here at the same time, or after 20 seconds. Then
    /// nobody waits any more.
    pub(crate) fn meet(&self, size: usize) {
        let mut count = self.count.lock().unwrap();
        count.0 += 1;
        count.1 = count.1.max(count.0);
        self.changed.notify_all();
        let few = |(_, most): &mut (usize, usize)| *most < size;
        let wait = if self.is_over.load(Ordering::SeqCst) { 0 } else { 20 };
        let wait = Duration::from_secs(wait);
        let (mut count, waited) = self.changed.wait_timeout_while(count, wait, few).unwrap();
        self.is_over.fetch_or(waited.timed_out(), Ordering::SeqCst);
        count.0 -= 1;
    }

    pub(crate) fn most(&self) -> usize {
        self.count.lock().unwrap().1
    }
}
