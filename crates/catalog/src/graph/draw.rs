//! [`DrawError`]: why graphs are not drawn.

use unlade_text::excerpt;

/// The reason why the graphs cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// [`Selection::minimum`](super::Selection::minimum) is not the name of a bundle.
    #[error("the catalog does not contain the bundle {}", excerpt::shorten(.0))]
    UnknownMinimum(String),
    /// Ranges of versions stand for too many edges.
    #[error("the graphs have more than {limit} edges")]
    Edges {
        /// The maximum number of edges.
        limit: usize,
    },
    /// The names and the ranges in the graphs are too long.
    #[error("the text of the graphs is larger than {limit} bytes")]
    Text {
        /// The maximum size of the text, in bytes.
        limit: usize,
    },
    /// There are too many versions to compare with ranges.
    #[error("comparing the versions with the ranges needs more than {limit} units of work")]
    Work {
        /// The maximum work, in units.
        limit: usize,
    },
}
