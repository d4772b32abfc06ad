//! [`extract`]: writes a directory of an image to disk, such as the catalog in a catalog image.
//!
//! The contents of the files of all layers are first stored one after another in a single file.
//! After all layers are read, and all of them match their digests, the tree is created with the
//! files that remain. So no entry of a layer is ever written through a link of another layer, and a
//! file that layers replace many times is created only once.

mod content;
mod create;
mod tree;

use std::io::{self, Read};
use std::path::{Path as FilePath, PathBuf};

use self::content::Contents;
use self::create::create;
use self::tree::{Node, Tree};
use crate::budget::Budget;
use crate::image::{self, each_layer, find_manifest};
use crate::link::Links;
use crate::manifest::Manifest;
use crate::path::{self, Path};
use crate::store::Store;
use crate::tar_reader::{self, Entry, Kind};
use crate::whiteout::{Whiteout, depends_on_whiteout, is_inside_whiteout};
use crate::{Digest, Options, Origin, Source, dir, limit};

/// An error that prevents a directory of an image from being written to disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image has no label that names the directory.
    #[error("the image has no label {label}")]
    Label {
        /// The label.
        label: String,
    },
    /// The label does not name a directory in the image.
    #[error("the label {label} of the image is {path:?}, which is not a directory in it")]
    Directory {
        /// The label.
        label: String,
        /// Its value.
        path: String,
    },
    /// An entry cannot be represented, or leads out of the directory.
    #[error("{path} {problem}")]
    Entry {
        /// Its path in the image.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A layer cannot be read.
    #[error("failed to read the tar stream")]
    Read(#[from] io::Error),
    /// The directory, in all layers together, has more entries than [`limit::CREATED`].
    #[error("{path}: the directory has more than {} files and directories", limit::CREATED)]
    TooMany {
        /// The first entry beyond the limit.
        path: String,
    },
    /// The files of the directory, in all layers together, are larger than [`limit::EXTRACTED`].
    #[error(
        "{path}: the files of the directory are larger than {} bytes in total",
        limit::EXTRACTED
    )]
    TooLarge {
        /// The first file beyond the limit.
        path: String,
    },
    /// A file cannot be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// Checks whether a limit was exceeded.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(self, Self::TooMany { .. } | Self::TooLarge { .. })
    }
}

/// A directory of an image that was written to disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted {
    /// The directory on disk.
    pub path: PathBuf,
    /// The digest of the manifest of the image. `None` for a docker archive, which has no manifest.
    pub digest: Option<Digest>,
}

/// Writes the directory that the label `label` of an image names into the empty directory `into`.
///
/// Links are written as they are, except that those to absolute paths in the directory become
/// relative. The reader of the directory decides which links it follows.
///
/// # Errors
///
/// Returns an error under the same conditions as [`read`](crate::read), except for those of
/// bundles. Also returns an error if the label or the directory does not exist, if the directory
/// contains a device or a hard link to a file outside it, or if it cannot be written.
pub fn extract(
    source: &Source,
    label: &str,
    into: &FilePath,
    options: &Options,
) -> Result<Extracted, image::Error> {
    if let Some(directory) = dir::find(source) {
        return extract_from(&directory, label, into, options);
    }
    let budget = Budget::new(options.limits.clone());
    let (store, manifest) = find_manifest(source, options, &budget)?;
    write(&store, &manifest, label, into, &budget)
}

/// Does the same as [`extract`], for an image in an [`Origin`], such as one in a registry.
///
/// # Errors
///
/// Returns an error if the origin fails, and under the same conditions as [`extract`].
pub fn extract_from(
    origin: &dyn Origin,
    label: &str,
    into: &FilePath,
    options: &Options,
) -> Result<Extracted, image::Error> {
    let budget = Budget::new(options.limits.clone());
    let store = Store::origin(origin, &budget);
    let manifest = image::find_in_origin(origin, &store, options, &budget)?;
    write(&store, &manifest, label, into, &budget)
}

