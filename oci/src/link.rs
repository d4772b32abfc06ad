//! [`Links`]: where the symbolic links of an image are.
//!
//! The path of an entry can lead through a link. Some engines follow the link, and others replace
//! it with a directory (overlayfs, if a lower layer has the link). So such an entry is refused if
//! any engine could put it at a path that matters.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::io;

use crate::budget::{Budget, Exceeded};
use crate::limit;
use crate::path::{self, Path};
use crate::tar_reader::{Entry, Kind};
use crate::whiteout::Whiteout;

/// The maximum number of links that are followed for one path, as in Linux.
const MAX_FOLLOWED: usize = 40;
/// The memory for a link besides its target, in bytes.
const OVERHEAD: u64 = 64;

/// The possible targets of a link, without duplicates.
type Targets = Vec<Box<[u8]>>;

/// The links of the entries so far.
///
/// It keeps the hashes of their paths, because an image can have a hundred thousand links. The key
/// of the hash is random, so nobody can choose paths with the same hash.
///
/// Whiteouts have no effect. An entry inside a link that was removed is refused too, unless an
/// entry for a directory comes before it.
#[derive(Default)]
pub(crate) struct Links {
    /// The targets of the link at each path. A link has several if only some engines have replaced
    /// it: those that follow another link to its path.
    targets: HashMap<u64, Targets>,
    state: RandomState,
    /// The memory for all links, in bytes.
    size: u64,
}

/// A path that leads through a link.
pub(crate) struct Inside {
    /// The path of an entry, or the target of a hard link.
    pub(crate) path: Path,
    /// The outermost link in it.
    pub(crate) link: Path,
}

impl Links {
    /// Records the entry at `path`. Returns the path that leads through a link if an engine could
    /// put the entry at a path that matters, or could remove such a path by the `whiteout` or
    /// replace it with the directory of the whiteout. Also returns a path that leads through too
    /// many links, which can be the target of a hard link.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit of `budget` is exceeded.
    pub(crate) fn add<R>(
        &mut self,
        path: &[u8],
        entry: &Entry<'_, R>,
        whiteout: Option<Whiteout<'_>>,
        budget: &Budget,
        matters: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Option<Inside>> {
        let is_changed = |place: &Path| {
            let directory = path::parent(place).unwrap_or_default();
            let is_removed = match whiteout {
                None => return matters(place),
                Some(Whiteout::Opaque) => matters(directory),
                Some(Whiteout::Of(hidden)) => matters(&path::join(directory, hidden)),
                Some(Whiteout::Internal | Whiteout::Invalid) => false,
            };
            // Engines create the directory of a whiteout.
            is_removed || !directory.is_empty() && matters(directory)
        };
        let above = self.above(path, budget)?;
        let inside = || above.map(|link| Inside { path: path.to_owned(), link: link.to_owned() });
        let mut places = match above {
            Some(_) => match self.places(path, budget)? {
                Some(places) if !places.iter().any(is_changed) => places,
                _ => return Ok(inside()),
            },
            None => Vec::new(),
        };
        let targets = match entry.kind {
            _ if whiteout.is_some() => return Ok(None),
            kind if kind.is_skipped_by_some() => return Ok(None),
            Kind::Symlink => vec![entry.link.as_slice().into()],
            Kind::HardLink => match self.targets_of_hard_link(&entry.link, budget)? {
                Ok(targets) => targets,
                Err(inside) => return Ok(Some(inside)),
            },
            _ => Targets::new(),
        };
        places.retain(|place| place != path && !targets.is_empty());
        for place in places {
            // Only some engines replace the link that is there.
            self.set(&place, [self.targets(&place), &targets].concat(), budget)?;
        }
        self.set(path, targets, budget)?;
        Ok(None)
    }

    /// Checks whether a link is at `path`.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        !self.targets(path).is_empty()
    }

