//! The pauses between the attempts of a request.

use std::thread;
use std::time::Duration;

use ureq::http::{HeaderMap, StatusCode, header::RETRY_AFTER};

use crate::Limits;

/// The remaining attempts of a request or of a blob.
#[derive(Debug)]
pub(crate) struct Retry {
    left: usize,
    next: Duration,
    longest: Duration,
}

impl Retry {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { left: limits.retries, next: limits.pause, longest: limits.longest_pause }
    }

    /// Waits before another attempt, at least as long as the registry `requested`. Returns whether
    /// another attempt is allowed.
    pub(crate) fn pause(&mut self, requested: Option<Duration>) -> bool {
        let requested = requested.unwrap_or_default();
        if self.left == 0 || requested > self.longest {
            return false;
        }
        self.left -= 1;
        let pause = self.next.min(self.longest);
        self.next = pause.saturating_mul(2);
        // Half of each pause is random, so that many clients do not return at the same time.
        thread::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0).max(requested));
        true
    }
}

/// Checks whether another attempt can have another result.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// Returns the pause that a registry asks for, if it does so in seconds. Registries do not use the
/// other form, which is a date.
pub(crate) fn requested_pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