fn write(
    store: &Store<'_>,
    manifest: &Manifest,
    label: &str,
    into: &FilePath,
    budget: &Budget,
) -> Result<Extracted, image::Error> {
    let refused = |error: Error| image::Error::Extract(error);
    let named = manifest.labels.get(label).filter(|path| !path.is_empty());
    let named = named.ok_or_else(|| refused(Error::Label { label: label.to_owned() }))?;
    let not_a_directory = || {
        refused(Error::Directory { label: label.to_owned(), path: path::display(named.as_bytes()) })
    };
    let root = path::normalize(named.as_bytes())
        .filter(|root| !is_inside_whiteout(root))
        .ok_or_else(not_a_directory)?;
    let mut extraction = Extraction::new(&root, into, budget).map_err(refused)?;
    each_layer(store, &manifest.layers, budget, |layer, tar| {
        extraction.push(tar).map_err(|error| match error {
            Error::Read(source) => {
                image::Error::Layer { layer: layer.to_owned(), source: source.into() }
            }
            error => refused(error),
        })
    })?;
    if !matches!(extraction.tree.node(&root), Some(Node::Directory)) && !root.is_empty() {
        return Err(not_a_directory());
    }
    let path = into.join("directory");
    create(&extraction.tree, &root, &extraction.contents, &path).map_err(refused)?;
    Ok(Extracted { path, digest: manifest.digest.clone() })
}

struct Extraction<'a> {
    /// The path of the directory in the image.
    root: &'a [u8],
    budget: &'a Budget,
    tree: Tree,
    links: Links,
    contents: Contents,
    /// The number of files and directories that the entries so far can create.
    created: usize,
    /// The path that was counted last.
    previous: Path,
}

impl<'a> Extraction<'a> {
    fn new(root: &'a [u8], into: &FilePath, budget: &'a Budget) -> Result<Self, Error> {
        let (tree, links, previous) = (Tree::default(), Links::default(), Path::new());
        Ok(Self { root, budget, tree, links, contents: Contents::new(into)?, created: 0, previous })
    }

    /// Applies a layer to those below it.
    fn push(&mut self, tar: &mut dyn Read) -> Result<(), Error> {
        tar_reader::each_within(tar, self.budget, |entry| self.add(entry))?;
        self.tree.finish_layer().map_err(|above| {
            entry_error(&above, "is a file or a link, and a layer has something inside it")
        })
    }

    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Error> {
        if entry.long_path().is_some() {
            return Err(entry_error(
                &entry.path,
                "is too long, or the target of its link is too long",
            ));
        }
        let path = path::normalize(&entry.path)
            .ok_or_else(|| entry_error(&entry.path, "leads out of the image"))?;
        let directory = path::parent(&path).unwrap_or_default();
        let name = path::name(&path);
        let whiteout = Whiteout::parse(name);
        let matters = |path: &[u8]| is_wanted(path, self.root);
        if entry.kind.is_skipped_by_some() && (whiteout.is_some() || matters(&path)) {
            return Err(entry_error(&path, "is the path of a device or a global header"));
        }
        if depends_on_whiteout(&path, entry) && (matters(&path) || self.links.contains(&path)) {
            return Err(entry_error(
                &path,
                "is in, or a link into, a directory with the name of a whiteout",
            ));
        }
        if let Some(inside) = self.links.add(&path, entry, whiteout, self.budget, matters)? {
            return Err(entry_error(&inside.path, "is inside a link"));
        }
        if let Some(whiteout) = whiteout {
            return self.hide(whiteout, &path, directory);
        }
        if !is_wanted(&path, self.root) || path.is_empty() {
            return Ok(());
        }
        self.count(&path)?;
        let node = self.store_node(entry, &path, directory)?;
        self.tree.add(&path, node).map_err(|problem| entry_error(&path, problem))
    }

    /// Applies the whiteout at `path` in `directory`.
    fn hide(&mut self, whiteout: Whiteout<'_>, path: &[u8], directory: &[u8]) -> Result<(), Error> {
        let is_parent_wanted = !directory.is_empty() && is_wanted(directory, self.root);
        if is_parent_wanted && !self.tree.has_directory(directory) {
            self.count(directory)?;
            self.tree.add(directory, Node::Parent).map_err(|problem| entry_error(path, problem))?;
        }
        match whiteout {
            Whiteout::Opaque if is_wanted(directory, self.root) => {
                self.budget.count_name(directory)?;
                self.tree.hide_beneath(directory).map_err(|problem| entry_error(path, problem))?;
            }
            Whiteout::Of(hidden) => {
                let hidden = path::join(directory, hidden);
                if is_wanted(&hidden, self.root) {
                    self.budget.count_name(&hidden)?;
                    self.tree.hide(&hidden).map_err(|problem| entry_error(path, problem))?;
                }
            }
            Whiteout::Opaque | Whiteout::Internal => {}
            Whiteout::Invalid => {
                return Err(entry_error(path, "is a whiteout that does not name a file"));
            }
        }
        Ok(())
    }

