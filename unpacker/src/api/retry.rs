//! When to try again.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::Error;
use crate::log;

/// How long and how often to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    /// When to give up, counted from the beginning.
    pub(crate) deadline: Duration,
    /// How long 401 and 403 are taken for a Role that is just being created.
    pub(crate) permission: Duration,
    /// How long one answer may take, from connecting to its last byte.
    pub(crate) request: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            deadline: Duration::from_mins(2),
            permission: Duration::from_secs(10),
            request: Duration::from_secs(15),
        }
    }
}

/// The time; tests have their own.
pub(crate) trait Clock {
    /// The time since some fixed moment.
    fn now(&self) -> Duration;
    /// Waits.
    fn sleep(&self, time: Duration);
}

/// The machine's clock.
#[derive(Debug)]
pub(crate) struct SystemClock(Instant);

impl SystemClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The tries for one ConfigMap.
#[derive(Debug)]
pub(crate) struct Pace<'a, C> {
    policy: &'a Policy,
    clock: &'a C,
    /// Failed tries so far.
    tries: u32,
    /// When access was first denied since the last answer of another kind.
    denied: Option<Duration>,
    random: Random,
}

impl<'a, C: Clock> Pace<'a, C> {
    /// First wait; each further one may be twice as long.
    const FIRST: Duration = Duration::from_millis(200);
    /// Longest wait of our own choice.
    const LONGEST: Duration = Duration::from_secs(10);
    /// Longest wait for a Role: a short window needs frequent tries.
    const LONGEST_DENIED: Duration = Duration::from_secs(1);
    /// Longest wait that a server can ask for.
    const LONGEST_ASKED: Duration = Duration::from_secs(30);

    /// `clock` began with the run: the deadline of the policy is for all ConfigMaps together.
    pub(crate) fn new(policy: &'a Policy, clock: &'a C) -> Self {
        Self { policy, clock, tries: 0, denied: None, random: Random::default() }
    }

    /// How long the next answer may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.policy.request.min(self.left())
    }

    /// Waits after `error`, or gives it back if another try has no sense or no time is left.
    pub(crate) fn wait(&mut self, error: Error) -> Result<(), Error> {
        let Some(wait) = self.next_wait(&error) else { return Err(error) };
        self.tries += 1;
        log::line(
            "info",
            format_args!("{}; trying again in {:.1} s", log::chain(&error), wait.as_secs_f64()),
        );
        self.clock.sleep(wait);
        Ok(())
    }

    /// How long to wait after `error`; none if another try has no sense or no time is left.
    pub(crate) fn next_wait(&mut self, error: &Error) -> Option<Duration> {
        if !matches!(error, Error::Denied { .. }) {
            // A server that is starting denies access until it has read its Roles, so an earlier
            // denial does not count.
            self.denied = None;
        }
        let wait = match error {
            Error::Denied { .. } => {
                let now = self.clock.now();
                let since = now.saturating_sub(*self.denied.get_or_insert(now));
                let left =
                    self.policy.permission.checked_sub(since).filter(|left| !left.is_zero())?;
                self.backoff(Self::LONGEST_DENIED).min(left)
            }
            // Nobody has to wait for a conflict: the next try has the newest version. Only if
            // that does not help either, others write at the same pace.
            Error::Conflict { .. } if self.tries == 0 => Duration::ZERO,
            Error::Conflict { .. } => self.backoff(Self::LONGEST),
            Error::Unavailable { retry_after, .. } => {
                let asked = retry_after.unwrap_or_default().min(Self::LONGEST_ASKED);
                self.backoff(Self::LONGEST).max(asked)
            }
            Error::Connection(error) if error.is_temporary() => self.backoff(Self::LONGEST),
            _ => return None,
        };
        (wait < self.left()).then_some(wait)
    }

    fn left(&self) -> Duration {
        self.policy.deadline.saturating_sub(self.clock.now())
    }

    /// Exponential, with the upper half left to chance so that many pods do not come together.
    fn backoff(&self, longest: Duration) -> Duration {
        let whole = Self::FIRST.saturating_mul(1 << self.tries.min(16)).min(longest);
        whole.mul_f64(0.5 + self.random.next() / 2.0)
    }
}

/// Chance enough to spread tries.
#[derive(Debug, Default)]
struct Random {
    state: RandomState,
    n: Cell<u32>,
}

impl Random {
    /// A number from 0 to 1.
    fn next(&self) -> f64 {
        self.n.set(self.n.get().wrapping_add(1));
        let bits = self.state.hash_one(self.n.get());
        f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}
