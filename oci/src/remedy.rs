//! [`Remedy`]: a change to a request that may help.

use std::fmt;

/// What to change so that an image can be read. The caller decides how to express it on its command
/// line; [`Display`](fmt::Display) describes the change. Variants are added but never removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Another platform.
    Platform,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Platform => "choose a platform that the image has",
        })
    }
}
