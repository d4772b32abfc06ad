//! Applies one layer, which is a tar stream, to the tree of the wanted paths.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

use crate::budget::Budget;
use crate::limit;
use crate::link::Links;
use crate::path::{self, Path};
use crate::tar_reader::{self, Entry, Kind};
use crate::tree::{Conflict, Interest, Node, Tree, Wanted};
use crate::whiteout::{Whiteout, depends_on_whiteout};

/// An error that prevents a layer from being applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream ends early, does not decompress, is not a tar, or exceeds a limit.
    #[error("failed to read the tar stream")]
    Read(#[from] io::Error),
    /// A path is longer than Linux allows, or deeper than any real directory tree.
    #[error(
        "the path or link target {path} is longer than {} bytes, or has more than {} slashes",
        limit::PATH,
        limit::DEPTH
    )]
    Path {
        /// The start of the path as written.
        path: String,
    },
    /// The path of an entry leads out of the image.
    #[error("the entry {path} leads out of the image")]
    Escapes {
        /// The path as written.
        path: String,
    },
    /// The target of a hard link does not exist, or is a directory.
    #[error("the hard link {path} -> {target} does not lead to a file")]
    HardLink {
        /// The link.
        path: String,
        /// The target of the link, as written.
        target: String,
    },
    /// An entry is inside a link or a file.
    #[error("the entry {path} is inside {above}, which is not a directory")]
    Beneath {
        /// The entry.
        path: String,
        /// The link or file.
        above: String,
    },
    /// The layer changes a path in a way that container engines read differently.
    #[error("{path}: the layer {change}, which container engines read differently")]
    Ambiguous {
        /// The path.
        path: String,
        /// What the layer does.
        change: &'static str,
    },
    /// A whiteout does not name a file.
    #[error("the whiteout {path} does not name a file")]
    Whiteout {
        /// Its path.
        path: String,
    },
    /// The directories of the bundle contain more files than the limit.
    #[error("{path}: the bundle has more than {limit} files")]
    Files {
        /// The first file beyond the limit.
        path: String,
        /// The limit, in files.
        limit: usize,
    },
    /// The files of the bundle in all layers together are larger than the limit.
    #[error("{path}: the files of the bundle are larger than {limit} bytes in total")]
    TotalSize {
        /// The first file beyond the limit.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
}

/// The stack of the layers that were applied so far.
pub(crate) struct Stack<'a> {
    pub(crate) tree: Tree,
    /// The targets of hard links that the tree does not keep.
    pub(crate) missed: BTreeSet<Path>,
    /// Whether the tar is not a layer, so that names of whiteouts are names like any other.
    pub(crate) is_plain: bool,
    budget: &'a Budget,
    links: Links,
    layer: usize,
    bytes: usize,
}

impl<'a> Stack<'a> {
    pub(crate) fn new(wanted: &Wanted, budget: &'a Budget) -> Self {
        let (tree, missed) = (Tree::new(wanted, Arc::clone(&budget.links)), BTreeSet::new());
        let links = Links::default();
        Self { tree, missed, is_plain: false, budget, links, layer: 0, bytes: 0 }
    }

    /// Applies the tar in `reader` to the layers below it.
    pub(crate) fn push(&mut self, reader: impl Read) -> Result<(), Error> {
        self.layer += 1;
        tar_reader::each_within(reader, self.budget, |entry| self.add(entry))
    }

    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Error> {
        if let Some(long) = entry.long_path() {
            return Err(Error::Path { path: path::display(long) });
        }
        let path = path::normalize(&entry.path)
            .ok_or_else(|| Error::Escapes { path: path::display(&entry.path) })?;
        let whiteout = Whiteout::parse(path::name(&path)).filter(|_| !self.is_plain);
        let tree = &self.tree;
        let is_wanted = |path: &[u8]| path.is_empty() || tree.interest(path) != Interest::None;
        if entry.kind.is_skipped_by_some() && (whiteout.is_some() || is_wanted(&path)) {
            return Err(ambiguous(&path, "has a device or a global header with this path"));
        }
        if !self.is_plain
            && depends_on_whiteout(&path, entry)
            && (is_wanted(&path) || self.links.contains(&path))
        {
            return Err(ambiguous(
                &path,
                "adds it in or from a directory with the name of a whiteout",
            ));
        }
        if let Some(inside) = self.links.add(&path, entry, whiteout, self.budget, is_wanted)? {
            let [path, above] = [&inside.path, &inside.link].map(|path| path::display(path));
            return Err(Error::Beneath { path, above });
        }
        match whiteout {
            Some(whiteout) => self.remove(whiteout, &path),
            None => self.keep(entry, &path),
        }
    }

