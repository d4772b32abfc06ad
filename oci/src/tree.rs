//! [`Tree`]: the part of the stacked layers that a bundle needs.
//!
//! A base image can contain a hundred thousand files, but a bundle needs only two directories. So a
//! tree keeps only the wanted paths, their direct children, and their parent directories. The
//! directories of a bundle are flat (design 003.7): of deeper files, only the nested directory is
//! kept, so that an error can name it.
//!
//! The tree stores each part of a path once, so the cost of a lookup is proportional to the length
//! of the path.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use unlade_bundle::source::walk::LinkBudget;

use crate::path::{self, Path};

/// The file or directory at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(Rc<Vec<u8>>),
    /// A file that is too large for a bundle. It is an error only if no later layer removes it.
    Oversized,
    /// A symbolic link to this target, as written.
    Link(Vec<u8>),
    Special(&'static str),
    /// A hard link to a path that is not yet wanted.
    Pending,
}

/// A node that engines put at different places, or in directories with different contents.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Conflict<'a> {
    /// It is inside a link or a file with this path. Some engines follow the link, and others
    /// replace it.
    Inside(&'a [u8]),
    /// The layer first removes this path, or adds a link or a file at it, and then makes it a
    /// directory. With overlayfs, the directory contains what lower layers have in it.
    Replaced(&'a [u8]),
}

/// What a tree keeps of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Interest<'a> {
    None,
    /// The whole node.
    Whole,
    /// Only the existence of this parent directory.
    Above(&'a [u8]),
}

/// The paths that a [`Tree`] keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Directories, with their direct children.
    pub(crate) directories: BTreeSet<Path>,
    /// Single paths, without their children.
    pub(crate) paths: BTreeSet<Path>,
}

#[derive(Debug)]
pub(crate) struct Tree {
    root: Place,
    /// The number of nodes.
    len: usize,
    /// The budget for the links that are followed in the tree, and in those of other rounds.
    pub(crate) links: Arc<LinkBudget>,
}

#[derive(Debug)]
struct Place {
    /// Whether the path is wanted, or is a parent of a wanted path.
    is_on_path: bool,
    /// Whether its direct children are wanted.
    is_directory_wanted: bool,
    held: Option<Held>,
    /// The last layer that removed this place. Layers are counted from one.
    hidden_in: usize,
    /// The lowest layer of all nodes below this one. It bounds the cost of whiteouts: without it, a
    /// layer with a million whiteouts would visit all nodes a million times.
    oldest: usize,
    /// The last layer that added a node below this one.
    newest: usize,
    children: BTreeMap<Vec<u8>, Place>,
}

#[derive(Debug)]
struct Held {
    node: Node,
    /// The layer that added it, or that last added something below it.
    layer: usize,
}

impl Held {
    /// Checks whether `layer` has something other than a directory here.
    fn is_changed_in(&self, layer: usize) -> bool {
        self.layer == layer && self.node != Node::Directory
    }
}

impl Default for Place {
    fn default() -> Self {
        Self {
            is_on_path: false,
            is_directory_wanted: false,
            held: None,
            hidden_in: 0,
            oldest: usize::MAX,
            newest: 0,
            children: BTreeMap::new(),
        }
    }
}

impl Place {
    fn child(&mut self, name: &[u8]) -> &mut Self {
        self.children.entry(name.to_owned()).or_default()
    }

    /// Removes the nodes of layers below `layer`, here and below this place. Returns their number.
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
        self.children.retain(|_, child| {
            child.is_on_path || child.held.is_some() || !child.children.is_empty()
        });
        let layers = self.children.values().map(|child| {
            child.held.as_ref().map_or(usize::MAX, |held| held.layer).min(child.oldest)
        });
        self.oldest = layers.min().unwrap_or(usize::MAX);
        removed
    }
}