    /// Counts a path that is kept, and what has to be created for it: its last part, and the parent
    /// directories that it does not share with the path before it, because they need not have
    /// entries of their own.
    fn count(&mut self, path: &[u8]) -> Result<(), Error> {
        self.budget.count_name(path)?;
        let shared = path::parts(path).zip(path::parts(&self.previous));
        let n_shared = shared.take_while(|(part, before)| part == before).count();
        self.created += path::parts(path).count().saturating_sub(n_shared).max(1);
        if self.created > limit::CREATED {
            return Err(Error::TooMany { path: path::display(path) });
        }
        path.clone_into(&mut self.previous);
        Ok(())
    }

    /// Returns the node for the entry at `path` in `directory`, and stores its data.
    fn store_node<R: Read>(
        &mut self,
        entry: &mut Entry<'_, R>,
        path: &[u8],
        directory: &[u8],
    ) -> Result<Node, Error> {
        let is_inside = self.is_inside(path);
        Ok(match entry.kind {
            Kind::Directory => Node::Directory,
            Kind::File if entry.path.ends_with(b"/") => {
                return Err(entry_error(path, "is a file whose path ends in a slash"));
            }
            Kind::File if is_inside => Node::File(self.contents.push(entry, path)?),
            Kind::Symlink if is_inside => {
                self.budget.count_name(&entry.link)?;
                Node::Link(self.relative(&entry.link, directory))
            }
            Kind::HardLink if is_inside => {
                let node = match path::normalize(&entry.link) {
                    Some(target) if self.links.above(&target, self.budget)?.is_none() => {
                        self.tree.file(&target)
                    }
                    _ => None,
                };
                node.ok_or_else(|| {
                    entry_error(
                        path,
                        "is a hard link to something other than a file in the directory",
                    )
                })?
            }
            _ if !is_inside => Node::Blocked,
            Kind::Sparse => return Err(entry_error(path, "is a sparse file")),
            _ => return Err(entry_error(path, "is neither a file, a directory nor a link")),
        })
    }

    fn is_inside(&self, path: &[u8]) -> bool {
        is_beneath(path, self.root)
    }

    /// Returns the target of a link in `directory`. An absolute path in the directory that is
    /// extracted becomes relative, unless it contains `..`, which can follow another link.
    fn relative(&self, target: &[u8], directory: &[u8]) -> Path {
        let is_clean = target.starts_with(b"/") && path::parts(target).all(|part| part != b"..");
        let inside = path::normalize(target).filter(|path| is_clean && self.is_inside(path));
        let Some(path) = inside else { return target.to_owned() };
        let depth = path::parts(directory).count() - path::parts(self.root).count();
        [b"../".repeat(depth).as_slice(), below(&path, self.root)].concat()
    }
}

/// Checks whether `path` is `root`, inside it, or one of its parents.
fn is_wanted(path: &[u8], root: &[u8]) -> bool {
    path == root || is_beneath(path, root) || is_beneath(root, path)
}

/// Checks whether `path` is beneath `above`. Everything is beneath the root.
fn is_beneath(path: &[u8], above: &[u8]) -> bool {
    match path.strip_prefix(above) {
        Some(rest) if above.is_empty() => !rest.is_empty(),
        Some(rest) => rest.starts_with(b"/"),
        None => false,
    }
}

/// Returns the part of `path` below `root`.
fn below<'p>(path: &'p [u8], root: &[u8]) -> &'p [u8] {
    let rest = path.get(root.len()..).unwrap_or_default();
    rest.strip_prefix(b"/").unwrap_or(rest)
}

fn entry_error(path: &[u8], problem: &'static str) -> Error {
    Error::Entry { path: path::display(path), problem }
}

#[cfg(test)]
mod tests;
