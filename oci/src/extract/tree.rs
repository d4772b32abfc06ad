//! [`Tree`]: the entries of a directory in the layers that were read so far.

use std::collections::BTreeMap;
use std::mem;

use crate::path::{self, Path};

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    /// The file with this number.
    File(usize),
    /// A symbolic link to this target.
    Link(Vec<u8>),
    /// Something other than a directory, in place of a parent of the directory.
    Blocked,
}

/// The entries by their paths. Parent directories need not be among them.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The entries of the layers that are complete.
    lower: BTreeMap<Path, Node>,
    /// The entries of the current layer.
    upper: BTreeMap<Path, Node>,
    /// The paths that the current layer removes from those below it. A whiteout never removes an
    /// entry of its own layer (image-spec, layer.md).
    hidden: Vec<Path>,
    hidden_beneath: Vec<Path>,
}

impl Tree {
    /// Adds an entry of the current layer.
    pub(super) fn add(&mut self, path: Path, node: Node) {
        self.upper.insert(path, node);
    }

    /// Removes `path`, and everything beneath it, from the layers below.
    pub(super) fn hide(&mut self, path: Path) {
        self.hidden.push(path);
    }

    /// Removes everything beneath `path` from the layers below.
    pub(super) fn hide_beneath(&mut self, path: Path) {
        self.hidden_beneath.push(path);
    }

    /// Returns the file at `path`, for a hard link in the current layer.
    pub(super) fn file(&self, path: &[u8]) -> Option<Node> {
        let node = self.upper.get(path).or_else(|| self.lower.get(path));
        node.filter(|node| matches!(node, Node::File(_))).cloned()
    }

    /// Applies the current layer to those below it.
    ///
    /// # Errors
    ///
    /// Returns the path of an entry inside something that is not a directory.
    pub(super) fn finish_layer(&mut self) -> Result<(), Path> {
        for path in mem::take(&mut self.hidden) {
            self.lower.remove(&path);
            self.remove_beneath(&path);
        }
        for path in mem::take(&mut self.hidden_beneath) {
            self.remove_beneath(&path);
        }
        for (path, node) in mem::take(&mut self.upper) {
            if node != Node::Directory {
                self.remove_beneath(&path);
            }
            // Parents come before their entries, so the parents in this layer are already added.
            let above = path::ancestors(&path).filter_map(|above| self.lower.get(above));
            if above.into_iter().any(|node| *node != Node::Directory) {
                return Err(path);
            }
            self.lower.insert(path, node);
        }
        Ok(())
    }

    /// Returns the entry at `path`. A directory need not have an entry of its own.
    pub(super) fn node(&self, path: &[u8]) -> Option<&Node> {
        let has_entries = || self.beneath(path).next().is_some().then_some(&Node::Directory);
        self.lower.get(path).or_else(has_entries)
    }

    /// Returns all entries, sorted by path.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.lower.iter()
    }

    fn beneath(&self, path: &[u8]) -> impl Iterator<Item = &Path> {
        let start = start_of(path);
        let entries = self.lower.range(start.clone()..).map(|(path, _)| path);
        entries.take_while(move |path| path.starts_with(&start))
    }

    fn remove_beneath(&mut self, path: &[u8]) {
        let found: Vec<_> = self.beneath(path).cloned().collect();
        for path in found {
            self.lower.remove(&path);
        }
    }
}

/// Returns the common beginning of the paths beneath `path`.
fn start_of(path: &[u8]) -> Path {
    if path.is_empty() { Path::new() } else { path::join(path, b"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Node {
        Node::Link(b"/etc".to_vec())
    }

    #[test]
    fn an_entry_inside_a_link_or_a_file_is_refused() {
        for above in [link(), Node::File(0)] {
            // Of a lower layer, and of the same one.
            for is_lower in [true, false] {
                let mut tree = Tree::default();
                tree.add(b"a/b".to_vec(), above.clone());
                if is_lower {
                    tree.finish_layer().unwrap();
                }
                tree.add(b"a/b/c/d".to_vec(), Node::File(1));
                assert_eq!(tree.finish_layer(), Err(b"a/b/c/d".to_vec()), "{above:?}");
            }
        }
    }

    #[test]
    fn a_whiteout_does_not_hide_its_own_layer() {
        let mut tree = Tree::default();
        tree.add(b"a/b".to_vec(), Node::File(0));
        tree.add(b"a-b".to_vec(), Node::File(1));
        tree.finish_layer().unwrap();
        tree.add(b"a/c".to_vec(), Node::File(2));
        tree.hide(b"a".to_vec());
        tree.finish_layer().unwrap();
        let paths: Vec<_> = tree.nodes().map(|(path, _)| path.as_slice()).collect();
        assert_eq!(paths, [&b"a-b"[..], b"a/c"]);
        assert_eq!(tree.node(b"a"), Some(&Node::Directory));
        assert_eq!(tree.node(b"b"), None);
    }
}
