//! What can be wrong with a registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A fault of one repository in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What happens to a request.
    pub answer: Answer,
    /// After so many requests the repository is well again; `None`: never.
    pub times: Option<u32>,
}

/// What a faulty repository answers a request with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// This HTTP status, with what a real registry sends along: 401 asks for a login, 429 says
    /// when to come back.
    Status(u16),
    /// Nothing; the connection stays open until the fault ends.
    Hang,
    /// The real answer, at so many bytes a second.
    Trickle(u32),
    /// The real answer, cut off after so many bytes, headers included.
    Cut(u64),
}

impl Fault {
    /// A fault that stays.
    pub fn always(answer: Answer) -> Self {
        Self { answer, times: None }
    }

    /// A fault that only so many requests see.
    pub fn times(times: u32, answer: Answer) -> Self {
        Self { answer, times: Some(times) }
    }
}

/// The faults of all repositories, as the proxy reads them at each request.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Faults {
    /// How many were ever set: the number of the next one.
    n_set: u64,
    repositories: BTreeMap<String, Numbered>,
}

/// A fault that is told apart from an equal one that is set later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) fault: Fault,
}

impl Faults {
    /// Sets the fault of a repository in place of the one that it has; its number.
    pub(super) fn set(&mut self, repository: &str, fault: Fault) -> u64 {
        let number = self.n_set;
        self.n_set += 1;
        self.repositories.insert(repository.to_owned(), Numbered { number, fault });
        number
    }

    /// Ends the fault of a repository if it is still the one with this number.
    pub(super) fn heal(&mut self, repository: &str, number: u64) {
        if self.of(repository).is_some_and(|fault| fault.number == number) {
            self.repositories.remove(repository);
        }
    }

    /// The fault of a repository.
    pub(super) fn of(&self, repository: &str) -> Option<Numbered> {
        self.repositories.get(repository).copied()
    }
}
