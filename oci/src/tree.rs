//! The stacked layers, as far as a bundle needs them.
//!
//! A base image holds a hundred thousand files; a bundle needs two directories of them. So the
//! tree is told which paths are wanted, and keeps these, what lies right in them, and the way to
//! them. A bundle's directories are flat (003.7): of what lies deeper only the inner directory is
//! kept, so that it can be named.
//!
//! Names are kept once, part by part, so whatever is asked of a path costs as much as it is long.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::path::{self, Path};

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(Rc<Vec<u8>>),
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

/// What a [`Tree`] is to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Directories, with the files that lie right in them.
    pub(crate) directories: BTreeSet<Path>,
    /// Paths alone.
    pub(crate) paths: BTreeSet<Path>,
}

#[derive(Debug)]
pub(crate) struct Tree {
    root: Place,
    /// How many nodes it has.
    len: usize,
}

#[derive(Debug)]
struct Place {
    /// Whether it is wanted, or on the way to what is.
    is_way: bool,
    /// Whether what lies right in it is wanted.
    is_directory_wanted: bool,
    held: Option<Held>,
    /// No node beneath is of a layer below this one. A layer of a million whiteouts would else
    /// have all that lies there looked at a million times.
    oldest: usize,
    children: BTreeMap<Vec<u8>, Place>,
}

#[derive(Debug)]
struct Held {
    node: Node,
    /// The layer that it came with, or that added something beneath it.
    layer: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            is_way: false,
            is_directory_wanted: false,
            held: None,
            oldest: usize::MAX,
            children: BTreeMap::new(),
        }
    }
}

impl Place {
    fn child(&mut self, name: &[u8]) -> &mut Self {
        self.children.entry(name.to_owned()).or_default()
    }

    /// Removes what is of layers below `layer`, here and beneath; how much that was.
    fn clear(&mut self, layer: usize) -> usize {
        let removed = self.clear_beneath(layer);
        let is_old = self.held.as_ref().is_some_and(|held| held.layer < layer);
        if is_old {
            self.held = None;
        }
        removed + usize::from(is_old)
    }

    fn clear_beneath(&mut self, layer: usize) -> usize {
        if self.oldest >= layer {
            return 0;
        }
        let removed = self.children.values_mut().map(|child| child.clear(layer)).sum();
        self.children
            .retain(|_, child| child.is_way || child.held.is_some() || !child.children.is_empty());
        let layers = self.children.values().map(|child| {
            child.held.as_ref().map_or(usize::MAX, |held| held.layer).min(child.oldest)
        });
        self.oldest = layers.min().unwrap_or(usize::MAX);
        removed
    }
}

impl Tree {
    /// An empty tree that wants these.
    pub(crate) fn new(wanted: &Wanted) -> Self {
        let mut root = Place { is_way: true, ..Place::default() };
        for path in wanted.directories.iter().chain(&wanted.paths) {
            let mut place = &mut root;
            for part in path::parts(path) {
                place = place.child(part);
                place.is_way = true;
            }
            place.is_directory_wanted |= wanted.directories.contains(path);
        }
        Self { root, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn interest<'a>(&self, path: &'a [u8]) -> Interest<'a> {
        let mut place = Some(&self.root);
        // The last directory above that is wanted, or on the way.
        let mut above = Interest::None;
        for (part, upto) in path::parts(path).zip(path::ancestors(path).map(Some).chain([None])) {
            // Beneath what is not a way itself, nothing is wanted.
            let Some(here) = place else { return above };
            let child = here.children.get(part).filter(|child| child.is_way);
            if child.is_none() && !here.is_directory_wanted {
                return above;
            }
            match upto {
                Some(upto) => above = Interest::Above(upto),
                None => return Interest::Whole,
            }
            place = child;
        }
        above
    }

    /// Whether the tree knows what lies at `path`, if anything.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        path.is_empty() || self.interest(path) == Interest::Whole
    }

    /// Whether the tree keeps what lies in `directory`.
    pub(crate) fn wants(&self, directory: &[u8]) -> bool {
        self.place(directory).is_some_and(|place| place.is_directory_wanted)
    }

    /// The node at `path`; the root is always a directory.
    pub(crate) fn node(&self, path: &[u8]) -> Option<&Node> {
        if path.is_empty() {
            return Some(&Node::Directory);
        }
        self.place(path)?.held.as_ref().map(|held| &held.node)
    }

    /// The names and nodes that lie right in `directory`, sorted by name.
    pub(crate) fn children(&self, directory: &[u8]) -> impl Iterator<Item = (&[u8], &Node)> {
        let children = self.place(directory).into_iter().flat_map(|place| &place.children);
        children.filter_map(|(name, child)| Some((name.as_slice(), &child.held.as_ref()?.node)))
    }

    /// Puts `node` at `path`, of the layer `layer`. What lies above becomes directories.
    ///
    /// If something above it is no directory, its path is given back: engines disagree whether
    /// `node` then lies behind a link or replaces it.
    pub(crate) fn insert<'a>(
        &mut self,
        path: &'a [u8],
        node: Node,
        layer: usize,
    ) -> Result<(), &'a [u8]> {
        let mut place = &mut self.root;
        for (part, upto) in path::parts(path).zip(path::ancestors(path).map(Some).chain([None])) {
            place.oldest = place.oldest.min(layer);
            place = place.child(part);
            match (upto, &mut place.held) {
                (Some(upto), Some(held)) if held.node != Node::Directory => return Err(upto),
                (Some(_), Some(held)) => held.layer = layer,
                (Some(_), empty) => {
                    *empty = Some(Held { node: Node::Directory, layer });
                    self.len += 1;
                }
                (None, _) => {}
            }
        }
        if path.is_empty() {
            return Ok(());
        }
        if node != Node::Directory {
            self.len -= place.clear_beneath(usize::MAX);
        }
        self.len += usize::from(place.held.replace(Held { node, layer }).is_none());
        Ok(())
    }

    /// Removes `path`, and all beneath it, as far as it is of layers below `layer`: a whiteout
    /// hides nothing of its own layer (image-spec, layer.md).
    pub(crate) fn remove(&mut self, path: &[u8], layer: usize) {
        if let Some(place) = self.place_mut(path) {
            self.len -= place.clear(layer);
        }
    }

    /// Removes what lies beneath `path`, as far as it is of layers below `layer`.
    pub(crate) fn remove_beneath(&mut self, path: &[u8], layer: usize) {
        if let Some(place) = self.place_mut(path) {
            self.len -= place.clear_beneath(layer);
        }
    }

    fn place(&self, path: &[u8]) -> Option<&Place> {
        path::parts(path).try_fold(&self.root, |place, part| place.children.get(part))
    }

    fn place_mut(&mut self, path: &[u8]) -> Option<&mut Place> {
        path::parts(path).try_fold(&mut self.root, |place, part| place.children.get_mut(part))
    }
}
