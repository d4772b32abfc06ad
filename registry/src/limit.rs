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
/// The time without a byte after which a connection is given up.
pub const IDLE: Duration = Duration::from_secs(30);
/// The time for a whole response. A blob has more time, in proportion to its size ([`RATE`]).
pub const PATIENCE: Duration = Duration::from_mins(1);
/// The lowest speed of a blob, in bytes per second.
pub const RATE: u64 = 32 << 10;
/// The maximum number of attempts after the first one, for each request and for each blob.
pub const RETRIES: usize = 5;
/// The first pause before another attempt. Each further pause is twice as long.
pub const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause. If a registry asks for a longer one (`Retry-After`), the request fails.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The maximum time for one response.
pub const LONGEST: Duration = Duration::from_hours(1);

/// The time for a credential helper. It can ask the user for a password.
pub const HELPER: Duration = Duration::from_mins(1);
/// The maximum number of files in a directory with the certificates for a registry.
pub const CERTIFICATES: usize = 1_000;
/// The maximum number of files in a directory with rules for registries.
pub const RULES: usize = 1_000;
/// The maximum size of a file with credentials, certificates or rules, and of the output of a
/// credential helper, in bytes.
pub const FILE: u64 = 1 << 20;

/// The limits of a client. Each has a default and can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// The time without a byte after which a connection is given up ([`IDLE`]).
    pub idle: Duration,
    /// The time for a whole response ([`PATIENCE`]).
    pub patience: Duration,
    /// The lowest speed of a blob, in bytes per second ([`RATE`]).
    pub rate: u64,
    /// The maximum number of attempts after the first one ([`RETRIES`]).
    pub retries: usize,
    /// The first pause before another attempt ([`PAUSE`]).
    pub pause: Duration,
    /// The longest pause before another attempt ([`LONGEST_PAUSE`]).
    pub longest_pause: Duration,
    /// The maximum time for a response, however large the manifest says that it is ([`LONGEST`]).
    pub longest: Duration,
    /// The time for a credential helper ([`HELPER`]).
    pub helper: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle: IDLE,
            patience: PATIENCE,
            rate: RATE,
            retries: RETRIES,
            pause: PAUSE,
            longest_pause: LONGEST_PAUSE,
            longest: LONGEST,
            helper: HELPER,
        }
    }
}

impl Limits {
    /// Returns the time for an upload of `size` bytes. Unlike a download, an upload is not
    /// continued after a timeout, so it gets enough time to share the connection with [`TRANSFERS`]
    /// others.
    pub(crate) fn time_for_upload(&self, size: u64) -> Duration {
        self.time_for(size.saturating_mul(TRANSFERS as u64))
    }

    /// Returns the time for a response of `size` bytes.
    pub(crate) fn time_for(&self, size: u64) -> Duration {
        self.patience.saturating_add(Duration::from_secs(size / self.rate.max(1))).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_has_time_for_the_others_on_the_same_line() {
        let limits = Limits::default();
        let [own, all] = [limits.time_for(RATE * 10), limits.time_for_upload(RATE * 10)];
        assert_eq!(
            (own, all),
            (PATIENCE + Duration::from_secs(10), PATIENCE + Duration::from_mins(1))
        );
        assert_eq!(limits.time_for_upload(u64::MAX), LONGEST);
    }
}
