//! Finds the files of a bundle in the stacked layers.
//!
//! `manifests/` and `metadata/` are in the root of the image. A link may point only to another file
//! of the same directory.

use std::collections::VecDeque;
use std::rc::Rc;

use unlade_bundle::{
    Directory,
    source::{self, Entry, Error, LinkFault},
};

use crate::path::{self, Path};
use crate::tree::{Node, Tree, Wanted};

/// The maximum number of links to follow, as in the kernel (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The reason why the files cannot be read yet, or at all.
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

impl source::Tree for Tree {
    type Folder = Path;
    /// The bytes, which the tree shares. `None` if the file is too large for a bundle.
    type File = Option<Rc<Vec<u8>>>;
    type Error = Stop;

    fn open(&self, path: &str) -> Result<Option<Path>, Stop> {
        match Walk::new(self, b"", path.as_bytes()).finish() {
            // The tree keeps the files of a directory only if the directory itself is wanted.
            Ok((found, Node::Directory)) if !self.wants(&found) => Err(Stop::WantsDirectory(found)),
            Ok((found, Node::Directory)) => Ok(Some(found)),
            Ok(_) => Err(Error::NotADirectory { path: path.to_owned() }.into()),
            Err(Stop::Error(Error::Missing { .. })) => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    fn list(
        &self,
        folder: &Path,
        mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        Ok(self.children(folder).try_for_each(|(name, _)| visit(name))?)
    }

    fn find(&self, folder: &Path, name: &str) -> Result<Entry<Self::File>, Stop> {
        Ok(match Walk::new(self, folder, name.as_bytes()).finish()? {
            (_, Node::File(bytes)) => Entry::File(Some(Rc::clone(bytes))),
            (_, Node::Oversized) => Entry::File(None),
            (_, Node::Directory) => Entry::Directory,
            (_, Node::Special(kind)) => Entry::Special(kind),
            // A walk never ends at a link, and hard links are resolved when all layers are stacked.
            (path, Node::Link(_) | Node::Pending) => {
                return Err(Error::Missing { path: path::display(&path) }.into());
            }
        })
    }

    fn read(
        &self,
        _: &Path,
        _: &str,
        file: Self::File,
        max: usize,
    ) -> Result<Option<Rc<Vec<u8>>>, Stop> {
        Ok(file.filter(|bytes| bytes.len() <= max))
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
