//! Limits for everything that comes from a registry.

use std::time::Duration;

use unlade_oci::limit::TRANSFERS;

/// The maximum size of a response that is neither a document nor a blob, in bytes: tokens and error
/// messages.
pub const RESPONSE: u64 = 1 << 20;
/// The maximum size of the headers of a response, in bytes. Those of large registries have about
/// 4 kB.
pub const HEADERS: usize = 64 << 10;
/// The maximum number of redirects that one request follows. Registries use one or two.
pub const REDIRECTS: usize = 5;
/// The maximum number of files in a directory with rules for registries, or with the certificates
/// for one.
pub const FILES: usize = 1_000;
/// The maximum size of a file with credentials, certificates or rules, and of the output of a
/// credential helper, in bytes.
pub const FILE: u64 = 1 << 20;

/// The limits of a client. Each has a default and can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// The time without a byte after which a connection is given up.
    pub idle: Duration,
    /// The time for a whole response. A blob has more time, in proportion to its size
    /// ([`rate`](Self::rate)), and so has the response to an upload.
    pub patience: Duration,
    /// The lowest speed of a blob, in bytes per second.
    pub rate: u64,
    /// The maximum number of attempts after the first one, for each request and for each blob. An
    /// upload is not repeated.
    pub retries: usize,
    /// The first pause before another attempt. Each further pause is twice as long.
    pub pause: Duration,
    /// The longest pause. If a registry asks for a longer one (`Retry-After`), the request fails.
    pub longest_pause: Duration,
    /// The maximum time for a response, however large the manifest says that the blob is. It does
    /// not apply to sending a blob.
    pub longest: Duration,
    /// The time for a credential helper. It can ask the user for a password.
    pub helper: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            patience: Duration::from_mins(1),
            rate: 32 << 10,
            retries: 5,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            longest: Duration::from_hours(1),
            helper: Duration::from_mins(1),
        }
    }
}

impl Limits {
    /// Returns the time for an upload of `size` bytes. Unlike a download, an upload is not
    /// continued after a timeout, so it gets enough time to share the connection with [`TRANSFERS`]
    /// others, and [`longest`](Self::longest) does not apply. One that stops ends earlier
    /// ([`idle`](Self::idle)).
    pub(crate) fn time_for_upload(&self, size: u64) -> Duration {
        self.time_at_rate(size.saturating_mul(TRANSFERS as u64))
    }

    /// Returns the time for a response of `size` bytes, or to `size` bytes.
    pub(crate) fn time_for(&self, size: u64) -> Duration {
        self.time_at_rate(size).min(self.longest)
    }

    fn time_at_rate(&self, size: u64) -> Duration {
        // No instant is more than some hundred years away.
        let seconds = (size / self.rate.max(1)).min(u32::MAX.into());
        self.patience.saturating_add(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn an_upload_has_time_for_the_others_on_the_same_line() {
        let limits = Limits::default();
        let Limits { patience, rate, longest, .. } = limits;
        assert_eq!(limits.time_for(rate * 10), patience + Duration::from_secs(10));
        assert_eq!(limits.time_for_upload(rate * 10), patience + Duration::from_mins(1));
        assert_eq!(limits.time_for(u64::MAX), longest);
    }

    #[test]
    fn an_upload_that_makes_progress_has_no_longest_time() {
        let limits = Limits::default();
        let gibibyte = limits.time_for_upload(1 << 30);
        assert_eq!(gibibyte, limits.patience + Duration::from_secs((6 << 30) / limits.rate));
        assert!(gibibyte > limits.longest);
        let slowest = Limits { rate: 1, ..limits };
        let now = Instant::now();
        assert!(now.checked_add(slowest.time_for_upload(u64::MAX)).is_some());
    }
}
