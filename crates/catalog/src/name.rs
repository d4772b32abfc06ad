//! [`Names`]: a list of names with little memory for each.

use std::{cmp::Ordering, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};

/// A list of names, such as those of the bundles that an entry skips.
///
/// The names are in one text, because a catalog of 10 MiB can have a million names with a few bytes
/// each, and a [`String`] for each of them would need about 50 bytes.
///
/// ```
/// use unlade_catalog::Names;
///
/// let mut names: Names = ["tea.v1", "tea.v2"].into_iter().collect();
/// names.push("tea.v3");
/// assert_eq!(names.len(), 3);
/// assert_eq!(names.iter().collect::<Vec<_>>(), ["tea.v1", "tea.v2", "tea.v3"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// The end of each name in the text.
    ends: Vec<usize>,
}

impl Names {
    /// Appends a name.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Checks whether the list has no names.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the memory of the names, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.text.len() + size_of_val(self.ends.as_slice())
    }

    /// Returns a name by its index.
    pub(crate) fn get(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(Some(&0), |index| self.ends.get(index))?;
        self.text.get(*start..*self.ends.get(index)?)
    }

    /// Returns the names in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the names in their order, with `separator` between them.
    pub fn join(&self, separator: &str) -> String {
        self.iter().collect::<Vec<_>>().join(separator)
    }

    fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<N: AsRef<str>> FromIterator<N> for Names {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let mut list = Self::default();
        names.into_iter().for_each(|name| list.push(name.as_ref()));
        list.shrink();
        list
    }
}

impl PartialOrd for Names {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Names {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Reader)
    }
}

/// Reads one name after another.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Names;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        let mut names = Names::default();
        while let Some(name) = list.next_element::<String>()? {
            names.push(&name);
        }
        names.shrink();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_and_read_as_a_list() {
        for json in ["[]", r#"["a","","b c"]"#] {
            let names: Names = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&names).unwrap(), json);
        }
    }

    #[test]
    fn names_are_ordered_as_a_list_of_texts() {
        let names = |list: &[&str]| list.iter().collect::<Names>();
        assert!(names(&["a", "c"]) < names(&["ab"]));
    }
}