    /// Carries out the whiteout at `path`.
    fn remove(&mut self, whiteout: Whiteout<'_>, path: &[u8]) -> Result<(), Error> {
        let directory = path::parent(path).unwrap_or_default();
        // Engines create it. With overlayfs, it hides a file or a link of a lower layer.
        match self.tree.interest(directory) {
            Interest::None => {}
            Interest::Whole => self.keep_parent(directory, path)?,
            Interest::Above(above) => self.keep_parent(above, path)?,
        }
        match whiteout {
            // overlayfs does not support it.
            Whiteout::Opaque if directory.is_empty() => {
                if self.tree.len() > 0 {
                    return Err(ambiguous(path, "removes everything from the root"));
                }
            }
            Whiteout::Opaque => {
                if self.tree.interest(directory) == Interest::Whole
                    && !self.tree.remove_beneath(directory, self.layer)
                {
                    return Err(ambiguous(directory, "adds something in it and then empties it"));
                }
            }
            Whiteout::Internal => {}
            Whiteout::Invalid => {
                return Err(Error::Whiteout { path: path::display(path) });
            }
            Whiteout::Of(hidden) => {
                let hidden = path::join(directory, hidden);
                if self.tree.interest(&hidden) == Interest::Whole
                    && !self.tree.remove(&hidden, self.layer)
                {
                    return Err(ambiguous(&hidden, "adds it and then removes it"));
                }
            }
        }
        Ok(())
    }

    fn keep<R: Read>(&mut self, entry: &mut Entry<'_, R>, path: &[u8]) -> Result<(), Error> {
        match self.tree.interest(path) {
            Interest::None => Ok(()),
            Interest::Above(above) => self.keep_parent(above, path),
            Interest::Whole => {
                let node = match entry.kind {
                    Kind::Directory => Node::Directory,
                    // Go creates a file, and other readers create a directory.
                    Kind::File if entry.path.ends_with(b"/") => {
                        Node::Special("file whose path ends in a slash")
                    }
                    Kind::File => self.read_file(entry, path)?,
                    Kind::Symlink => Node::Link(std::mem::take(&mut entry.link)),
                    Kind::HardLink => self.hard_link(&entry.link, path)?,
                    Kind::Sparse => Node::Special("sparse file"),
                    Kind::Fifo => Node::Special("FIFO"),
                    Kind::Device | Kind::GlobalHeader | Kind::Other(_) => {
                        Node::Special("tar entry of an unknown kind")
                    }
                };
                self.insert(path, path, node)
            }
        }
    }

    /// Keeps the directory `parent` of the entry at `path`. An entry for `parent` itself would
    /// replace a link or a file. An entry inside it does not.
    fn keep_parent(&mut self, parent: &[u8], path: &[u8]) -> Result<(), Error> {
        match self.tree.node(parent) {
            Some(Node::Directory) | None => self.insert(parent, path, Node::Directory),
            Some(_) => {
                let [path, above] = [path, parent].map(path::display);
                Err(Error::Beneath { path, above })
            }
        }
    }

    fn read_file<R: Read>(&mut self, entry: &mut Entry<'_, R>, path: &[u8]) -> Result<Node, Error> {
        let limits = &self.budget.limits.content;
        let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
        if size > limits.file_size {
            return Ok(Node::Oversized);
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > limits.total_size {
            return Err(Error::TotalSize { path: path::display(path), limit: limits.total_size });
        }
        let mut bytes = Vec::with_capacity(size);
        entry.read_to_end(&mut bytes)?;
        if bytes.len() != size {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(Node::File(Rc::new(bytes)))
    }

    /// Returns the node for a hard link to `target`. It shares the file, which stays if the other
    /// name is removed.
    fn hard_link(&mut self, target: &[u8], path: &[u8]) -> Result<Node, Error> {
        let fails = || Error::HardLink { path: path::display(path), target: path::display(target) };
        let target = path::normalize(target).ok_or_else(fails)?;
        if self.links.above(&target, self.budget)?.is_some() {
            return Err(fails());
        }
        match self.tree.node(&target) {
            Some(Node::Directory) => Err(fails()),
            Some(node) => Ok(node.clone()),
            None if self.tree.covers(&target) => Err(fails()),
            None => {
                if !self.missed.contains(&target) {
                    self.count_names(&target)?;
                    self.missed.insert(target);
                }
                Ok(Node::Pending)
            }
        }
    }

    /// Inserts `node` at `path`. The path of the entry is for errors.
    fn insert(&mut self, path: &[u8], entry: &[u8], node: Node) -> Result<(), Error> {
        // Real images need few parent directories and targets of hard links.
        let limit = self.budget.limits.content.files;
        if self.tree.len() > limit.saturating_mul(2).saturating_add(100) {
            return Err(Error::Files { path: path::display(path), limit });
        }
        if let Node::Link(target) = &node {
            self.budget.count_name(target)?;
        }
        let before = self.tree.len();
        self.tree.insert(path, node, self.layer).map_err(|conflict| match conflict {
            Conflict::Inside(above) => {
                Error::Beneath { path: path::display(entry), above: path::display(above) }
            }
            Conflict::Replaced(path) => {
                ambiguous(path, "adds a directory in place of what it removes or adds there")
            }
        })?;
        if self.tree.len() > before { self.count_names(path) } else { Ok(()) }
    }

    /// Counts the names of `path` in the budget, because the tree keeps each of them.
    fn count_names(&self, path: &[u8]) -> Result<(), Error> {
        Ok(path::parts(path).try_for_each(|part| self.budget.count_name(part))?)
    }
}

fn ambiguous(path: &[u8], change: &'static str) -> Error {
    Error::Ambiguous { path: path::display(path), change }
}
