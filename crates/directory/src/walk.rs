//! Does what `openat2(RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS)` does, for kernels
//! without it: opens one component at a time, and resolves links itself.
//!
//! For `..`, the walk returns to the folder that it came from without asking the file system, so
//! that moving a folder in the meantime cannot lead it out. A magic link (`/proc/self/fd/3`) is
//! resolved by its text, which does not name an existing file.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, RawMode, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use unlade_bundle::source::{Error, LinkFault};

use super::beneath::Folder;
use super::place::Place;

/// The maximum number of links, which is that of the kernel (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// Finds the file at `path` beneath `folder`.
pub(super) fn place(folder: &Folder, path: &str) -> Result<Place, Error> {
    let (walk, end) = Walk::resolve(folder, path)?;
    match end {
        Some((_, place)) => Ok(place),
        None => folder.look_up(walk.here(), ".").map_err(|errno| walk.system_error(".", errno)),
    }
}

/// Opens `path` beneath `folder`.
pub(super) fn open(folder: &Folder, path: &str, flags: OFlags) -> Result<OwnedFd, Error> {
    let (walk, end) = Walk::resolve(folder, path)?;
    let name = end.as_ref().map_or(".", |(name, _)| name);
    openat(walk.here(), name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|errno| {
        match (errno, &end) {
            (Errno::ACCESS, Some((name, place))) => {
                unreadable(walk.path_of(name), place.stat.st_mode)
            }
            _ => walk.system_error(name, errno),
        }
    })
}

/// A path that is being resolved.
struct Walk<'a> {
    folder: &'a Folder,
    /// The folders from `folder` to the current one, with their names.
    inside: Vec<(OwnedFd, String)>,
    /// The components that are not resolved yet.
    pending: VecDeque<String>,
    /// The number of links that were followed.
    links: usize,
    /// The link whose target is being resolved.
    link: Option<Link>,
}

/// A link whose target is being resolved.
struct Link {
    path: String,
    target: String,
    /// The number of components that are pending after its target is resolved.
    rest: usize,
}

impl<'a> Walk<'a> {
    /// Resolves `path`. Returns the name and the place of its end, or `None` if that is the current
    /// folder, which is the case if the path ends with a folder, `.` or `..`.
    fn resolve(folder: &'a Folder, path: &str) -> Result<(Self, Option<(String, Place)>), Error> {
        if path.starts_with('/') {
            return Err(Error::Outside { path: path.to_owned() });
        }
        let mut walk = Self {
            folder,
            inside: Vec::new(),
            pending: path.split('/').map(str::to_owned).collect(),
            links: 0,
            link: None,
        };
        while let Some(component) = walk.next() {
            match component.as_str() {
                "" | "." => {}
                ".." => walk.up(path)?,
                name => {
                    if let Some(place) = walk.step(name)? {
                        return Ok((walk, Some((component, place))));
                    }
                }
            }
        }
        Ok((walk, None))
    }

    fn next(&mut self) -> Option<String> {
        let component = self.pending.pop_front()?;
        self.link.take_if(|link| self.pending.len() < link.rest);
        Some(component)
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.inside.last().map_or(self.folder.as_fd(), |(fd, _)| fd.as_fd())
    }

    fn up(&mut self, path: &str) -> Result<(), Error> {
        if self.inside.pop().is_some() {
            return Ok(());
        }
        Err(self
            .link_error(LinkFault::Outside)
            .unwrap_or_else(|| Error::Outside { path: self.folder.path_of(path) }))
    }

    /// Resolves the component `name`. Returns its place if it is the end of the path and not a
    /// folder.
    fn step(&mut self, name: &str) -> Result<Option<Place>, Error> {
        let failed = |errno| self.system_error(name, errno);
        let place = self.folder.look_up(self.here(), name).map_err(failed)?;
        if place.mount().map_err(failed)? != self.folder.mount() {
            return Err(self
                .link_error(LinkFault::Mount)
                .unwrap_or_else(|| Error::Mount { path: self.path_of(name) }));
        }
        match place.file_type() {
            FileType::Symlink => self.follow(name, &place)?,
            FileType::Directory => match place.enter(self.here(), name).map_err(failed)? {
                Some(fd) => self.inside.push((fd, name.to_owned())),
                None => return Err(Error::Changed { path: self.path_of(name) }),
            },
            _ if !self.pending.is_empty() => return Err(self.system_error(name, Errno::NOTDIR)),
            _ => return Ok(Some(place)),
        }
        Ok(None)
    }

    fn follow(&mut self, name: &str, place: &Place) -> Result<(), Error> {
        let target = place.read_link(self.here(), name);
        let target = target.map_err(|errno| self.system_error(name, errno))?;
        let text = target.to_string_lossy().into_owned();
        self.links += 1;
        self.link = Some(Link { path: self.path_of(name), target: text, rest: self.pending.len() });
        let fault = match target.to_str() {
            _ if self.links > MAX_LINKS => LinkFault::Loop,
            Ok(target) if target.starts_with('/') => LinkFault::Absolute,
            Ok(target) => {
                for component in target.split('/').rev() {
                    self.pending.push_front(component.to_owned());
                }
                return Ok(());
            }
            // A file name that is not UTF-8 is refused anyway.
            Err(_) => LinkFault::Dangling,
        };
        Err(self.link_error(fault).unwrap_or_else(|| self.system_error(name, Errno::LOOP)))
    }

    fn system_error(&self, name: &str, errno: Errno) -> Error {
        let fault = match errno {
            Errno::NOENT => Some(LinkFault::Dangling),
            Errno::NOTDIR => Some(LinkFault::NotADirectory),
            _ => None,
        };
        if let Some(error) = fault.and_then(|fault| self.link_error(fault)) {
            return error;
        }
        let path = self.path_of(name);
        match errno {
            // The user may not enter the folder.
            Errno::ACCESS => match fstat(self.here()) {
                Ok(stat) => unreadable(self.path_of(""), stat.st_mode),
                Err(errno) => Error::System { path, source: errno.into() },
            },
            Errno::NOENT => Error::Missing { path },
            Errno::NOTDIR => Error::NotADirectory { path },
            _ => Error::System { path, source: errno.into() },
        }
    }

    fn link_error(&self, fault: LinkFault) -> Option<Error> {
        let Link { path, target, .. } = self.link.as_ref()?;
        Some(Error::Link { path: path.clone(), target: target.clone(), fault })
    }

    fn path_of(&self, name: &str) -> String {
        let folders = self.inside.iter().map(|(_, folder)| folder.as_str());
        let path = folders.chain(Some(name).filter(|name| !name.is_empty()));
        let path = path.collect::<Vec<_>>().join("/");
        self.folder.path_of(&path)
    }
}

fn unreadable(path: String, mode: RawMode) -> Error {
    Error::Unreadable { path, uid: geteuid().as_raw(), mode: widened(mode) & 0o7777 }
}

/// The mode in 32 bits. macOS has 16.
fn widened(mode: impl Into<u32>) -> u32 {
    mode.into()
}
