//! [`Outline`]: the parts of an object that a caller needs.

/// The parts of an object that [`Reader::read_outlined_file`](super::Reader::read_outlined_file)
/// keeps.
///
/// The fields `apiVersion` and `kind` are always kept. More than these parts may be kept.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Outline {
    /// The kinds of objects that are kept whole.
    pub whole: &'static [&'static str],
    /// The parts of all other objects.
    pub parts: &'static [Part],
}

/// A field of a mapping, or of each mapping in a sequence.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Part {
    /// The name of the field. The case of its letters matters.
    pub name: &'static str,
    /// The parts of its value. Empty if the whole value is kept.
    pub parts: &'static [Part],
}

impl Outline {
    /// Creates an outline with `parts`, in which objects of the kinds `whole` are kept whole.
    pub const fn new(whole: &'static [&'static str], parts: &'static [Part]) -> Self {
        Self { whole, parts }
    }
}

impl Part {
    /// Creates a part whose whole value is kept.
    pub const fn whole(name: &'static str) -> Self {
        Self { name, parts: &[] }
    }

    /// Creates a part of whose value only `parts` are kept.
    pub const fn with(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, parts }
    }
}
