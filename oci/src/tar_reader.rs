//! Reads tar streams entry by entry, as Go's `archive/tar` does.
//!
//! All engines that unpack images are written in Go. If this module and Go read a stream
//! differently, one digest would stand for two images. So this module follows Go's reader
//! (`archive/tar/reader.go` of Go 1.26), but is stricter: a stream that Go accepts but other
//! readers read differently is an error, for example a PAX record that occurs twice. A test
//! compares both readers (`tests/tests/dialect`).

mod fault;
mod header;
mod number;
mod pax;
mod sparse;
mod stream;

use std::io::{self, Read, Seek, Take};

use crate::budget::Budget;
use crate::compression;
use crate::limit::Limits;
use crate::path;
use fault::{Fault, Malformed};
use header::{Format, Header};
use pax::Pax;
use stream::{BLOCK, Block, Stream, ZEROS};

/// The kind of an entry of a tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File,
    /// A regular file with holes, whose data is laid out differently from the file.
    Sparse,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A hard link to a file.
    HardLink,
    /// A character or block device.
    Device,
    /// A FIFO.
    Fifo,
    /// PAX records for all following entries. Engines ignore them, but not the path: they create
    /// its parent directories, and remove what is at it.
    GlobalHeader,
    /// A kind that is unknown to Go, by its type flag.
    Other(u8),
}

impl Kind {
    /// Checks whether only some engines replace what is at the path of such an entry, or carry out
    /// its whiteout. containerd skips devices if it runs without root.
    pub(crate) fn is_skipped_by_some(self) -> bool {
        matches!(self, Self::Device | Self::GlobalHeader)
    }
}

/// An entry of a tar. Reading it reads its data.
#[derive(Debug)]
pub struct Entry<'a, R> {
    /// The path as written, from the header or record that takes precedence.
    pub path: Vec<u8>,
    /// The kind of entry.
    pub kind: Kind,
    /// The target of a link, as written.
    pub link: Vec<u8>,
    /// The size of its data in the stream, in bytes.
    pub size: u64,
    /// The offset of its data in the stream, in bytes.
    pub offset: u64,
    data: Take<&'a mut R>,
}

impl<R> Entry<'_, R> {
    /// Returns the path or the target of the link, whichever is too long.
    pub(crate) fn long_path(&self) -> Option<&[u8]> {
        [&self.path, &self.link].into_iter().map(Vec::as_slice).find(|path| path::is_too_long(path))
    }
}

impl<R: Read> Read for Entry<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

