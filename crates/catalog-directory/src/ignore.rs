//! The patterns of `.indexignore` files, as joelanford/ignore and go-git read them.
//!
//! They differ from those of git, and of the libraries for git's rules (docs/decisions/0031): only
//! files are tested, so a file in an excluded directory can be included again; the last pattern
//! that matches decides; blanks at the end of a line are never a part of a pattern; and `[!x]` is
//! the class of `!` and `x`.

mod glob;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use glob::Glob;

/// The limit of Go's `bufio.Scanner` for a line, in bytes.
const MAX_LINE: usize = 64 << 10;

/// The maximum size of all patterns, in bytes. Each byte can take 100 bytes of memory.
pub(crate) const MAX_PATTERNS: u64 = 1 << 20;

/// What an `.indexignore` has too much of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// A line is too long.
    Line,
    /// All files together have too many patterns.
    Patterns,
    /// All patterns together are too long.
    Size,
}

/// The patterns of all `.indexignore` files of a catalog.
#[derive(Debug, Default)]
pub(crate) struct Ignore {
    patterns: Vec<Pattern>,
    /// The number of bytes in all patterns.
    n_bytes: u64,
}

#[derive(Debug)]
struct Pattern {
    /// The directory of its file.
    domain: Rc<[String]>,
    /// Whether it includes files again.
    is_inclusion: bool,
    /// Whether it matches only directories.
    is_directory: bool,
    /// Whether it is a path, and not a name at any depth.
    is_path: bool,
    parts: Vec<Part>,
}

/// A pattern for one part of a path.
#[derive(Debug)]
enum Part {
    /// Nothing, between two slashes.
    Empty,
    /// `**`: any number of directories.
    Directories,
    /// A name without special characters.
    Name(String),
    Glob(Glob),
    /// The pattern is malformed, or contains `**` beside other characters, and never matches.
    Never,
}

impl Ignore {
    /// Adds the patterns of an `.indexignore` in the directory `domain`. Add the files in the order
    /// of the walk. All files together may have `limit` patterns.
    pub(crate) fn add(&mut self, domain: &str, text: &[u8], limit: usize) -> Result<(), Excess> {
        let domain: Rc<[_]> =
            domain.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        for line in text.split(|&byte| byte == b'\n') {
            if line.len() >= MAX_LINE {
                return Err(Excess::Line);
            }
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                self.n_bytes += line.len() as u64;
                if self.patterns.len() >= limit {
                    return Err(Excess::Patterns);
                }
                if self.n_bytes > MAX_PATTERNS {
                    return Err(Excess::Size);
                }
                self.patterns.push(Pattern::new(line, Rc::clone(&domain)));
            }
        }
        Ok(())
    }

    /// Returns an upper bound of the work that [`Self::is_ignored`] does for a path of this length,
    /// in comparisons of two characters.
    pub(crate) fn work(&self, path: &str) -> u64 {
        self.n_bytes.saturating_mul(path.len() as u64)
    }

    /// Checks whether the file at `path` does not belong to the catalog.
    pub(crate) fn is_ignored(&self, path: &str) -> bool {
        let path: Vec<_> = path.split('/').collect();
        let last = self.patterns.iter().rev().find(|pattern| pattern.matches(&path));
        last.is_some_and(|pattern| !pattern.is_inclusion)
    }
}

impl Pattern {
    fn new(text: &str, domain: Rc<[String]>) -> Self {
        let (is_inclusion, text) = match text.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (is_directory, text) = match text.strip_suffix('/') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let is_path = text.contains('/');
        let parts = text.split('/').map(|part| Part::new(part, is_path)).collect();
        Self { domain, is_inclusion, is_directory, is_path, parts }
    }

    fn matches(&self, path: &[&str]) -> bool {
        let Some((domain, path)) = path.split_at_checked(self.domain.len()) else { return false };
        if path.is_empty() || domain != &*self.domain {
            return false;
        }
        if self.is_path {
            return self.matches_path(path);
        }
        let Some(part) = self.parts.first() else { return false };
        match path.iter().position(|name| part.matches(name)) {
            Some(at) => !(self.is_directory && at + 1 == path.len()),
            None => false,
        }
    }

    /// Does the same as go-git's `globMatch`. The part after `**` takes the first name that it
    /// matches, and never another.
    fn matches_path(&self, mut path: &[&str]) -> bool {
        let (mut is_matched, mut can_skip) = (false, false);
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Empty => {
                    can_skip = false;
                    continue;
                }
                Part::Directories if index + 1 == self.parts.len() => break,
                Part::Directories => {
                    can_skip = true;
                    continue;
                }
                _ if path.is_empty() => return false,
                _ => {}
            }
            let found = if can_skip {
                path.iter().position(|name| part.matches(name))
            } else {
                path.first().is_some_and(|name| part.matches(name)).then_some(0)
            };
            is_matched = found.is_some();
            match found {
                Some(at) => path = path.get(at + 1..).unwrap_or(&[]),
                None if can_skip => path = &[],
                None => return false,
            }
            can_skip = false;
        }
        is_matched && !(self.is_directory && path.is_empty())
    }
}

impl Part {
    fn new(text: &str, is_in_path: bool) -> Self {
        match text {
            "" => return Self::Empty,
            "**" if is_in_path => return Self::Directories,
            _ if is_in_path && text.contains("**") => return Self::Never,
            _ => {}
        }
        if !text.contains(['*', '?', '[', '\\']) {
            return Self::Name(text.to_owned());
        }
        Glob::new(text).map_or(Self::Never, Self::Glob)
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Glob(glob) => glob.is_match(name),
            Self::Empty | Self::Directories | Self::Never => false,
        }
    }
}
