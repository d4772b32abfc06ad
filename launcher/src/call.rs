//! Requests to the API server, which are retried for a limited time while it cannot serve them.
//! Only this module retries requests; the clients that we create do not.

pub(crate) mod backoff;
mod create;
mod page;
mod reply;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use self::backoff::Waits;
use crate::client::classify_request_error;
use crate::progress::report::{Report, Wait, later};
use crate::{Failure, Reason};

pub(crate) use self::create::create;
pub(crate) use self::page::{list_all, pages};
pub(crate) use self::reply::Reply;

/// The timeout of one request. An admission webhook may take half a minute, and a hanging server
/// never responds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);

/// How long a command other than a launch retries while the API server is unreachable or
/// overloaded. It is short because a user is waiting.
pub(crate) const PROMPT: Duration = Duration::from_secs(10);

/// How long a launch retries a request that it can do without.
pub(crate) const BRIEF: Duration = Duration::from_secs(10);

/// The minimum timeout of the last request.
const LEAST: Duration = Duration::from_secs(1);

/// The longest time that a server may ask us to wait. Kubernetes asks for one second if it is busy,
/// and for thirty if a feature is not ready yet.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);

/// How long a 401 or 403 is retried after an outage, or tolerated after a successful response. A
/// server that has just started responds before its caches of RBAC rules are filled.
pub(crate) const STARTING: Duration = Duration::from_secs(10);

/// Sends a request that is not part of a launch. It is retried for at most 10 seconds, and retries
/// are only logged. `doing` describes the request and completes "failed to" in messages.
pub(crate) async fn send<T, F>(doing: &str, request: impl Fn() -> F) -> Result<Reply<T>, Failure>
where
    F: Future<Output = kube::Result<T>>,
{
    let report = Report::unobserved();
    Retrier::new(&report, PROMPT).send(doing, request).await
}

/// Sends a request as [`send`] does. Any response other than a value is a failure.
pub(crate) async fn send_for_value<T, F>(doing: &str, request: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = kube::Result<T>>,
{
    send(doing, request).await?.expect_value(doing)
}

/// Retries requests until they get a response, or until a deadline.
pub(crate) struct Retrier<'r> {
    until: Instant,
    had_outage: AtomicBool,
    /// The wait of [`Retrier::wait`].
    wait: Wait<'r>,
}

impl<'r> Retrier<'r> {
    /// Returns a retrier whose deadline is this time from now.
    pub(crate) fn new(report: &'r Report<'r>, time: Duration) -> Self {
        Self {
            until: later(Instant::now(), time),
            had_outage: AtomicBool::new(false),
            wait: report.wait(),
        }
    }

    /// Sends a request. `doing` describes it and completes "failed to" in messages.
    pub(crate) async fn send<T, F>(
        &self,
        doing: &str,
        request: impl Fn() -> F,
    ) -> Result<Reply<T>, Failure>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let mut waits = backoff::REQUEST.waits();
        let mut first_denial = None;
        let wait = self.wait.another();
        loop {
            // A request does not outlive the deadline, but gets at least the minimum timeout.
            let now = Instant::now();
            let end = (now + REQUEST_TIMEOUT).min(self.until.max(now + LEAST));
            let (mut at_least, mut is_rejected) = (Duration::ZERO, false);
            let result = match timeout_at(end, request()).await {
                Ok(Ok(value)) => Ok(Reply::Done(value)),
                Ok(Err(error)) => Reply::from_error(&error).ok_or_else(|| {
                    at_least = retry_after(&error);
                    // The API server has not carried out the request.
                    is_rejected = matches!(&error, kube::Error::Api(status) if status.code == 429);
                    classify_request_error(&error, doing)
                }),
                Err(_) => Err(timed_out(doing, end.duration_since(now))),
            };
            let failure = match result {
                Ok(response) => {
                    wait.end();
                    return Ok(response);
                }
                Err(failure) => failure,
            };
            if failure.reason == Reason::ApiUnreachable && !is_rejected {
                self.had_outage.store(true, Ordering::Relaxed);
            }
            let is_starting = failure.reason == Reason::Forbidden
                && self.had_outage()
                && first_denial.get_or_insert_with(Instant::now).elapsed() < STARTING;
            if !failure.is_transient && !is_starting {
                return Err(failure);
            }
            self.pause(failure, waits.pause().max(at_least), &wait).await?;
        }
    }

    /// Checks whether a request got no response, so that the API server may have carried it out.
    pub(crate) fn had_outage(&self) -> bool {
        self.had_outage.load(Ordering::Relaxed)
    }

    /// Waits before the next try, or returns the failure if the deadline comes first.
    pub(crate) async fn wait(&self, failure: Failure, waits: &mut Waits) -> Result<(), Failure> {
        self.pause(failure, waits.pause(), &self.wait).await
    }

    async fn pause(&self, why: Failure, time: Duration, wait: &Wait<'_>) -> Result<(), Failure> {
        if Instant::now() + time >= self.until {
            return Err(why);
        }
        wait.on(why);
        sleep(time).await;
        Ok(())
    }
}

/// Returns how long the server asks the client to wait.
pub(crate) fn retry_after(error: &kube::Error) -> Duration {
    let kube::Error::Api(status) = error else { return Duration::ZERO };
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(seconds.into()).min(LONGEST_RETRY_AFTER)
}

/// Returns the failure of a request that got no response within this time.
fn timed_out(doing: &str, time: Duration) -> Failure {
    let seconds = time.as_secs();
    let message = format!("failed to {doing}: the API server did not respond within {seconds} s");
    Failure::new(Reason::ApiUnreachable, message)
}