impl Tree {
    /// Creates an empty tree that keeps the `wanted` paths.
    pub(crate) fn new(wanted: &Wanted, links: Arc<LinkBudget>) -> Self {
        let mut root = Place { is_on_path: true, ..Place::default() };
        for path in wanted.directories.iter().chain(&wanted.paths) {
            let mut place = &mut root;
            for part in path::parts(path) {
                place = place.child(part);
                place.is_on_path = true;
            }
            place.is_directory_wanted |= wanted.directories.contains(path);
        }
        Self { root, len: 0, links }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn interest<'a>(&self, path: &'a [u8]) -> Interest<'a> {
        let mut place = Some(&self.root);
        // The last parent directory that is wanted or is a parent of a wanted path.
        let mut above = Interest::None;
        for (part, upto) in path::parts(path).zip(path::ancestors(path).map(Some).chain([None])) {
            // Below a place that is not a parent of a wanted path, nothing is wanted.
            let Some(here) = place else { return above };
            let child = here.children.get(part).filter(|child| child.is_on_path);
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

    /// Checks whether the tree keeps the node at `path`, if one exists.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        path.is_empty() || self.interest(path) == Interest::Whole
    }

    /// Checks whether the tree keeps the direct children of `directory`.
    pub(crate) fn wants(&self, directory: &[u8]) -> bool {
        self.place(directory).is_some_and(|place| place.is_directory_wanted)
    }

    /// Returns the node at `path`. The root is always a directory.
    pub(crate) fn node(&self, path: &[u8]) -> Option<&Node> {
        if path.is_empty() {
            return Some(&Node::Directory);
        }
        self.place(path)?.held.as_ref().map(|held| &held.node)
    }

    /// Returns the names and nodes of the direct children of `directory`, sorted by name.
    pub(crate) fn children(&self, directory: &[u8]) -> impl Iterator<Item = (&[u8], &Node)> {
        let children = self.place(directory).into_iter().flat_map(|place| &place.children);
        children.filter_map(|(name, child)| Some((name.as_slice(), &child.held.as_ref()?.node)))
    }

    /// Inserts `node` of the layer `layer` at `path`, and creates missing parent directories.
    ///
    /// # Errors
    ///
    /// Returns an error if engines disagree about the result.
    pub(crate) fn insert<'a>(
        &mut self,
        path: &'a [u8],
        node: Node,
        layer: usize,
    ) -> Result<(), Conflict<'a>> {
        let mut place = &mut self.root;
        for (part, upto) in path::parts(path).zip(path::ancestors(path).map(Some).chain([None])) {
            place.oldest = place.oldest.min(layer);
            place.newest = layer;
            place = place.child(part);
            let is_directory = upto.is_some() || node == Node::Directory;
            if is_directory && place.hidden_in == layer {
                return Err(Conflict::Replaced(upto.unwrap_or(path)));
            }
            match (upto, &mut place.held) {
                (Some(upto), Some(held)) if held.node != Node::Directory => {
                    return Err(Conflict::Inside(upto));
                }
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
        } else if place.held.as_ref().is_some_and(|held| held.is_changed_in(layer)) {
            return Err(Conflict::Replaced(path));
        }
        self.len += usize::from(place.held.replace(Held { node, layer }).is_none());
        Ok(())
    }

    /// Removes the nodes of layers below `layer` at `path` and below it. Returns false if `layer`
    /// itself has a node there: a whiteout hides nothing of its own layer (image-spec, layer.md),
    /// but engines remove what comes before it.
    pub(crate) fn remove(&mut self, path: &[u8], layer: usize) -> bool {
        let Some(place) = self.place_mut(path) else { return true };
        if place.held.as_ref().is_some_and(|held| held.layer == layer) {
            return false;
        }
        place.hidden_in = layer;
        let removed = place.clear(layer);
        self.len -= removed;
        true
    }

    /// Removes the nodes of layers below `layer` below `path`. Returns false if `layer` itself has
    /// added something there: some engines keep all of it, and others only what is in directories
    /// that have an entry before the whiteout.
    pub(crate) fn remove_beneath(&mut self, path: &[u8], layer: usize) -> bool {
        let Some(place) = self.place_mut(path) else { return true };
        if place.newest == layer {
            return false;
        }
        let removed = place.clear_beneath(layer);
        self.len -= removed;
        true
    }

    fn place(&self, path: &[u8]) -> Option<&Place> {
        path::parts(path).try_fold(&self.root, |place, part| place.children.get(part))
    }

    fn place_mut(&mut self, path: &[u8]) -> Option<&mut Place> {
        path::parts(path).try_fold(&mut self.root, |place, part| place.children.get_mut(part))
    }
}
