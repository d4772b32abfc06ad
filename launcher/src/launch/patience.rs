//! Requests to the API server, which are retried for a limited time while it cannot serve them.
//! Only this module retries requests; the clients that we create do not.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::channel::mpsc::unbounded;
use tokio::time::{Instant, sleep, timeout_at};

use super::backoff::{self, Waits};
use super::report::{Report, Wait, later};
use crate::{Failure, Reason, failure};

#[cfg(test)]
mod tests;

/// How long one answer may take. A server that hangs answers never; an admission webhook may take
/// half a minute.
const ANSWER: Duration = Duration::from_secs(35);

/// How long a command other than a launch waits for an API server that is out of reach or busy.
/// Someone waits for the prompt.
pub(super) const PROMPT: Duration = Duration::from_secs(10);

/// How long the last answer may take at the least.
const LEAST: Duration = Duration::from_secs(1);

/// The longest time that a server may ask us to wait. Kubernetes asks for one second if it is busy,
/// and for thirty if a feature is not ready yet.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);

/// How long a 401 or 403 may come from a server that has just started: its caches of rules come
/// after its socket.
const STARTING: Duration = Duration::from_secs(10);

/// What the API server made of a request.
#[derive(Debug)]
pub(crate) enum Answer<T> {
    /// It did it.
    Done(T),
    /// An object of this name is there.
    Exists,
    /// The object isn't there.
    Missing,
    /// The object has changed since it was read.
    Changed,
}

impl<T> Answer<T> {
    /// The value, where there is one.
    pub(crate) fn done(self) -> Option<T> {
        match self {
            Self::Done(value) => Some(value),
            _ => None,
        }
    }

    /// The value, where nothing else makes sense.
    pub(crate) fn expected(self, doing: &str) -> Result<T, Failure> {
        let words = match self {
            Self::Done(value) => return Ok(value),
            Self::Exists => "it is there",
            Self::Missing => "it isn't there",
            Self::Changed => "it has changed",
        };
        Err(Failure::new(
            Reason::ApiRefused,
            format!("cannot {doing}: the API server says that {words}"),
        ))
    }
}

/// Makes a request that is not part of a launch: it is retried for at most 10 seconds, and nobody
/// but the log learns about it. `doing` completes "failed to" for people.
pub(crate) async fn ask<T, F>(doing: &str, request: impl Fn() -> F) -> Result<Answer<T>, Failure>
where
    F: Future<Output = kube::Result<T>>,
{
    let report = Report::start(unbounded().0);
    Patience::of(&report, PROMPT).ask(doing, request).await
}

/// The same, where anything but a value is a failure.
pub(crate) async fn ask_for<T, F>(doing: &str, request: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = kube::Result<T>>,
{
    ask(doing, request).await?.expected(doing)
}

/// Asks until it is answered, or `until`.
#[derive(Debug)]
pub(super) struct Patience<'r> {
    until: Instant,
    had_outage: AtomicBool,
    /// What [`Patience::wait`] waits for.
    wait: Wait<'r>,
}

impl<'r> Patience<'r> {
    /// For this long, from now on.
    pub(super) fn of(report: &'r Report, time: Duration) -> Self {
        Self {
            until: later(Instant::now(), time),
            had_outage: AtomicBool::new(false),
            wait: report.wait(),
        }
    }

    /// Makes a request; `doing` completes "failed to" for people.
    pub(super) async fn ask<T, F>(
        &self,
        doing: &str,
        request: impl Fn() -> F,
    ) -> Result<Answer<T>, Failure>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let mut waits = backoff::REQUEST.waits();
        let mut first_denial = None;
        let wait = self.wait.another();
        loop {
            // Someone who has little patience isn't kept for longer.
            let now = Instant::now();
            let end = (now + ANSWER).min(self.until.max(now + LEAST));
            let mut at_least = Duration::ZERO;
            let answered = match timeout_at(end, request()).await {
                Ok(Ok(value)) => Ok(Answer::Done(value)),
                Ok(Err(error)) => answer(&error).ok_or_else(|| {
                    at_least = retry_after(&error);
                    failure::of_api(&error, doing)
                }),
                Err(_) => Err(unanswered(doing, end.duration_since(now))),
            };
            let failure = match answered {
                Ok(answer) => {
                    wait.end();
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            if failure.reason == Reason::ApiUnreachable {
                self.had_outage.store(true, Ordering::Relaxed);
            }
            let is_starting = failure.reason == Reason::Forbidden
                && self.had_outage.load(Ordering::Relaxed)
                && first_denial.get_or_insert_with(Instant::now).elapsed() < STARTING;
            if !failure.is_transient && !is_starting {
                return Err(failure);
            }
            self.pause(failure, waits.pause().max(at_least), &wait).await?;
        }
    }

    /// Waits for the next try, if there is time for one.
    pub(super) async fn wait(&self, failure: Failure, waits: &mut Waits) -> Result<(), Failure> {
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

/// How long the server asks us to wait.
pub(super) fn retry_after(error: &kube::Error) -> Duration {
    let kube::Error::Api(status) = error else { return Duration::ZERO };
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(seconds.into()).min(LONGEST_RETRY_AFTER)
}

/// The answers that aren't failures.
fn answer<T>(error: &kube::Error) -> Option<Answer<T>> {
    let kube::Error::Api(status) = error else { return None };
    let is_of_namespace =
        status.details.as_ref().is_some_and(|details| details.kind == "namespaces");
    if status.is_already_exists() {
        Some(Answer::Exists)
    } else if status.is_conflict() && !status.message.contains("resourcequotas \"") {
        // A quota's usage that others changed at the same time is tried again as it is.
        Some(Answer::Changed)
    } else if status.code == 404 && !is_of_namespace {
        // Of a kind that the API server does not know, the answer is plain text without a reason.
        Some(Answer::Missing)
    } else {
        None
    }
}

/// That there was no answer within this time.
fn unanswered(doing: &str, time: Duration) -> Failure {
    let seconds = time.as_secs();
    let message = format!("cannot {doing}: the API server didn't answer within {seconds} s");
    Failure::new(Reason::ApiUnreachable, message)
}
