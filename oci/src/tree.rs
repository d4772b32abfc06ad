//! The stacked layers, as far as a bundle needs them.
//!
//! A base image holds a hundred thousand files; a bundle needs two directories of them. So the
//! tree is told which paths are wanted, and keeps these, what lies right in them, and the way to
//! them. A bundle's directories are flat (003.7): of what lies deeper only the inner directory is
//! kept, so that it can be named.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::path::{self, Path};

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(Rc<[u8]>),
    /// A file that is larger than a bundle may hold; an error only if no later layer removes it.
    Oversized,
    /// A symbolic link, with its target as written.
    Link(Vec<u8>),
    Special(&'static str),
    /// A hard link to a path that is not wanted yet.
    Pending,
}

/// How much the tree wants of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Interest<'a> {
    None,
    /// All that is there to know.
    Whole,
    /// Only that this directory above it exists.
    Above(&'a [u8]),
}

#[derive(Debug)]
struct Held {
    node: Node,
    /// The layer that it came with, or that added something beneath it.
    layer: usize,
}

/// What a [`Tree`] is to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Directories, with the files that lie right in them.
    pub(crate) directories: BTreeSet<Path>,
    /// Paths alone.
    pub(crate) paths: BTreeSet<Path>,
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    wanted: Wanted,
    /// All paths that are wanted, and the way to them.
    ways: BTreeSet<Path>,
    nodes: BTreeMap<Path, Held>,
    /// The directories that were emptied, with the layer that did so. A layer of a million
    /// whiteouts would else have all that it holds looked at a million times.
    emptied: BTreeMap<Path, usize>,
}

impl Tree {
    /// An empty tree that wants these.
    pub(crate) fn new(wanted: Wanted) -> Self {
        let paths = wanted.directories.iter().chain(&wanted.paths);
        let ways = paths.flat_map(|path| path::ancestors(path).chain([path.as_slice()]));
        let ways = ways.map(<[u8]>::to_owned).collect();
        Self { wanted, ways, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn interest<'a>(&self, path: &'a [u8]) -> Interest<'a> {
        if self.covers(path) {
            return Interest::Whole;
        }
        path::ancestors(path)
            .filter(|above| self.covers(above))
            .last()
            .map_or(Interest::None, Interest::Above)
    }

    /// Whether the tree knows what lies at `path`, if anything.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        self.ways.contains(path) || self.is_child(path)
    }

    /// Whether the tree keeps what lies in `directory`.
    pub(crate) fn wants(&self, directory: &[u8]) -> bool {
        self.wanted.directories.contains(directory)
    }

    fn is_child(&self, path: &[u8]) -> bool {
        path::parent(path).is_some_and(|parent| self.wants(parent))
    }

    /// The node at `path`; the root is always a directory.
    pub(crate) fn node(&self, path: &[u8]) -> Option<&Node> {
        if path.is_empty() {
            return Some(&Node::Directory);
        }
        self.nodes.get(path).map(|held| &held.node)
    }

    /// The names and nodes that lie right in `directory`, sorted by name.
    pub(crate) fn children<'a>(
        &'a self,
        directory: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a Node)> {
        self.beneath(directory)
            .filter(move |(path, _)| path::parent(path) == Some(directory))
            .map(|(path, held)| (path::name(path), &held.node))
    }

    /// Puts `node` at `path`, in place of what is there, unless both are directories.
    ///
    /// If something above it is no directory, its path is given back: engines disagree whether
    /// `node` then lies behind a link or replaces it.
    pub(crate) fn insert<'a>(
        &mut self,
        path: &'a [u8],
        node: Node,
        layer: usize,
    ) -> Result<(), &'a [u8]> {
        for above in path::ancestors(path) {
            let directory = || Held { node: Node::Directory, layer };
            let held = self.nodes.entry(above.to_owned()).or_insert_with(directory);
            if held.node != Node::Directory {
                return Err(above);
            }
            held.layer = layer;
        }
        if node != Node::Directory {
            self.remove_beneath(path, usize::MAX);
        }
        if !path.is_empty() {
            self.nodes.insert(path.to_owned(), Held { node, layer });
        }
        Ok(())
    }

    /// Removes `path`, and all beneath it, as far as it is of layers below `layer`: a whiteout
    /// hides nothing of its own layer (image-spec, layer.md).
    pub(crate) fn remove(&mut self, path: &[u8], layer: usize) {
        self.remove_beneath(path, layer);
        if self.nodes.get(path).is_some_and(|held| held.layer < layer) {
            self.nodes.remove(path);
        }
    }

    /// Removes what lies beneath `path`, as far as it is of layers below `layer`.
    pub(crate) fn remove_beneath(&mut self, path: &[u8], layer: usize) {
        if self.beneath(path).next().is_none() {
            return;
        }
        if layer != usize::MAX && self.emptied.insert(path.to_owned(), layer) == Some(layer) {
            return;
        }
        let removed: Vec<Path> = self
            .beneath(path)
            .filter(|(_, held)| held.layer < layer)
            .map(|(path, _)| path.clone())
            .collect();
        for path in removed {
            self.nodes.remove(&path);
        }
    }

    fn beneath<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = (&'a Path, &'a Held)> {
        self.nodes
            .range(path::join(path, b"")..)
            .take_while(move |(found, _)| path::is_beneath(found, path))
    }
}
