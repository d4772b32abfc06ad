//! Resolves paths beneath a directory, one name at a time, and never leaves the directory.
//!
//! For `..`, a [`Walk`] returns to the directory that it came from without asking the tree, so that
//! moving a directory in the meantime cannot lead it out.

use std::collections::VecDeque;
use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Error, LinkFault};

/// The maximum number of links, which is that of the kernel (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The maximum number of components in the targets of all links that are followed. A file in the
/// volume of a ConfigMap needs six: two links with three components together, each followed twice.
pub(super) const MAX_COMPONENTS: usize = 300_000;

/// The number of components in the targets of links that may still be followed. All walks that read
/// a bundle or a catalog share it. Without it, each of 10,000 files could be a link through 39
/// others with 2,000 components each, which takes more than a minute.
#[derive(Debug)]
pub struct LinkBudget(AtomicUsize);

impl Default for LinkBudget {
    fn default() -> Self {
        Self(AtomicUsize::new(MAX_COMPONENTS))
    }
}

impl LinkBudget {
    /// Takes `n` components. Returns whether so many were left.
    fn take(&self, n: usize) -> bool {
        let rest = |left: usize| left.checked_sub(n);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }
}

/// Looks names up in directories.
pub trait Lookup: Sized {
    /// An open directory.
    type Dir;
    /// An entry that is neither a directory nor a link.
    type Entry;
    /// Why a name cannot be looked up.
    type Error: From<Error>;

    /// Returns the path of the directory in which walks start, for messages. It is empty for the
    /// root of the bundle.
    fn root(&self) -> &str;

    /// Returns the budget for the links that walks follow.
    fn link_budget(&self) -> &LinkBudget;

    /// Looks `name` up in the current directory of `walk`.
    ///
    /// # Errors
    ///
    /// Returns a [`Fault`] if there is no such entry, or if it cannot be used.
    fn look_up(&self, walk: &Walk<'_, Self>, name: &[u8]) -> Result<Step<Self>, Fault<Self>>;
}

/// An entry that was looked up.
#[derive(Debug)]
pub enum Step<L: Lookup> {
    /// A directory, which is open now.
    Dir(L::Dir),
    /// A link with this target, as written.
    Link(Vec<u8>),
    /// Anything else.
    Entry(L::Entry),
}

/// Why a name was not looked up. If a link leads to the name, the link is the error.
#[derive(Debug)]
pub enum Fault<L: Lookup> {
    /// There is no such entry.
    Missing,
    /// A directory is expected, and the entry is not a directory.
    NotADirectory,
    /// The entry is on another mount.
    Mount,
    /// Another error, which does not depend on links.
    Other(L::Error),
}

/// The name and the entry at the end of a path. `None` if the end is the current directory, which
/// is the case if the path ends with a directory, `.` or `..`.
pub type End<L> = Option<(Vec<u8>, <L as Lookup>::Entry)>;

/// A path that is being resolved, or that was resolved.
#[derive(Debug)]
pub struct Walk<'a, L: Lookup> {
    lookup: &'a L,
    /// The directories from the root to the current one, with their names.
    inside: Vec<(L::Dir, Vec<u8>)>,
    /// The components that are not resolved yet.
    pending: VecDeque<Vec<u8>>,
    /// The number of links that were followed.
    links: usize,
    /// The link whose target is being resolved.
    link: Option<Link>,
}

/// A link whose target is being resolved.
#[derive(Debug)]
struct Link {
    path: String,
    target: String,
    /// The number of components that are pending after its target is resolved.
    rest: usize,
}

impl<'a, L: Lookup> Walk<'a, L> {
    /// Resolves `path`, and returns its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the path or a link on it leads out of the root, if more than 40 links
    /// must be followed, if the [budget](LinkBudget) is exhausted, or if a name cannot be looked
    /// up.
    pub fn resolve(lookup: &'a L, path: &str) -> Result<(Self, End<L>), L::Error> {
        if path.starts_with('/') {
            return Err(Error::Outside { path: path.to_owned() }.into());
        }
        let pending = split(path.as_bytes()).map(<[u8]>::to_owned).collect();
        let mut walk = Self { lookup, inside: Vec::new(), pending, links: 0, link: None };
        while let Some(component) = walk.next() {
            match component.as_slice() {
                b"" | b"." => {}
                b".." => walk.up(path)?,
                name => {
                    if let Some(entry) = walk.step(name)? {
                        return Ok((walk, Some((component, entry))));
                    }
                }
            }
        }
        Ok((walk, None))
    }

