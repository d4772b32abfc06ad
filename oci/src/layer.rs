//! One layer: a tar stream that is laid over the tree of the wanted paths.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::rc::Rc;

use crate::budget::Budget;
use crate::limit;
use crate::path::{self, Path};
use crate::tape::{self, Entry, Kind};
use crate::tree::{Interest, Node, Tree, Wanted};

/// Prefix of a file that removes another of a lower layer (image-spec, layer.md).
const WHITEOUT: &[u8] = b".wh.";
/// A file that removes all that lower layers have in its directory.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Prefix of what AUFS writes for itself, which engines skip.
const AUFS: &[u8] = b".wh..wh.";

/// Why a layer is not laid over the others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream ends early, does not decompress, is no tar, or passes a limit.
    #[error("cannot be read")]
    Read(#[from] io::Error),
    /// A path that Linux has no room for, or that no tree in use is as deep as.
    #[error(
        "path or link target {path} is longer than {} bytes, or has more than {} slashes",
        limit::PATH,
        limit::DEPTH
    )]
    Path {
        /// The start of the path as written.
        path: String,
    },
    /// An entry whose path climbs out of the image.
    #[error("entry {path} leads out of the image")]
    Escapes {
        /// The path as written.
        path: String,
    },
    /// A hard link to something that is not there, or is a directory.
    #[error("hard link {path} -> {target} leads to no file")]
    HardLink {
        /// The link.
        path: String,
        /// Where it points to, as written.
        target: String,
    },
    /// An entry beneath a link or a file.
    #[error("entry {path} lies beneath {above}, which is not a directory")]
    Beneath {
        /// The entry.
        path: String,
        /// What is not a directory.
        above: String,
    },
    /// A whiteout that names nothing.
    #[error("whiteout {path} names no file")]
    Whiteout {
        /// Its path.
        path: String,
    },
    /// More files in a bundle's directories than the limit.
    #[error("{path}: the bundle has more than {limit} files")]
    Files {
        /// The file with which the limit was passed.
        path: String,
        /// The limit, in files.
        limit: usize,
    },
    /// The files of a bundle, of all layers together, are larger than the limit.
    #[error("{path}: the files of the bundle are larger than {limit} bytes")]
    TotalSize {
        /// The file with which the limit was passed.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
}

/// Layers that are being stacked.
pub(crate) struct Stack<'a> {
    pub(crate) tree: Tree,
    /// Paths that hard links need and that the tree was not told to keep.
    pub(crate) missed: BTreeSet<Path>,
    budget: &'a Budget,
    layer: usize,
    bytes: usize,
}

impl<'a> Stack<'a> {
    pub(crate) fn new(wanted: &Wanted, budget: &'a Budget) -> Self {
        Self { tree: Tree::new(wanted), missed: BTreeSet::new(), budget, layer: 0, bytes: 0 }
    }

    /// Lays the tar in `reader` over the layers before it.
    pub(crate) fn push(&mut self, reader: impl Read) -> Result<(), Error> {
        self.layer += 1;
        tape::each_within(reader, self.budget, |entry| self.add(entry))
    }

    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Error> {
        if entry.kind == Kind::GlobalHeader {
            return Ok(());
        }
        if let Some(long) =
            [&entry.path, &entry.link].into_iter().find(|path| path::is_too_long(path))
        {
            return Err(Error::Path { path: path::display(long) });
        }
        let path = path::clean(&entry.path)
            .ok_or_else(|| Error::Escapes { path: path::display(&entry.path) })?;
        let name = path::name(&path);
        let directory = path::parent(&path).unwrap_or_default();
        if name == OPAQUE {
            if directory.is_empty() || self.tree.interest(directory) == Interest::Whole {
                self.tree.remove_beneath(directory, self.layer);
            }
            return Ok(());
        }
        if name.starts_with(AUFS) {
            return Ok(());
        }
        if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            if matches!(hidden, b"" | b"." | b"..") {
                return Err(Error::Whiteout { path: path::display(&path) });
            }
            let hidden = path::join(directory, hidden);
            if self.tree.interest(&hidden) == Interest::Whole {
                self.tree.remove(&hidden, self.layer);
            }
            return Ok(());
        }
        match self.tree.interest(&path) {
            Interest::None => Ok(()),
            Interest::Above(above) => {
                // Unlike an entry of its own, what lies beneath does not replace a link or a file.
                match self.tree.node(above) {
                    Some(Node::Directory) | None => self.insert(above, &path, Node::Directory),
                    Some(_) => Err(Error::Beneath {
                        path: path::display(&path),
                        above: path::display(above),
                    }),
                }
            }
            Interest::Whole => {
                let node = match entry.kind {
                    Kind::Directory => Node::Directory,
                    // Go makes a file of it, and other readers a directory.
                    Kind::File if entry.path.ends_with(b"/") => {
                        Node::Special("file whose path ends in a slash")
                    }
                    Kind::File => self.file(entry, &path)?,
                    Kind::Symlink => Node::Link(std::mem::take(&mut entry.link)),
                    Kind::HardLink => self.hard_link(&entry.link, &path)?,
                    Kind::Sparse => Node::Special("sparse file"),
                    Kind::Device => Node::Special("device"),
                    Kind::Fifo => Node::Special("FIFO"),
                    Kind::GlobalHeader | Kind::Other(_) => {
                        Node::Special("tar entry of an unknown kind")
                    }
                };
                self.insert(&path, &path, node)
            }
        }
    }

    fn file<R: Read>(&mut self, entry: &mut Entry<'_, R>, path: &[u8]) -> Result<Node, Error> {
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

    /// The node that a hard link to `target` leads to: it shares the file, whatever becomes of the
    /// other name.
    fn hard_link(&mut self, target: &[u8], path: &[u8]) -> Result<Node, Error> {
        let fails = || Error::HardLink { path: path::display(path), target: path::display(target) };
        let target = path::clean(target).ok_or_else(fails)?;
        match self.tree.node(&target) {
            Some(Node::Directory) => Err(fails()),
            Some(node) => Ok(node.clone()),
            None if self.tree.covers(&target) => Err(fails()),
            None => {
                if !self.missed.contains(&target) {
                    self.take_names(&target)?;
                    self.missed.insert(target);
                }
                Ok(Node::Pending)
            }
        }
    }

    /// Puts `node` at `path`, for the sake of `entry`.
    fn insert(&mut self, path: &[u8], entry: &[u8], node: Node) -> Result<(), Error> {
        // Directories on the way and what hard links need are few, unless someone means harm.
        let limit = self.budget.limits.content.files;
        if self.tree.len() > limit.saturating_mul(2).saturating_add(100) {
            return Err(Error::Files { path: path::display(path), limit });
        }
        if let Node::Link(target) = &node {
            self.budget.take_name(target)?;
        }
        let before = self.tree.len();
        self.tree.insert(path, node, self.layer).map_err(|above| Error::Beneath {
            path: path::display(entry),
            above: path::display(above),
        })?;
        if self.tree.len() > before { self.take_names(path) } else { Ok(()) }
    }

    /// Takes the names of `path` from the budget: the tree keeps each of them.
    fn take_names(&self, path: &[u8]) -> Result<(), Error> {
        Ok(path::parts(path).try_for_each(|part| self.budget.take_name(part))?)
    }
}
