//! [`Links`]: where the symbolic links of an image are.
//!
//! The path of an entry can lead through a link. Some engines follow the link, and others replace
//! it with a directory (overlayfs, if a lower layer has the link). So such an entry is refused if
//! any engine could put it at a path that matters.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;

use crate::budget::{Budget, Exceeded};
use crate::path::{self, Path};
use crate::tar_reader::{Entry, Kind};
use crate::whiteout::Whiteout;

/// The maximum number of links that are followed for one path, as in Linux.
const MAX_FOLLOWED: usize = 40;
/// The memory for a link besides its target, in bytes.
const OVERHEAD: u64 = 64;

/// The links of the entries so far.
///
/// It keeps the hashes of their paths, because an image can have a hundred thousand links. The key
/// of the hash is random, so nobody can choose paths with the same hash.
///
/// Whiteouts have no effect. An entry inside a link that was removed is refused too, unless an
/// entry for a directory comes before it.
#[derive(Default)]
pub(crate) struct Links {
    targets: HashMap<u64, Box<[u8]>>,
    state: RandomState,
    /// The memory for all links, in bytes.
    size: u64,
}

/// An entry whose path leads through a link.
struct Redirect<'p> {
    /// The outermost link in its path.
    above: &'p [u8],
    /// The path that follows all links. `None` if it follows too many, or if an engine could put
    /// the entry at a path that matters.
    path: Option<Path>,
}