    /// Returns the current directory, or `None` for the root.
    pub fn dir(&self) -> Option<&L::Dir> {
        self.inside.last().map(|(directory, _)| directory)
    }

    /// Returns the path of `name` in the current directory for messages, or that of the directory
    /// if `name` is empty.
    pub fn path_of(&self, name: &[u8]) -> String {
        let root = self.lookup.root().as_bytes();
        let directories = self.inside.iter().map(|(_, directory)| directory.as_slice());
        let parts =
            iter::once(root).chain(directories).chain([name]).filter(|part| !part.is_empty());
        let path = parts.collect::<Vec<_>>().join(&b'/');
        if path.is_empty() { ".".to_owned() } else { String::from_utf8_lossy(&path).into_owned() }
    }

    /// Returns the error for `name` in the current directory: that of the link whose target is
    /// being resolved, or of the name itself.
    pub fn fail(&self, name: &[u8], fault: Fault<L>) -> L::Error {
        let link_fault = match fault {
            Fault::Missing => LinkFault::Dangling,
            Fault::NotADirectory => LinkFault::NotADirectory,
            Fault::Mount => LinkFault::Mount,
            Fault::Other(error) => return error,
        };
        if let Some(error) = self.link_error(link_fault) {
            return error.into();
        }
        let path = self.path_of(name);
        match link_fault {
            LinkFault::NotADirectory => Error::NotADirectory { path },
            LinkFault::Mount => Error::Mount { path },
            _ => Error::Missing { path },
        }
        .into()
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let component = self.pending.pop_front()?;
        self.link.take_if(|link| self.pending.len() < link.rest);
        Some(component)
    }

    fn up(&mut self, path: &str) -> Result<(), Error> {
        if self.inside.pop().is_some() {
            return Ok(());
        }
        Err(self
            .link_error(LinkFault::Outside)
            .unwrap_or_else(|| Error::Outside { path: self.path_of(path.as_bytes()) }))
    }

    /// Resolves the component `name`. Returns its entry if it is the end of the path and not a
    /// directory.
    fn step(&mut self, name: &[u8]) -> Result<Option<L::Entry>, L::Error> {
        match self.lookup.look_up(self, name) {
            Ok(Step::Dir(directory)) => self.inside.push((directory, name.to_owned())),
            Ok(Step::Link(target)) => self.follow(name, &target)?,
            Ok(Step::Entry(_)) if !self.pending.is_empty() => {
                return Err(self.fail(name, Fault::NotADirectory));
            }
            Ok(Step::Entry(entry)) => return Ok(Some(entry)),
            Err(fault) => return Err(self.fail(name, fault)),
        }
        Ok(None)
    }

    fn follow(&mut self, name: &[u8], target: &[u8]) -> Result<(), Error> {
        self.links += 1;
        let (path, rest) = (self.path_of(name), self.pending.len());
        let text = String::from_utf8_lossy(target).into_owned();
        if self.links > MAX_LINKS {
            return Err(Error::Link { path, target: text, fault: LinkFault::Loop });
        }
        if target.starts_with(b"/") {
            return Err(Error::Link { path, target: text, fault: LinkFault::Absolute });
        }
        if !self.lookup.link_budget().take(split(target).count()) {
            return Err(Error::Link { path, target: text, fault: LinkFault::Budget });
        }
        self.link = Some(Link { path, target: text, rest });
        for component in split(target).rev() {
            self.pending.push_front(component.to_owned());
        }
        Ok(())
    }

    fn link_error(&self, fault: LinkFault) -> Option<Error> {
        let Link { path, target, .. } = self.link.as_ref()?;
        Some(Error::Link { path: path.clone(), target: target.clone(), fault })
    }
}

fn split(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}
