//! Waits for a condition, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// The interval at which a condition that cannot be watched is checked.
const INTERVAL: Duration = Duration::from_millis(20);

/// Calls `ask` until it returns a value.
///
/// # Errors
///
/// Returns [`Error::Deadline`] with `what` if the deadline passes, and the first error of `ask`.
pub(crate) fn wait_for<T>(
    what: &str,
    deadline: Duration,
    mut ask: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let end = Instant::now() + deadline;
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if Instant::now() >= end {
            return Err(Error::Deadline { what: what.to_owned(), seconds: deadline.as_secs() });
        }
        thread::sleep(INTERVAL);
    }
}
