//! Collects the files of a bundle from the stacked layers.
//!
//! The rules are the same as for a bundle in a directory (`unlade-directory`): `manifests/` and
//! `metadata/` are in the root of the image. A link may point only to another file of the same
//! directory.

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use unlade_bundle::{Directory, File};

use crate::limit::Limits;
use crate::path::{self, Path};
use crate::tree::{Node, Tree, Wanted};

/// The maximum number of links to follow, as in the kernel (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// An error in the bundle of an image. Paths start at the root of the image.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A required directory does not exist.
    #[error("{path} does not exist")]
    Missing {
        /// The directory.
        path: String,
    },
    /// Something other than a directory is at the path of a required directory.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// Its path.
        path: String,
    },
    /// A directory inside `manifests/` or `metadata/`: a bundle is flat (003.7).
    #[error("{path} is a nested directory")]
    NestedDirectory {
        /// The inner directory, or the link to one.
        path: String,
    },
    /// A link is not valid.
    #[error("link {path} -> {target} {fault}")]
    Link {
        /// The link.
        path: String,
        /// The target of the link, as written.
        target: String,
        /// The reason.
        fault: LinkFault,
    },
    /// A file is a device, a FIFO or a sparse file.
    #[error("{path} is a {kind}, not a regular file")]
    Special {
        /// Its path.
        path: String,
        /// The kind of file.
        kind: &'static str,
    },
    /// A file name is not UTF-8.
    #[error("file name {path} is not UTF-8")]
    Name {
        /// Its path, with invalid bytes replaced.
        path: String,
    },
    /// The bundle has more files than the limit.
    #[error("{path}: the bundle has more than {limit} files")]
    Files {
        /// The first file beyond the limit.
        path: String,
        /// The limit, in files.
        limit: usize,
    },
    /// A file is larger than the limit.
    #[error("{path} is larger than {limit} bytes")]
    FileSize {
        /// Its path.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// All files together are larger than the limit.
    #[error("{path}: the files of the bundle are larger than {limit} bytes")]
    TotalSize {
        /// The first file beyond the limit.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
}

/// What is wrong with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkFault {
    /// Its target starts with `/`.
    Absolute,
    /// Its target is outside the directory of the link.
    Outside,
    /// Its target does not exist.
    Dangling,
    /// A parent of its target is not a directory.
    NotADirectory,
    /// The chain of links is longer than 40, as in a loop.
    Loop,
}

/// The reason why the files cannot be collected yet, or at all.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The tree must also keep this directory, with the files in it.
    WantsDirectory(Path),
    /// The tree must also keep this path.
    WantsPath(Path),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Collects the files of a bundle.
pub(crate) struct Collector<'a> {
    tree: &'a Tree,
    limits: &'a Limits,
    pub(crate) files: Vec<Found>,
    bytes: usize,
}

/// A file of the bundle. It shares its bytes with the tree.
pub(crate) struct Found {
    directory: Directory,
    pub(crate) name: String,
    pub(crate) bytes: Rc<Vec<u8>>,
}

impl From<Found> for File {
    /// Copies the bytes only if several names share them.
    fn from(Found { directory, name, bytes }: Found) -> Self {
        Self { directory, name, bytes: Rc::unwrap_or_clone(bytes) }
    }
}

impl<'a> Collector<'a> {
    pub(crate) fn new(tree: &'a Tree, limits: &'a Limits) -> Self {
        Self { tree, limits, files: Vec::new(), bytes: 0 }
    }

    /// Collects the files in the directory `at` of the image. Returns false if it does not exist.
    pub(crate) fn collect(&mut self, at: &str, directory: Directory) -> Result<bool, Stop> {
        let root = Walk::new(self.tree, b"", at.as_bytes());
        let found = match root.finish() {
            Ok((found, Node::Directory)) => found,
            Ok(_) => return Err(Error::NotADirectory { path: at.to_owned() }.into()),
            Err(Stop::Error(Error::Missing { .. })) => return Ok(false),
            Err(stop) => return Err(stop),
        };
        // The tree keeps the files of a directory only if the directory itself is wanted.
        if !self.tree.wants(&found) {
            return Err(Stop::WantsDirectory(found));
        }
        for (name, _) in self.tree.children(&found) {
            let path = path::display(&path::join(&found, name));
            let node = match Walk::new(self.tree, &found, name).finish()? {
                (_, Node::File(bytes)) => bytes,
                (_, Node::Directory) => return Err(Error::NestedDirectory { path }.into()),
                (_, Node::Special(kind)) => return Err(Error::Special { path, kind }.into()),
                (_, Node::Oversized) => {
                    let limit = self.limits.content.file_size;
                    return Err(Error::FileSize { path, limit }.into());
                }
                // A walk never ends at a link, and hard links are resolved when all layers are
                // stacked.
                (_, Node::Link(_) | Node::Pending) => return Err(Error::Missing { path }.into()),
            };
            let Ok(name) = String::from_utf8(name.to_owned()) else {
                return Err(Error::Name { path }.into());
            };
            self.push(Found { directory, name, bytes: Rc::clone(node) }, path)?;
        }
        Ok(true)
    }

