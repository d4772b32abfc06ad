//! What can be wrong with a registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The faults of all repositories, as the proxy reads them at each request.
pub(super) type Faults = BTreeMap<String, Fault>;

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
    /// Nothing; the connection stays open.
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
