//! Waiting for something to become true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// How often a condition that can't be watched is looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// Asks until there is an answer.
///
/// # Errors
///
/// [`Error::Deadline`] naming `what` when there is none in time, or the first error of `ask`.
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
