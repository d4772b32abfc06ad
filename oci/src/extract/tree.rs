//! [`Tree`]: the entries of a directory in the layers that were read so far.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use crate::path::{self, Path};

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    /// The directory of a whiteout, which engines create if it does not exist. In a complete layer,
    /// it is a directory.
    Parent,
    /// The file with this number.
    File(usize),
    /// A symbolic link to this target.
    Link(Vec<u8>),
    /// Something other than a directory, in place of a parent of the directory.
    Blocked,
}

impl Node {
    fn is_directory(&self) -> bool {
        matches!(self, Self::Directory | Self::Parent)
    }
}

/// The entries by their paths. Parent directories need not be among them.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The entries of the layers that are complete, without those that the current layer removes.
    lower: BTreeMap<Path, Node>,
    /// The entries of the current layer.
    upper: BTreeMap<Path, Node>,
    /// The paths that the current layer removes from those below it.
    hidden: BTreeSet<Path>,
}

impl Tree {
    /// Adds an entry of the current layer.
    ///
    /// # Errors
    ///
    /// Returns the problem of an entry that makes a directory of a path at which the layer removed
    /// or added something else. With overlayfs, the directory contains what lower layers have in
    /// it.
    pub(super) fn add(&mut self, path: &[u8], node: Node) -> Result<(), &'static str> {
        let is_directory = node.is_directory();
        let is_other = |before: &Node| is_directory && !before.is_directory();
        if is_directory && self.hidden.contains(path)
            || path::ancestors(path).any(|above| self.hidden.contains(above))
            || self.upper.get(path).is_some_and(is_other)
        {
            return Err("makes a directory of what its layer removes or adds");
        }
        if !is_directory {
            self.remove_beneath(path);
        }
        self.upper.insert(path.to_owned(), node);
        Ok(())
    }

    /// Checks whether the current layer has a directory at `path`.
    pub(super) fn has_directory(&self, path: &[u8]) -> bool {
        self.upper.get(path).is_some_and(Node::is_directory)
    }

    /// Removes `path`, and everything beneath it, from the layers below.
    ///
    /// # Errors
    ///
    /// Returns the problem of a whiteout of what its own layer adds: it removes nothing of it
    /// (image-spec, layer.md), but engines remove what comes before the whiteout.
    pub(super) fn hide(&mut self, path: &[u8]) -> Result<(), &'static str> {
        if self.upper.contains_key(path) || has_beneath(&self.upper, path) {
            return Err("removes what its own layer adds");
        }
        self.lower.remove(path);
        self.remove_beneath(path);
        self.hidden.insert(path.to_owned());
        Ok(())
    }

    /// Removes everything beneath `path` from the layers below.
    ///
    /// # Errors
    ///
    /// Returns the problem of a whiteout of the root, which overlayfs does not support. Also
    /// returns the problem of a whiteout after something that its own layer adds: some engines keep
    /// all of it, and others only what is in directories that have an entry before the whiteout.
    pub(super) fn hide_beneath(&mut self, path: &[u8]) -> Result<(), &'static str> {
        if path.is_empty() && !self.lower.is_empty() {
            return Err("removes everything from the root");
        }
        if has_beneath(&self.upper, path) {
            return Err("removes what its own layer adds");
        }
        self.remove_beneath(path);
        Ok(())
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
    /// Returns the path of something that is not a directory, but has something inside it.
    pub(super) fn finish_layer(&mut self) -> Result<(), Path> {
        self.hidden.clear();
        for (path, node) in mem::take(&mut self.upper) {
            let is_other =
                |above: &&[u8]| self.lower.get(*above).is_some_and(|node| *node != Node::Directory);
            // Parents come before their entries, so the parents in this layer are already added.
            let itself = (node == Node::Parent).then_some(path.as_slice());
            if let Some(above) = path::ancestors(&path).chain(itself).find(is_other) {
                return Err(above.to_owned());
            }
            let node = if node == Node::Parent { Node::Directory } else { node };
            self.lower.insert(path, node);
        }
        Ok(())
    }

    /// Returns the entry at `path`. A directory need not have an entry of its own.
    pub(super) fn node(&self, path: &[u8]) -> Option<&Node> {
        let is_directory = || has_beneath(&self.lower, path).then_some(&Node::Directory);
        self.lower.get(path).or_else(is_directory)
    }

    /// Returns all entries, sorted by path.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.lower.iter()
    }

    /// Removes everything beneath `path` from the layers that are complete.
    fn remove_beneath(&mut self, path: &[u8]) {
        let found: Vec<_> = beneath(&self.lower, path).cloned().collect();
        for path in found {
            self.lower.remove(&path);
        }
    }
}

