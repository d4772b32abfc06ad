//! One layer: a tar stream that is laid over the tree of the wanted paths.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::rc::Rc;

use tar::{Entry, EntryType};

use crate::budget::Budget;
use crate::path::{self, Path};
use crate::tape::{self, pax_record};
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
    pub(crate) fn new(wanted: Wanted, budget: &'a Budget) -> Self {
        Self { tree: Tree::new(wanted), missed: BTreeSet::new(), budget, layer: 0, bytes: 0 }
    }

    /// Lays the tar in `reader` over the layers before it.
    pub(crate) fn push(&mut self, reader: impl Read) -> Result<(), Error> {
        self.layer += 1;
        tape::each(reader, self.budget, |entry| self.add(entry))
    }

    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Error> {
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let written = match pax_record(entry, b"GNU.sparse.name")? {
            Some(name) => name,
            None => entry.path_bytes().into_owned(),
        };
        let path = path::clean(&written)
            .ok_or_else(|| Error::Escapes { path: path::display(&written) })?;
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
                let is_directory = kind == EntryType::Directory || written.ends_with(b"/");
                let node = match kind {
                    _ if is_sparse(entry)? => Node::Special("sparse file"),
                    EntryType::Regular | EntryType::Directory if is_directory => Node::Directory,
                    EntryType::Regular | EntryType::Continuous => self.file(entry, &path)?,
                    EntryType::Symlink => {
                        Node::Link(entry.link_name_bytes().unwrap_or_default().into_owned())
                    }
                    EntryType::Link => self.hard_link(entry, &path)?,
                    EntryType::Char | EntryType::Block => Node::Special("device"),
                    EntryType::Fifo => Node::Special("FIFO"),
                    _ => Node::Special("tar entry of an unknown kind"),
                };
                self.insert(&path, &path, node)
            }
        }
    }

    fn file<R: Read>(&mut self, entry: &mut Entry<'_, R>, path: &[u8]) -> Result<Node, Error> {
        let limits = &self.budget.limits.content;
        let size = usize::try_from(entry.size()).unwrap_or(usize::MAX);
        if size > limits.file_size {
            return Ok(Node::Oversized);
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > limits.total_size {
            return Err(Error::TotalSize { path: path::display(path), limit: limits.total_size });
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        if bytes.len() != size {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(Node::File(Rc::from(bytes)))
    }

    /// The node that a hard link leads to: it shares the file, whatever becomes of the other name.
    fn hard_link<R: Read>(&mut self, entry: &Entry<'_, R>, path: &[u8]) -> Result<Node, Error> {
        let written = entry.link_name_bytes().unwrap_or_default();
        let (path, target) = (path::display(path), path::display(&written));
        let Some(cleaned) = path::clean(&written) else {
            return Err(Error::HardLink { path, target });
        };
        match self.tree.node(&cleaned) {
            Some(Node::Directory) => Err(Error::HardLink { path, target }),
            Some(node) => Ok(node.clone()),
            None if self.tree.covers(&cleaned) => Err(Error::HardLink { path, target }),
            None => {
                self.missed.insert(cleaned);
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
        self.tree.insert(path, node, self.layer).map_err(|above| Error::Beneath {
            path: path::display(entry),
            above: path::display(above),
        })
    }
}

/// GNU tar writes sparse files in an old way, and in three ways by PAX records.
fn is_sparse<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<bool> {
    if entry.header().entry_type() == EntryType::GNUSparse {
        return Ok(true);
    }
    let Some(records) = entry.pax_extensions()? else { return Ok(false) };
    for record in records {
        if record?.key_bytes().starts_with(b"GNU.sparse.") {
            return Ok(true);
        }
    }
    Ok(false)
}
