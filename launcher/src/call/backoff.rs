//! The pauses before retries. Each is twice as long as the one before, up to a cap. Jitter prevents
//! many launchers from retrying at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use kube::runtime::utils::Backoff;

/// The pace of requests and watches. An outage of the API server usually lasts seconds.
pub(crate) const REQUEST: Pace =
    Pace { first: Duration::from_millis(100), longest: Duration::from_secs(2) };
/// The pace of attempts, each of which creates a Job and a pod.
pub(crate) const ATTEMPT: Pace =
    Pace { first: Duration::from_secs(1), longest: Duration::from_secs(30) };

/// The first and the longest pause. With jitter, a pause is between half of its length and all of
/// it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    first: Duration,
    longest: Duration,
}

/// An infinite sequence of pauses.
#[derive(Debug)]
pub(crate) struct Waits {
    pace: Pace,
    times: backon::ExponentialBackoff,
    floor: Floor,
}

/// The minimum of the next pause, which the server requested. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Floor(Arc<AtomicU64>);

impl Floor {
    /// Sets the minimum in whole seconds, the unit of `Retry-After`.
    pub(crate) fn set(&self, time: Duration) {
        self.0.store(time.as_secs(), Ordering::Relaxed);
    }

    fn take(&self) -> Duration {
        Duration::from_secs(self.0.swap(0, Ordering::Relaxed))
    }
}

impl Pace {
    /// Returns the pauses from the beginning.
    pub(crate) fn waits(self) -> Waits {
        // Half of each pause is jitter, because backon adds up to the length of the given delay.
        let exponential = ExponentialBuilder::new()
            .with_min_delay(self.first / 2)
            .with_max_delay(self.longest / 2)
            .with_factor(2.0)
            .without_max_times()
            .with_jitter();
        Waits { pace: self, times: exponential.build(), floor: Floor::default() }
    }
}

impl Waits {
    /// Returns the next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        self.times.next().unwrap_or(self.pace.longest).max(self.floor.take())
    }

    /// Returns the floor of the next pause.
    pub(crate) fn floor(&self) -> Floor {
        self.floor.clone()
    }
}

impl Iterator for Waits {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.pause())
    }
}

impl Backoff for Waits {
    fn reset(&mut self) {
        self.times = self.pace.waits().times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_the_cap_with_jitter() {
        for pace in [REQUEST, ATTEMPT] {
            for _ in 0..100 {
                let mut undisturbed = pace.first;
                for wait in pace.waits().take(20) {
                    assert!(wait >= undisturbed / 2 && wait <= undisturbed, "{wait:?}");
                    undisturbed = (undisturbed * 2).min(pace.longest);
                }
            }
        }
        let firsts: Vec<_> = (0..20).map(|_| ATTEMPT.waits().pause()).collect();
        assert!(firsts.iter().any(|first| *first != firsts[0]), "no jitter: {firsts:?}");
    }

    #[test]
    fn a_wait_is_as_long_as_the_server_asks_for_once() {
        let mut waits = REQUEST.waits();
        waits.floor().set(Duration::from_secs(7));
        waits.reset();
        assert_eq!(waits.pause(), Duration::from_secs(7));
        assert!(waits.pause() <= REQUEST.longest);
    }

    #[test]
    fn success_starts_over() {
        let mut waits = ATTEMPT.waits();
        waits.by_ref().take(10).for_each(drop);
        waits.reset();
        assert!(waits.pause() <= ATTEMPT.first);
    }
}