/// Returns the paths of the entries beneath `path`.
fn beneath<'n>(nodes: &'n BTreeMap<Path, Node>, path: &[u8]) -> impl Iterator<Item = &'n Path> {
    let start = if path.is_empty() { Path::new() } else { path::join(path, b"") };
    let entries = nodes.range(start.clone()..).map(|(path, _)| path);
    entries.take_while(move |path| path.starts_with(&start))
}

fn has_beneath(nodes: &BTreeMap<Path, Node>, path: &[u8]) -> bool {
    beneath(nodes, path).next().is_some()
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
                tree.add(b"a/b", above.clone()).unwrap();
                if is_lower {
                    tree.finish_layer().unwrap();
                }
                tree.add(b"a/b/c/d", Node::File(1)).unwrap();
                assert_eq!(tree.finish_layer(), Err(b"a/b".to_vec()), "{above:?}");
            }
        }
    }

    #[test]
    fn a_whiteout_inside_a_link_or_a_file_is_refused() {
        for above in [link(), Node::File(0), Node::Blocked] {
            for parent in ["a/b", "a/b/c"] {
                let mut tree = Tree::default();
                tree.add(b"a/b", above.clone()).unwrap();
                tree.finish_layer().unwrap();
                tree.add(parent.as_bytes(), Node::Parent).unwrap();
                assert_eq!(tree.finish_layer(), Err(b"a/b".to_vec()), "{above:?}");
            }
            let mut tree = Tree::default();
            tree.add(b"a/b", above.clone()).unwrap();
            assert!(tree.add(b"a/b", Node::Parent).is_err());
        }
        let mut tree = Tree::default();
        tree.add(b"a/b", Node::Parent).unwrap();
        assert!(tree.hide(b"a/b").is_err());
        tree.add(b"a/b", Node::Directory).unwrap();
        tree.finish_layer().unwrap();
        assert_eq!(tree.node(b"a/b"), Some(&Node::Directory));
    }

    #[test]
    fn what_engines_read_differently_within_a_layer_is_refused() {
        let add = |tree: &mut Tree, path: &str, node| tree.add(path.as_bytes(), node);
        let lower = || {
            let mut tree = Tree::default();
            tree.add(b"a/b", Node::File(0)).unwrap();
            tree.add(b"a-b", Node::File(1)).unwrap();
            tree.finish_layer().unwrap();
            tree
        };
        let mut tree = lower();
        add(&mut tree, "a/c", Node::File(2)).unwrap();
        assert!(tree.hide(b"a").is_err());
        assert!(tree.hide(b"a/c").is_err());
        tree.hide(b"a-b").unwrap();
        assert!(tree.hide_beneath(b"a").is_err());
        tree.hide_beneath(b"b").unwrap();
        assert!(tree.hide_beneath(b"").is_err());

        let mut tree = lower();
        tree.hide(b"a").unwrap();
        assert!(add(&mut tree, "a", Node::Directory).is_err());
        assert!(add(&mut tree, "a/c", Node::File(2)).is_err());
        add(&mut tree, "a", Node::File(2)).unwrap();
        assert!(add(&mut tree, "a", Node::Directory).is_err());
        tree.finish_layer().unwrap();
        assert_eq!(tree.node(b"a"), Some(&Node::File(2)));
    }
}
