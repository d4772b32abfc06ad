//! What differs between two catalogs.
//!
//! ```
//! use unlade_catalog::{File, Limits, diff::{Snapshot, compare}};
//!
//! let snapshot = |channel: &str| {
//!     let text = format!("{{schema: olm.package, name: tea, defaultChannel: {channel}}}");
//!     let snapshot = std::cell::RefCell::new(Snapshot::default());
//!     File::read_each("catalog.yaml", text.as_bytes(), &Limits::default(), |meta, place| {
//!         snapshot.borrow_mut().add(&meta, place);
//!     });
//!     snapshot.into_inner()
//! };
//! let changes = compare(&snapshot("stable"), &snapshot("fast"))?;
//! assert_eq!(changes[0].subject.describe(), "default channel");
//! assert_eq!(changes[0].new.as_deref(), Some("fast"));
//! # Ok::<(), unlade_catalog::diff::SnapshotTooLarge>(())
//! ```

mod change;
mod content;
mod part;
mod snapshot;

use change::Changes;
pub use change::{Change, Subject};
pub use snapshot::{Snapshot, SnapshotTooLarge};

/// The maximum number of changes that are listed. A catalog of some megabytes can have millions.
pub const MAX_CHANGES: usize = 100_000;

/// The maximum size of the texts of the changes that are listed, in bytes. Each change repeats the
/// names of its package, channel and bundle. [`MAX_CHANGES`] changes with 160 bytes each fit.
pub const MAX_CHANGE_TEXT: usize = 16 << 20;

/// Returns the changes from `old` to `new`, by package: those of the package itself, of its
/// channels with their entries, of its bundles, of its deprecations, and of its other metas, each
/// sorted by name. If there are more than [`MAX_CHANGES`], or their texts are larger than
/// [`MAX_CHANGE_TEXT`], the last one is [`Subject::Others`], and its value is the number of the
/// others.
///
/// The parts of a package, a channel or a bundle that was added or removed are not listed, except
/// the channels, bundles, deprecations and other metas of a package.
///
/// # Errors
///
/// Returns an error if a snapshot is incomplete because it would be too large.
pub fn compare(old: &Snapshot, new: &Snapshot) -> Result<Vec<Change>, SnapshotTooLarge> {
    old.check_complete()?;
    new.check_complete()?;
    let mut changes = Changes::default();
    for (key, old, new) in part::pairs(old.parts(), new.parts()) {
        if old != new {
            part::compare(key, &old, &new, &mut changes);
        }
    }
    Ok(changes.into_vec())
}

#[cfg(test)]
mod tests;