/// Calls `visit` for each entry of the tar in `reader`. Data that `visit` does not read is skipped.
///
/// # Errors
///
/// Returns an error if `visit` fails, if the stream fails or ends early, if Go rejects the tar, if
/// readers read it differently, or if [`Limits::entries`] or [`Limits::header`] is exceeded.
pub fn each<R: Read, E: From<io::Error>>(
    reader: R,
    limits: &Limits,
    visit: impl FnMut(&mut Entry<'_, R>) -> Result<(), E>,
) -> Result<(), E> {
    each_within(reader, &Budget::new(limits.clone()), visit)
}

/// Does the same as [`each`], within a budget.
pub(crate) fn each_within<R: Read, E: From<io::Error>>(
    reader: R,
    budget: &Budget,
    visit: impl FnMut(&mut Entry<'_, R>) -> Result<(), E>,
) -> Result<(), E> {
    walk(Stream::new(reader, budget), visit)
}

/// Does the same as [`each_within`], but seeks over the data that `visit` does not read.
pub(crate) fn each_seeking<R: Read + Seek, E: From<io::Error>>(
    reader: R,
    budget: &Budget,
    visit: impl FnMut(&mut Entry<'_, R>) -> Result<(), E>,
) -> Result<(), E> {
    walk(Stream::seeking(reader, budget), visit)
}

/// Reads the first block of `reader`, or fewer bytes at its end.
pub(crate) fn start(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(BLOCK as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Checks whether a file that begins with `start` is a tar or compressed data. The first 512 bytes
/// are enough.
pub fn is_archive(start: &[u8]) -> bool {
    compression::is_compressed(start) || (start.len() >= BLOCK && is_tar(start))
}

/// Checks whether a stream that starts with this block is a tar, possibly an empty one.
pub(crate) fn is_tar(start: &[u8]) -> bool {
    let mut block = ZEROS;
    block.iter_mut().zip(start).for_each(|(to, from)| *to = *from);
    block == ZEROS || header::has_checksum(&block)
}

fn walk<R: Read, E: From<io::Error>>(
    mut tar: Stream<'_, R>,
    mut visit: impl FnMut(&mut Entry<'_, R>) -> Result<(), E>,
) -> Result<(), E> {
    while let Some(Found { path, kind, link, size }) = next(&mut tar)? {
        tar.budget.count_entry()?;
        let offset = tar.position;
        let data = tar.reader.by_ref().take(size);
        let mut entry = Entry { path, kind, link, size, offset, data };
        visit(&mut entry)?;
        let left = entry.data.limit();
        tar.skip_data(size, left)?;
    }
    Ok(())
}

/// The description of an entry in its headers.
struct Found {
    path: Vec<u8>,
    kind: Kind,
    link: Vec<u8>,
    size: u64,
}

/// The extended headers of the next entry.
#[derive(Default)]
struct Pending {
    pax: Option<Pax>,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.pax.is_none() && self.path.is_none() && self.link.is_none()
    }
}

/// Reads the headers of the next entry. Returns `None` at the end.
fn next<R: Read>(tar: &mut Stream<'_, R>) -> io::Result<Option<Found>> {
    let position = tar.position;
    tar.start_entry();
    read_entry(tar).map_err(|error| match error.downcast::<Fault>() {
        Ok(fault) => io::Error::new(io::ErrorKind::InvalidData, Malformed { position, fault }),
        Err(error) => error,
    })
}

fn read_entry<R: Read>(tar: &mut Stream<'_, R>) -> io::Result<Option<Found>> {
    let mut pending = Pending::default();
    loop {
        let Some(block) = tar.read_header()? else {
            return if pending.is_empty() { Ok(None) } else { Err(Fault::Dangling.into()) };
        };
        let header = Header::parse(&block)?;
        let is_first = match header.flag {
            b'x' => {
                let pax = Pax::parse(&tar.read_extended(header.size)?)?;
                pending.pax.replace(pax).is_none()
            }
            b'g' => {
                Pax::parse(&tar.read_extended(header.size)?)?.check_global()?;
                // Go drops the extended headers before it.
                if !pending.is_empty() {
                    return Err(Fault::Dangling.into());
                }
                let (path, link) = (header.path, Vec::new());
                return Ok(Some(Found { path, kind: Kind::GlobalHeader, link, size: 0 }));
            }
            b'L' => pending.path.replace(long_name(tar.read_extended(header.size)?)?).is_none(),
            b'K' => pending.link.replace(long_name(tar.read_extended(header.size)?)?).is_none(),
            _ => return combine(tar, header, &block, pending).map(Some),
        };
        if !is_first {
            return Err(Fault::TwoHeaders.into());
        }
    }
}

/// Combines `header` and the extended headers before it into an entry. Reads the map of a sparse
/// file, which may follow them.
fn combine<R: Read>(
    tar: &mut Stream<'_, R>,
    header: Header,
    block: &Block,
    pending: Pending,
) -> io::Result<Found> {
    let pax = pending.pax.unwrap_or_default();
    let path = only_value("path", pending.path, pax.path)?.unwrap_or(header.path);
    let link = only_value("linkpath", pending.link, pax.link)?.unwrap_or(header.link);
    let size = pax.size.unwrap_or(header.size);
    let mut found = Found { kind: kind(header.flag, &path), path, link, size };
    // Go ignores the size of other kinds, and reads no data for them (`isHeaderOnlyType`). No
    // correct writer sets a size there.
    if size > 0 && !matches!(found.kind, Kind::File | Kind::Sparse | Kind::Other(_)) {
        return Err(Fault::Data.into());
    }
    if found.kind == Kind::HardLink && !path::is_clean_target(&found.link) {
        return Err(Fault::HardLink.into());
    }
    match (found.kind, pax.sparse) {
        (Kind::Sparse, None) if header.format == Format::Gnu => {
            // As in Go, the header counts towards the limit for maps.
            tar.count_header_bytes(BLOCK as u64)?;
            sparse::read_from_header(block, || tar.block())?.check(size)?;
        }
        (Kind::File, Some(records)) => {
            let map = if records.is_map_in_data()? {
                sparse::read_from_data(|| {
                    found.size = found.size.checked_sub(BLOCK as u64).ok_or(Fault::Sparse)?;
                    tar.block()
                })?
            } else {
                records.map()?
            };
            map.with_size(records.size().unwrap_or(size)).check(found.size)?;
            found.path = records.name.unwrap_or(found.path);
            found.kind = Kind::Sparse;
        }
        (Kind::Sparse, _) | (_, Some(_)) => return Err(Fault::Sparse.into()),
        (_, None) => {}
    }
    Ok(found)
}

fn kind(flag: u8, path: &[u8]) -> Kind {
    match flag {
        // Unix V7 archives have no type flag for directories.
        0 if path.ends_with(b"/") => Kind::Directory,
        0 | b'0' => Kind::File,
        b'1' => Kind::HardLink,
        b'2' => Kind::Symlink,
        b'3' | b'4' => Kind::Device,
        b'5' => Kind::Directory,
        b'6' => Kind::Fifo,
        b'S' => Kind::Sparse,
        other => Kind::Other(other),
    }
}

/// Parses a long name of GNU tar, which ends at a NUL.
fn long_name(mut text: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    text.truncate(end);
    // Go uses the name in the header instead of an empty one, and truncates other names at a NUL.
    if text.is_empty() || text.contains(&0) { Err(Fault::LongName) } else { Ok(text) }
}

/// Returns the only value. Two values are an error, because readers disagree about which one takes
/// precedence.
fn only_value(
    name: &'static str,
    long: Option<Vec<u8>>,
    record: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Fault> {
    if long.is_some() && record.is_some() { Err(Fault::Twice(name)) } else { Ok(long.or(record)) }
}
