//! Filters a catalog: selected packages, channels and versions, with what they depend on.
//!
//! The result is a valid catalog. Edges of the upgrade graphs are never invented: entries that the
//! graph needs are kept instead, and each such adjustment is reported.

mod adjustment;
mod candidate;
mod choice;
mod closure;
mod image_set;
mod need;
mod plan;
mod planner;

pub use adjustment::MAX_ADJUSTMENTS;
pub use choice::{BadChoice, Channels, Choice, Versions};
pub use image_set::{Error as ImageSetError, ImageSet};
pub use need::Needs;
pub use plan::{Error, Plan};

#[cfg(test)]
mod tests;
