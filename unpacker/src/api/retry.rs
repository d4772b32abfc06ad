//! Decides whether and when a failed attempt is repeated.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::{Error, connect};
use crate::log;

/// The time limits of the attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    /// The maximum time of the whole run.
    pub(crate) deadline: Duration,
    /// How long to retry after 401 and 403, because the Role may not be in effect yet.
    pub(crate) permission: Duration,
    /// The maximum time of one request, from connecting to the last byte of the response.
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

/// A clock, which tests replace.
pub(crate) trait Clock {
    /// Returns the time since the start of the clock.
    fn now(&self) -> Duration;
    /// Waits for this time.
    fn sleep(&self, time: Duration);
}

/// The clock of the system.
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

/// The attempts to fill one ConfigMap.
#[derive(Debug)]
pub(crate) struct Pace<'a, C> {
    policy: &'a Policy,
    clock: &'a C,
    /// The number of failed attempts.
    tries: u32,
    /// When access was first denied since the last response of another kind.
    denied: Option<Duration>,
    /// The failure of the previous attempt.
    previous: Option<Error>,
    random: Random,
}

impl<'a, C: Clock> Pace<'a, C> {
    /// The first wait. Each further wait may be twice as long.
    const FIRST: Duration = Duration::from_millis(200);
    /// The maximum wait, unless the server requests a longer one.
    const MAX: Duration = Duration::from_secs(10);
    /// The maximum wait for a Role, which usually takes effect within a second.
    const MAX_DENIED: Duration = Duration::from_secs(1);
    /// The maximum wait that a server can request.
    const MAX_REQUESTED: Duration = Duration::from_secs(30);

    /// Creates the pace for one ConfigMap. `clock` started with the run, because the deadline of
    /// the policy applies to all ConfigMaps together.
    pub(crate) fn new(policy: &'a Policy, clock: &'a C) -> Self {
        let random = Random::default();
        Self { policy, clock, tries: 0, denied: None, previous: None, random }
    }

    /// Returns the maximum time of the next request. Fails if no time is left for the ConfigMap
    /// `name`.
    pub(crate) fn timeout(&self, name: &str) -> Result<Duration, Error> {
        let left = self.left();
        if left.is_zero() {
            return Err(Error::NoTime { name: name.to_owned() });
        }
        Ok(self.policy.request.min(left))
    }

    /// Waits after `error`, or returns it if another attempt is pointless or no time is left. If
    /// the deadline cut the last request short, returns the failure before it, because it is the
    /// reason why the time ran out.
    pub(crate) fn wait(&mut self, error: Error) -> Result<(), Error> {
        let Some(wait) = self.next_wait(&error) else {
            let is_cut_short = match &error {
                Error::Connection(connect::Error::Timeout { timeout, .. }) => {
                    *timeout < self.policy.request
                }
                Error::NoTime { .. } => true,
                _ => false,
            };
            return Err(self.previous.take().filter(|_| is_cut_short).unwrap_or(error));
        };
        self.tries += 1;
        log::line(
            "info",
            format_args!("{}; retrying in {:.1} s", unlade_text::chain(&error), wait.as_secs_f64()),
        );
        self.previous = Some(error);
        self.clock.sleep(wait);
        Ok(())
    }

    /// Returns how long to wait after `error`, or `None` if another attempt is pointless or no time
    /// is left.
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
                self.backoff(Self::MAX_DENIED).min(left)
            }
            // The next attempt reads the newest version, so the first conflict needs no wait. More
            // conflicts mean that another client writes at the same pace.
            Error::Conflict { .. } if self.tries == 0 => Duration::ZERO,
            Error::Conflict { .. } => self.backoff(Self::MAX),
            Error::Unavailable { retry_after, .. } => {
                let requested = retry_after.unwrap_or_default().min(Self::MAX_REQUESTED);
                self.backoff(Self::MAX).max(requested)
            }
            Error::Connection(error) if error.is_temporary() => self.backoff(Self::MAX),
            _ => return None,
        };
        (wait < self.left()).then_some(wait)
    }

    fn left(&self) -> Duration {
        self.policy.deadline.saturating_sub(self.clock.now())
    }

    /// Returns an exponential backoff. Its upper half is random, so that many pods do not send
    /// their requests at the same time.
    fn backoff(&self, max: Duration) -> Duration {
        let whole = Self::FIRST.saturating_mul(1 << self.tries.min(16)).min(max);
        whole.mul_f64(0.5 + self.random.next() / 2.0)
    }
}

/// A random number generator that is good enough to spread attempts.
#[derive(Debug, Default)]
struct Random {
    state: RandomState,
    n: Cell<u32>,
}

impl Random {
    /// Returns a number from 0 to 1.
    fn next(&self) -> f64 {
        self.n.set(self.n.get().wrapping_add(1));
        let bits = self.state.hash_one(self.n.get());
        f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}