    fn push(&mut self, file: Found, path: String) -> Result<(), Error> {
        let limits = &self.limits.content;
        if self.files.len() >= limits.files {
            return Err(Error::Files { path, limit: limits.files });
        }
        self.bytes = self.bytes.saturating_add(file.bytes.len());
        if self.bytes > limits.total_size {
            return Err(Error::TotalSize { path, limit: limits.total_size });
        }
        self.files.push(file);
        Ok(())
    }
}

/// A path walk that never leaves `root`.
struct Walk<'a> {
    tree: &'a Tree,
    root: &'a [u8],
    here: Path,
    pending: VecDeque<Vec<u8>>,
    links: usize,
    /// The first link on the path, and its target.
    link: Option<(Path, Vec<u8>)>,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree, root: &'a [u8], path: &[u8]) -> Self {
        let pending = path.split(|byte| *byte == b'/').map(<[u8]>::to_owned).collect();
        Self { tree, root, here: root.to_owned(), pending, links: 0, link: None }
    }

    /// Walks to the end of the path.
    fn finish(mut self) -> Result<(Path, &'a Node), Stop> {
        while let Some(name) = self.pending.pop_front() {
            match name.as_slice() {
                b"" | b"." => {}
                b".." if self.here == self.root => return Err(self.fault(LinkFault::Outside)),
                b".." => self.here = path::parent(&self.here).unwrap_or_default().to_owned(),
                name => self.step(name)?,
            }
        }
        let node = self.look(&self.here)?;
        Ok((self.here, node))
    }

    fn look(&self, path: &[u8]) -> Result<&'a Node, Stop> {
        match self.tree.node(path) {
            Some(node) => Ok(node),
            None if self.tree.covers(path) => Err(match &self.link {
                Some(_) => self.fault(LinkFault::Dangling),
                None => Error::Missing { path: path::display(path) }.into(),
            }),
            None => Err(Stop::WantsPath(path.to_owned())),
        }
    }

    fn step(&mut self, name: &[u8]) -> Result<(), Stop> {
        let path = path::join(&self.here, name);
        match self.look(&path)? {
            Node::Link(target) => self.follow(path, target),
            // The tree does not keep the content of nested directories, and need not: they are
            // errors.
            Node::Directory if !self.root.is_empty() => {
                Err(Error::NestedDirectory { path: path::display(&path) }.into())
            }
            Node::Directory => {
                self.here = path;
                Ok(())
            }
            _ if self.pending.is_empty() => {
                self.here = path;
                Ok(())
            }
            _ if self.link.is_some() => Err(self.fault(LinkFault::NotADirectory)),
            _ => Err(Error::NotADirectory { path: path::display(&path) }.into()),
        }
    }

    fn follow(&mut self, path: Path, target: &[u8]) -> Result<(), Stop> {
        self.links += 1;
        self.link.get_or_insert_with(|| (path, target.to_owned()));
        if self.links > MAX_LINKS {
            return Err(self.fault(LinkFault::Loop));
        }
        if target.starts_with(b"/") {
            return Err(self.fault(LinkFault::Absolute));
        }
        for part in target.split(|byte| *byte == b'/').rev().filter(|part| *part != b".") {
            self.pending.push_front(part.to_owned());
        }
        Ok(())
    }

    fn fault(&self, fault: LinkFault) -> Stop {
        let (path, target) = self.link.clone().unwrap_or_default();
        let (path, target) = (path::display(&path), path::display(&target));
        Error::Link { path, target, fault }.into()
    }
}

/// Returns what the tree must keep for every bundle.
pub(crate) fn wanted() -> Wanted {
    let directories = [Directory::Manifests, Directory::Metadata];
    let paths = directories.map(|directory| directory.as_str().as_bytes().to_owned());
    Wanted { directories: paths.into(), ..Wanted::default() }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absolute => "is absolute; only relative links inside the directory are followed",
            Self::Outside => "leads out of the directory that it belongs to",
            Self::Dangling => "leads to a file that does not exist",
            Self::NotADirectory => "leads through a file that is not a directory",
            Self::Loop => "is part of a loop, or of a chain of more than 40 links",
        })
    }
}