    /// Returns the outermost link among the parents of `path`.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit of `budget` is exceeded.
    pub(crate) fn above<'p>(
        &self,
        path: &'p [u8],
        budget: &Budget,
    ) -> io::Result<Option<&'p [u8]>> {
        if self.targets.is_empty() {
            return Ok(None);
        }
        count_parts(path, budget)?;
        let mut hasher = self.state.build_hasher();
        // Each part is hashed once. Hashing each parent from its start would take quadratic time.
        Ok(path::parts(path).zip(path::ancestors(path)).find_map(|(part, above)| {
            hash_part(&mut hasher, part);
            self.targets.contains_key(&hasher.finish()).then_some(above)
        }))
    }

    /// Returns all paths at which an engine could put the entry at `path`: it follows each link
    /// among the parents, or replaces it with a directory. Returns `None` if these are too many or
    /// too long.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit of `budget` is exceeded.
    fn places(&self, path: &[u8], budget: &Budget) -> io::Result<Option<Vec<Path>>> {
        let mut places = Vec::new();
        // The paths to examine, each with the length of the part that contains no link to follow.
        let mut pending = vec![(path.to_owned(), 0)];
        while let Some((path, known)) = pending.pop() {
            count_parts(&path, budget)?;
            budget.count_read(limit::PLACE)?;
            let mut resolved: Vec<(&[u8], _)> = Vec::new();
            let mut rest = path.as_slice();
            while let Some((part, next)) = split_first(rest) {
                let is_known = path.len() - rest.len() < known;
                rest = next;
                match part {
                    b"" | b"." => continue,
                    b".." => {
                        resolved.pop();
                        continue;
                    }
                    _ => {}
                }
                let above = resolved.last().map(|(_, hasher): &(_, DefaultHasher)| hasher.clone());
                let mut hasher = above.unwrap_or_else(|| self.state.build_hasher());
                hash_part(&mut hasher, part);
                let targets = self.targets.get(&hasher.finish());
                let targets = targets.filter(|_| !is_known && !rest.is_empty());
                for target in targets.into_iter().flatten() {
                    let directory = match target.first() {
                        Some(b'/') => Path::new(),
                        _ => join(&resolved),
                    };
                    let known = directory.len();
                    let followed = [directory.as_slice(), target, rest].join(&b'/');
                    if path::is_too_long(&followed) || places.len() + pending.len() >= MAX_FOLLOWED
                    {
                        return Ok(None);
                    }
                    pending.push((followed, known));
                }
                resolved.push((part, hasher));
            }
            places.push(join(&resolved));
        }
        // Several targets can lead to one place.
        places.sort_unstable();
        places.dedup();
        Ok(Some(places))
    }

    /// Returns the targets of the symbolic link that a hard link leads to, if it leads to one.
    /// Returns the path of that link instead if it leads through too many links.
    fn targets_of_hard_link(
        &self,
        link: &[u8],
        budget: &Budget,
    ) -> io::Result<Result<Targets, Inside>> {
        let Some(path) = path::normalize(link) else { return Ok(Ok(Targets::new())) };
        let Some(above) = self.above(&path, budget)? else {
            return Ok(Ok(self.targets(&path).to_vec()));
        };
        let Some(places) = self.places(&path, budget)? else {
            let link = above.to_owned();
            return Ok(Err(Inside { path, link }));
        };
        Ok(Ok(places.iter().flat_map(|place| self.targets(place)).cloned().collect()))
    }

    /// Returns the targets of the link at `path`. Without a link, they are empty.
    fn targets(&self, path: &[u8]) -> &[Box<[u8]>] {
        self.targets.get(&self.hash(path)).map_or(&[], Vec::as_slice)
    }

    /// Records an entry at `path`, which is a link if it has targets.
    ///
    /// # Errors
    ///
    /// Returns an error if the links take more memory than the names of an image may, or if copying
    /// their targets takes too much time.
    fn set(&mut self, path: &[u8], mut targets: Targets, budget: &Budget) -> io::Result<()> {
        if targets.is_empty() && self.targets.is_empty() {
            return Ok(());
        }
        targets.sort();
        targets.dedup();
        let size = |targets: &Targets| {
            targets.iter().map(|target| OVERHEAD + target.len() as u64).sum::<u64>()
        };
        let hash = self.hash(path);
        budget.count_read(size(&targets))?;
        self.size += size(&targets);
        let before = if targets.is_empty() {
            self.targets.remove(&hash)
        } else {
            self.targets.insert(hash, targets)
        };
        self.size -= before.as_ref().map_or(0, size);
        let limit = budget.limits.names;
        if self.size > limit { Err(Exceeded::Names { limit }.into()) } else { Ok(()) }
    }

    fn hash(&self, path: &[u8]) -> u64 {
        let mut hasher = self.state.build_hasher();
        path::parts(path).for_each(|part| hash_part(&mut hasher, part));
        hasher.finish()
    }
}

/// Counts the time to look up each part of `path`, and to copy and hash its bytes.
fn count_parts(path: &[u8], budget: &Budget) -> io::Result<()> {
    let n_parts = 1 + path::ancestors(path).count() as u64;
    budget.count_read(limit::PART * n_parts + path.len() as u64)
}

fn hash_part(hasher: &mut DefaultHasher, part: &[u8]) {
    hasher.write(part);
    hasher.write_u8(b'/');
}

