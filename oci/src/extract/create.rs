//! [`create`]: creates a directory with contents that were stored.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path as FilePath;

use super::content::Contents;
use super::tree::{Node, Tree};
use super::{Error, below, is_beneath};

/// Creates what `tree` has beneath `root` in the new directory `to`: first the directories and the
/// files, with their contents in `contents`, and then the links.
pub(super) fn create(
    tree: &Tree,
    root: &[u8],
    contents: &Contents,
    to: &FilePath,
) -> Result<(), Error> {
    let place = |path: &[u8]| to.join(OsStr::from_bytes(below(path, root)));
    let write = |path: &[u8], create: &dyn Fn(&FilePath) -> io::Result<()>| {
        let path = place(path);
        create(&path).map_err(|source| Error::Write { path, source })
    };
    fs::create_dir(to).map_err(|source| Error::Write { path: to.to_owned(), source })?;
    let inside = || tree.nodes().filter(|(path, _)| is_beneath(path, root));
    let mut written = HashMap::new();
    for (path, node) in inside() {
        match node {
            Node::Directory => write(path, &|at| fs::create_dir_all(at))?,
            Node::File(number) => {
                // Several names can share a file.
                let other = written.insert(number, path);
                write(path, &|at| {
                    at.parent().map_or(Ok(()), fs::create_dir_all)?;
                    match other {
                        Some(other) => fs::hard_link(place(other), at),
                        None => contents.write(*number, at),
                    }
                })?;
            }
            Node::Link(_) | Node::Blocked | Node::Parent => {}
        }
    }
    for (path, node) in inside() {
        if let Node::Link(target) = node {
            write(path, &|at| {
                at.parent().map_or(Ok(()), fs::create_dir_all)?;
                symlink(OsStr::from_bytes(target), at)
            })?;
        }
    }
    Ok(())
}
