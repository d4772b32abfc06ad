//! The rules of a catalog.

pub(crate) mod bundle;
pub(crate) mod channel;
pub(crate) mod deprecation;
pub(crate) mod package;
mod property;
pub(crate) mod upgrade;