impl Links {
    /// Records the entry at `path`. Returns the outermost link in its path if an engine could put
    /// the entry at a path that matters, or could remove such a path by the `whiteout`.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit of `budget` is exceeded.
    pub(crate) fn add<'p, R>(
        &mut self,
        path: &'p [u8],
        entry: &Entry<'_, R>,
        whiteout: Option<Whiteout<'_>>,
        budget: &Budget,
        matters: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Option<&'p [u8]>> {
        let is_changed = |place: &[u8]| {
            let directory = path::parent(place).unwrap_or_default();
            match whiteout {
                None => matters(place),
                Some(Whiteout::Opaque) => matters(directory),
                Some(Whiteout::Of(hidden)) => matters(&path::join(directory, hidden)),
                Some(Whiteout::Internal | Whiteout::Invalid) => false,
            }
        };
        let redirected = match self.follow(path, budget, is_changed)? {
            Some(Redirect { above, path: None }) => return Ok(Some(above)),
            Some(Redirect { path, .. }) => path,
            None => None,
        };
        let target = match entry.kind {
            // It adds nothing, and only some engines remove what is at its path.
            _ if whiteout.is_some() => return Ok(None),
            Kind::GlobalHeader => return Ok(None),
            Kind::Symlink => Some(entry.link.clone()),
            Kind::HardLink => self.target_of_hard_link(&entry.link, budget)?,
            _ => None,
        };
        self.set(path, target.as_deref(), budget)?;
        if let (Some(redirected), Some(target)) = (redirected, target) {
            self.set(&redirected, Some(&target), budget)?;
        }
        Ok(None)
    }

    /// Returns the outermost link among the parents of `path`.
    pub(crate) fn above<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let mut hasher = self.state.build_hasher();
        // Each part is hashed once. Hashing each parent from its start would take quadratic time.
        path::parts(path).zip(path::ancestors(path)).find_map(|(part, above)| {
            hasher.write(part);
            hasher.write_u8(b'/');
            self.targets.contains_key(&hasher.clone().finish()).then_some(above)
        })
    }

    /// Follows the links in the parents of `path`, if there are any. `matters` returns whether an
    /// entry at a path matters.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit of `budget` is exceeded.
    fn follow<'p>(
        &self,
        path: &'p [u8],
        budget: &Budget,
        matters: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Option<Redirect<'p>>> {
        let Some(above) = self.above(path) else { return Ok(None) };
        let refused = Some(Redirect { above, path: None });
        let mut followed = 0;
        let mut rest: Vec<Path> = path::parts(path).rev().map(<[u8]>::to_owned).collect();
        let mut resolved = Path::new();
        while let Some(part) = rest.pop() {
            if part == b".." {
                resolved.truncate(path::parent(&resolved).map_or(0, <[u8]>::len));
                continue;
            }
            let next = path::join(&resolved, &part);
            let target = self.target(&next).filter(|_| !rest.is_empty());
            let Some(target) = target else {
                resolved = next;
                continue;
            };
            // An engine may also replace this link with a directory.
            let here = rest.iter().rev().fold(next.clone(), |path, part| path::join(&path, part));
            budget.count_read(here.len() as u64)?;
            followed += 1;
            if followed > MAX_FOLLOWED
                || path::is_too_long(&here)
                || path::normalize(&here).is_none_or(|here| matters(&here))
            {
                return Ok(refused);
            }
            if target.starts_with(b"/") {
                resolved.clear();
            }
            let parts = path::parts(target).filter(|part| *part != b".");
            rest.extend(parts.rev().map(<[u8]>::to_owned));
        }
        if matters(&resolved) {
            return Ok(refused);
        }
        Ok(Some(Redirect { above, path: Some(resolved) }))
    }

    /// Returns the target of the symbolic link that a hard link leads to, if it leads to one.
    fn target_of_hard_link(&self, link: &[u8], budget: &Budget) -> io::Result<Option<Path>> {
        let Some(path) = path::normalize(link) else { return Ok(None) };
        let redirect = self.follow(&path, budget, |_| false)?;
        let path = redirect.and_then(|it| it.path).unwrap_or(path);
        Ok(self.target(&path).map(<[u8]>::to_owned))
    }

    /// Returns the target of the link at `path`, if one is there.
    fn target(&self, path: &[u8]) -> Option<&[u8]> {
        self.targets.get(&self.hash(path)).map(AsRef::as_ref)
    }

    /// Records an entry at `path`, which is a link if it has a target.
    ///
    /// # Errors
    ///
    /// Returns an error if the links take more memory than the names of an image may.
    fn set(&mut self, path: &[u8], target: Option<&[u8]>, budget: &Budget) -> io::Result<()> {
        if target.is_none() && self.targets.is_empty() {
            return Ok(());
        }
        let hash = self.hash(path);
        let size = |target: &[u8]| OVERHEAD + target.len() as u64;
        let before = match target {
            Some(target) => {
                self.size += size(target);
                self.targets.insert(hash, target.into())
            }
            None => self.targets.remove(&hash),
        };
        self.size -= before.as_deref().map_or(0, size);
        let limit = budget.limits.names;
        if self.size > limit { Err(Exceeded::Names { limit }.into()) } else { Ok(()) }
    }

    fn hash(&self, path: &[u8]) -> u64 {
        let mut hasher = self.state.build_hasher();
        for part in path::parts(path) {
            hasher.write(part);
            hasher.write_u8(b'/');
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn links(links: &[(&str, &str)]) -> Links {
        let budget = Budget::new(Limits::default());
        let mut all = Links::default();
        for (path, target) in links {
            all.set(path.as_bytes(), Some(target.as_bytes()), &budget).unwrap();
        }
        all
    }

    /// Returns the paths at which an engine could put the entry, the last one first.
    fn places(links: &Links, path: &str) -> Vec<String> {
        let places = std::cell::RefCell::new(Vec::new());
        let budget = Budget::new(Limits::default());
        let matters = |path: &[u8]| {
            places.borrow_mut().push(String::from_utf8(path.to_owned()).unwrap());
            false
        };
        links.follow(path.as_bytes(), &budget, matters).unwrap();
        places.into_inner()
    }

    #[test]
    fn each_place_that_an_engine_could_choose_is_checked() {
        let links = links(&[
            ("lib", "usr/lib"),
            ("usr/lib/x", "/opt/x"),
            ("opt/x", "../manifests"),
            ("up", "a/l/.."),
            ("a/l", "/manifests/sub"),
        ]);
        for (path, expected) in [
            ("usr/lib/a", &[][..]),
            ("lib", &[]),
            ("lib/a", &["lib/a", "usr/lib/a"]),
            ("lib/x/a", &["lib/x/a", "usr/lib/x/a", "opt/x/a", "manifests/a"]),
            ("up/a", &["up/a", "a/a", "manifests/a"]),
        ] {
            assert_eq!(places(&links, path), expected, "{path}");
        }
    }

    #[test]
    fn a_path_through_a_loop_is_refused() {
        let links = links(&[("a", "b"), ("b", "a")]);
        let budget = Budget::new(Limits::default());
        let redirect = links.follow(b"a/x", &budget, |_| false).unwrap().unwrap();
        assert_eq!((redirect.above, redirect.path), (&b"a"[..], None));
    }

    #[test]
    fn links_may_be_replaced_and_have_a_limit() {
        let budget = Budget::new(Limits::default().with_names(200));
        let mut links = Links::default();
        links.set(b"a", Some(&[b'x'; 100]), &budget).unwrap();
        links.set(b"a", Some(b"y"), &budget).unwrap();
        links.set(b"b", Some(b"y"), &budget).unwrap();
        assert_eq!(links.above(b"a/b/c"), Some(&b"a"[..]));
        links.set(b"a", None, &budget).unwrap();
        assert_eq!(links.above(b"a/b/c"), None);
        assert!(links.set(b"c", Some(&[b'x'; 100]), &budget).is_err());
    }
}
