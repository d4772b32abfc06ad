//! Finds the files of a bundle in the stacked layers.
//!
//! `manifests/` and `metadata/` are in the root of the image.

use std::rc::Rc;

use unlade_bundle::{
    Directory,
    source::{
        self, Entry, Error,
        walk::{Fault, LinkBudget, Lookup, Step, Walk},
    },
};

use crate::path::{self, Path};
use crate::tree::{Node, Tree, Wanted};

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
    type Dir = Dir;
    /// The bytes, which the tree shares. `None` if the file is too large for a bundle.
    type File = Option<Rc<Vec<u8>>>;
    type Error = Stop;

    fn open(&self, path: &str) -> Result<Option<Dir>, Stop> {
        let name = path.to_owned();
        match Walk::resolve(&Beneath { tree: self, dir: &Dir::default() }, path) {
            Ok((_, Some(_))) => Err(Error::NotADirectory { path: name }.into()),
            Ok((walk, None)) => {
                let path = walk.dir().cloned().unwrap_or_default();
                // The tree keeps the files of a directory only if the directory itself is wanted.
                if self.wants(&path) {
                    Ok(Some(Dir { path, name }))
                } else {
                    Err(Stop::WantsDirectory(path))
                }
            }
            Err(Stop::Error(Error::Missing { .. })) => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    fn list<E: From<Stop>>(
        &self,
        dir: &Dir,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.children(&dir.path).try_for_each(|(name, _)| visit(name))
    }

    fn find(&self, dir: &Dir, name: &str) -> Result<Entry<Self::File>, Stop> {
        let beneath = Beneath { tree: self, dir };
        let (walk, end) = Walk::resolve(&beneath, name)?;
        let Some((name, node)) = end else { return Ok(Entry::Directory) };
        match node {
            Node::File(bytes) => Ok(Entry::File(Some(Rc::clone(bytes)))),
            Node::Oversized => Ok(Entry::File(None)),
            Node::Special(kind) => Ok(Entry::Special(kind)),
            // A walk never returns links and directories, and hard links are resolved when all
            // layers are stacked.
            Node::Link(_) | Node::Directory | Node::Pending => {
                Err(walk.fail(&name, Fault::Missing))
            }
        }
    }

    fn read(
        &self,
        _: &Dir,
        _: &str,
        file: Self::File,
        max: usize,
    ) -> Result<Option<Rc<Vec<u8>>>, Stop> {
        Ok(file.filter(|bytes| bytes.len() <= max))
    }
}

/// A directory of an image. The default is the root.
#[derive(Debug, Default)]
pub(crate) struct Dir {
    /// Its path, without links.
    path: Path,
    /// The path by which it was opened, for messages.
    name: String,
}

/// The part of a tree beneath a directory.
struct Beneath<'a> {
    tree: &'a Tree,
    dir: &'a Dir,
}

impl<'a> Lookup for Beneath<'a> {
    type Dir = Path;
    type Entry = &'a Node;
    type Error = Stop;

    fn root(&self) -> &str {
        &self.dir.name
    }

    fn link_budget(&self) -> &LinkBudget {
        &self.tree.links
    }

    fn look_up(&self, walk: &Walk<'_, Self>, name: &[u8]) -> Result<Step<Self>, Fault<Self>> {
        let path = path::join(walk.dir().unwrap_or(&self.dir.path), name);
        match self.tree.node(&path) {
            Some(Node::Link(target)) => Ok(Step::Link(target.clone())),
            // The tree does not keep the content of nested directories, and need not: they are
            // errors.
            Some(Node::Directory) if !self.dir.path.is_empty() => {
                Err(Fault::Other(Error::NestedDirectory { path: walk.path_of(name) }.into()))
            }
            Some(Node::Directory) => Ok(Step::Dir(path)),
            Some(node) => Ok(Step::Entry(node)),
            None if self.tree.covers(&path) => Err(Fault::Missing),
            None => Err(Fault::Other(Stop::WantsPath(path))),
        }
    }
}

/// Returns what the tree must keep for every bundle.
pub(crate) fn wanted() -> Wanted {
    let directories = [Directory::Manifests, Directory::Metadata];
    let paths = directories.map(|directory| directory.as_str().as_bytes().to_owned());
    Wanted { directories: paths.into(), ..Wanted::default() }
}
