//! The faults of a registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The user and the password of a repository with the fault [`Answer::Private`].
pub const CREDENTIALS: (&str, &str) = ("testbed", "a password");

/// A fault of one repository in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The response to a request.
    pub answer: Answer,
    /// The number of requests after which the repository works again; `None` means never.
    pub times: Option<u32>,
}

/// The response of a faulty repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// This HTTP status, with the headers of a real registry: a challenge for 401, and
    /// `Retry-After` for 429.
    Status(u16),
    /// The real response if the request has the credentials [`CREDENTIALS`], and status 401
    /// otherwise.
    Private,
    /// No response; the connection stays open until the fault ends.
    Hang,
    /// The real response, at this number of bytes per second.
    Trickle(u32),
    /// The real response, truncated after this number of bytes, including the headers.
    Cut(u64),
}

impl Fault {
    /// Creates a permanent fault.
    pub fn always(answer: Answer) -> Self {
        Self { answer, times: None }
    }

    /// Creates a fault that affects only this number of requests.
    pub fn times(times: u32, answer: Answer) -> Self {
        Self { answer, times: Some(times) }
    }
}

/// The faults of all repositories, as the proxy reads them at each request.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Faults {
    /// The number of faults that were ever set, which is the number of the next one.
    n_set: u64,
    repositories: BTreeMap<String, Numbered>,
}

/// A fault with a number, which distinguishes it from an equal one that is set later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) fault: Fault,
}

impl Faults {
    /// Sets the fault of a repository, in place of an existing one. Returns the number of the
    /// fault.
    pub(super) fn set(&mut self, repository: &str, fault: Fault) -> u64 {
        let number = self.n_set;
        self.n_set += 1;
        self.repositories.insert(repository.to_owned(), Numbered { number, fault });
        number
    }

    /// Ends the fault of a repository if it is still the one with this number.
    pub(super) fn heal(&mut self, repository: &str, number: u64) {
        if self.get(repository).is_some_and(|fault| fault.number == number) {
            self.repositories.remove(repository);
        }
    }

    /// Returns the fault of a repository.
    pub(super) fn get(&self, repository: &str) -> Option<Numbered> {
        self.repositories.get(repository).copied()
    }
}
