//! [`Frame`]: the collections that contain the current line, and what is [kept](Keep) of them.

use super::nodes::Checked;
use super::scalar::Text;
use crate::Part;
use crate::json::Key;

/// What is kept of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep {
    All,
    /// These parts of a document, its `apiVersion` and its `kind`.
    Object(&'static [Part]),
    Parts(&'static [Part]),
    Nothing,
}

impl Keep {
    pub(super) fn is_nothing(self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Returns what is kept of the field `name`.
    pub(super) fn of_field(self, name: Text<'_>) -> Self {
        let parts = match self {
            Self::All | Self::Nothing => return self,
            Self::Object(_) if matches!(name.text(), "apiVersion" | "kind") => return Self::All,
            Self::Object(parts) | Self::Parts(parts) => parts,
        };
        match parts.iter().find(|part| part.name == name.text()) {
            None => Self::Nothing,
            Some(Part { parts: [], .. }) => Self::All,
            Some(Part { parts, .. }) => Self::Parts(parts),
        }
    }
}

/// An incomplete sequence or mapping.
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// The column of its dashes or keys, counted from 0.
    pub(super) column: usize,
    /// The index of its first child in `items` or `fields`.
    pub(super) from: usize,
    /// What is kept of it.
    pub(super) keep: Keep,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Mapping {
        /// The key whose value is not complete.
        pending: Option<Pending>,
    },
    Sequence {
        /// Whether there is a dash whose item is not complete.
        pending: bool,
    },
}

/// A key whose value is not complete.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub(super) key: Checked<Key>,
    /// What is kept of the value.
    pub(super) keep: Keep,
}

impl Frame {
    /// Returns what is kept of its next child.
    pub(super) fn keep_child(&self) -> Keep {
        match self.kind {
            Kind::Mapping { pending: Some(pending) } => pending.keep,
            _ => self.keep,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        match self.kind {
            Kind::Mapping { pending } => pending.is_some(),
            Kind::Sequence { pending } => pending,
        }
    }
}