/// Splits `path` at its first slash. Returns `None` if it is empty.
fn split_first(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = path.iter().position(|byte| *byte == b'/');
    match end {
        Some(end) => Some((path.get(..end)?, path.get(end + 1..)?)),
        None => (!path.is_empty()).then_some((path, b"")),
    }
}

fn join(parts: &[(&[u8], DefaultHasher)]) -> Path {
    parts.iter().map(|(part, _)| *part).collect::<Vec<_>>().join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn links(links: &[(&str, &str)]) -> Links {
        let budget = Budget::new(Limits::default());
        let mut all = Links::default();
        for (path, target) in links {
            let targets = [all.targets(path.as_bytes()), &[target.as_bytes().into()]].concat();
            all.set(path.as_bytes(), targets, &budget).unwrap();
        }
        all
    }

    fn places(links: &Links, path: &str) -> Option<Vec<String>> {
        let budget = Budget::new(Limits::default());
        let places = links.places(path.as_bytes(), &budget).unwrap()?;
        Some(places.into_iter().map(|place| String::from_utf8(place).unwrap()).collect())
    }

    #[test]
    fn each_place_that_an_engine_could_choose_is_checked() {
        let links = links(&[
            ("lib", "usr/lib"),
            ("usr/lib/x", "/opt/x"),
            ("opt/x", "../manifests"),
            ("up", "a/l/.."),
            ("a/l", "/manifests/sub"),
            ("A", "x/y/t"),
            ("A/B", "../manifests"),
            ("x/y/t/B", "../manifests"),
            ("two", "one"),
            ("two", "./one"),
            ("two", "/opt"),
        ]);
        for (path, expected) in [
            ("usr/lib/a", &["usr/lib/a"][..]),
            ("lib", &["lib"]),
            ("lib/a", &["lib/a", "usr/lib/a"]),
            ("lib/x/a", &["lib/x/a", "usr/lib/x/a", "opt/x/a", "manifests/a"]),
            ("up/a", &["up/a", "a/a", "manifests/a"]),
            ("two/a", &["two/a", "one/a", "opt/a"]),
            ("A/B/a", &["A/B/a", "manifests/a", "x/y/t/B/a", "x/y/manifests/a"]),
        ] {
            let mut found = places(&links, path).unwrap();
            let mut expected = expected.to_vec();
            found.sort();
            expected.sort_unstable();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn more_places_than_links_that_may_be_followed_are_refused() {
        let chain = |n: usize| {
            let names: Vec<_> = (0..=n).map(|at| format!("l{at}")).collect();
            let pairs: Vec<_> = names.windows(2).map(|it| (&*it[0], &*it[1])).collect();
            places(&links(&pairs), "l0/x").map(|places| places.len())
        };
        assert_eq!((chain(MAX_FOLLOWED), chain(MAX_FOLLOWED + 1)), (Some(MAX_FOLLOWED + 1), None));
        assert_eq!(places(&links(&[("a", "b"), ("b", "a")]), "a/x"), None);
        let deep = "a/".repeat(100);
        assert_eq!(places(&links(&[("l", &deep)]), &format!("l/{deep}x")), None);
    }

    #[test]
    fn links_may_be_replaced_and_have_a_limit() {
        let budget = Budget::new(Limits::default().with_names(200));
        let mut links = Links::default();
        let target = |length| vec![vec![b'x'; length].into()];
        links.set(b"a", target(100), &budget).unwrap();
        links.set(b"a", target(1), &budget).unwrap();
        links.set(b"b", target(1), &budget).unwrap();
        assert_eq!(links.above(b"a/b/c", &budget).unwrap(), Some(&b"a"[..]));
        links.set(b"a", Targets::new(), &budget).unwrap();
        assert_eq!(links.above(b"a/b/c", &budget).unwrap(), None);
        assert!(links.set(b"c", target(100), &budget).is_err());
    }

    #[test]
    fn each_target_of_a_link_counts_as_memory_and_as_time() {
        let all: Targets = (0..10_u8).map(|at| Box::from([at].as_slice())).collect();
        let set_twice = |budget: Budget| {
            let mut links = Links::default();
            [b"a", b"b"].iter().all(|path| links.set(*path, all.clone(), &budget).is_ok())
        };
        // Ten targets with 65 bytes each, twice.
        for (size, is_allowed) in [(1_299, false), (1_300, true)] {
            let names = Limits::default().with_names(size);
            let read = Limits::default().with_unpacked(size);
            assert_eq!([names, read].map(|it| set_twice(Budget::new(it))), [is_allowed; 2]);
        }
    }
}
