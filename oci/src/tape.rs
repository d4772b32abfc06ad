//! Tar streams, entry by entry, against hostile headers.
//!
//! The `tar` crate reads long names and PAX records of any size into memory before it gives back
//! the entry that they belong to. So its reader stands behind a gate that lets through only so
//! many bytes between one entry's data and the next.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use tar::{Archive, Entries, Entry, EntryType, Header};

use crate::budget::{Budget, Exceeded};

const BLOCK: u64 = 512;
/// Where a header has its checksum, which is made with blanks in its place.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// The first block of `reader`, or all of it if that is less.
pub(crate) fn start(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(BLOCK).read_to_end(&mut start)?;
    Ok(start)
}

/// Whether a stream that begins with this block is a tar: an empty one, or one with a header.
/// Asked first, since the reader's own words for anything else are about checksums.
pub(crate) fn is_tar(start: &[u8]) -> bool {
    let mut bytes = [0_u8; 512];
    bytes.iter_mut().zip(start).for_each(|(to, from)| *to = *from);
    let header = Header::from_byte_slice(&bytes);
    let sum = (0..)
        .zip(bytes)
        .map(|(at, byte)| u32::from(if CHECKSUM.contains(&at) { b' ' } else { byte }));
    bytes.iter().all(|&byte| byte == 0)
        || header.cksum().is_ok_and(|found| found == sum.sum::<u32>())
}

/// Calls `visit` for each entry of the tar in `reader`.
pub(crate) fn each<R: Read, E: From<io::Error>>(
    reader: R,
    budget: &Budget,
    visit: impl FnMut(&mut Entry<'_, Gate<R>>) -> Result<(), E>,
) -> Result<(), E> {
    let (gate, state) = Gate::new(reader, budget.limits.header);
    walk(Archive::new(gate).entries()?, &state, budget, visit)
}

/// As [`each`], and seeks over the data that `visit` leaves.
pub(crate) fn each_seeking<R: Read + Seek, E: From<io::Error>>(
    reader: R,
    budget: &Budget,
    visit: impl FnMut(&mut Entry<'_, Gate<R>>) -> Result<(), E>,
) -> Result<(), E> {
    let (gate, state) = Gate::new(reader, budget.limits.header);
    walk(Archive::new(gate).entries_with_seek()?, &state, budget, visit)
}

fn walk<R: Read, E: From<io::Error>>(
    mut entries: Entries<'_, Gate<R>>,
    state: &State,
    budget: &Budget,
    mut visit: impl FnMut(&mut Entry<'_, Gate<R>>) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        let end = state.data_end.get().next_multiple_of(BLOCK);
        let rest = end.saturating_sub(state.position.get());
        state.left.set(rest.saturating_add(budget.limits.header));
        let Some(entry) = entries.next() else { return Ok(()) };
        let mut entry = entry?;
        budget.take_entry()?;
        let size = stored_size(&mut entry)?;
        state.data_end.set(state.position.get() + size);
        state.left.set(u64::MAX);
        visit(&mut entry)?;
    }
}

/// How many bytes of the stream an entry's data takes: for a sparse file its size is another.
fn stored_size<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<u64> {
    let size = if entry.header().entry_type() == EntryType::GNUSparse {
        match pax_record(entry, b"size")?.and_then(|size| String::from_utf8(size).ok()) {
            Some(size) => size.parse().map_err(io::Error::other)?,
            None => entry.header().entry_size()?,
        }
    } else {
        entry.size()
    };
    // Go's reader, and so every engine, takes no data after these, whatever their size says
    // (`archive/tar`, `isHeaderOnlyType`); this one would. Nobody writes such on purpose.
    if size > 0 && is_header_only(entry.header().entry_type()) {
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let message = format!("tar entry {path} is of a kind without data, and has data");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    // Go and Linux hold sizes in 63 bits.
    if i64::try_from(size).is_err() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "size of a tar entry overflows"));
    }
    Ok(size)
}

fn is_header_only(kind: EntryType) -> bool {
    matches!(
        kind,
        EntryType::Link
            | EntryType::Symlink
            | EntryType::Char
            | EntryType::Block
            | EntryType::Directory
            | EntryType::Fifo
    )
}

/// The value of a PAX record of `entry`.
pub(crate) fn pax_record<R: Read>(
    entry: &mut Entry<'_, R>,
    key: &[u8],
) -> io::Result<Option<Vec<u8>>> {
    let Some(records) = entry.pax_extensions()? else { return Ok(None) };
    let mut value = None;
    for record in records {
        let record = record?;
        if record.key_bytes() == key {
            value = Some(record.value_bytes().to_owned());
        }
    }
    Ok(value)
}

/// Where a [`Gate`] is, and how much it still lets through.
struct State {
    position: Cell<u64>,
    left: Cell<u64>,
    /// Where the data of the last entry ends.
    data_end: Cell<u64>,
}

/// A reader that fails when more is read than it may let through.
pub(crate) struct Gate<R> {
    inner: R,
    state: Rc<State>,
    limit: u64,
}

impl<R> Gate<R> {
    fn new(inner: R, limit: u64) -> (Self, Rc<State>) {
        let left = Cell::new(limit);
        let state = Rc::new(State { position: Cell::new(0), left, data_end: Cell::new(0) });
        (Self { inner, state: Rc::clone(&state), limit }, state)
    }
}

impl<R: Read> Read for Gate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let State { position, left, data_end } = &*self.state;
        if left.get() == 0 && !buffer.is_empty() {
            return Err(Exceeded::Header { limit: self.limit }.into());
        }
        let mut n = self.inner.by_ref().take(left.get()).read(buffer)?;
        if n == 0 && position.get() >= data_end.get() {
            // umoci leaves out the last padding, and Go reads on to the end without it.
            let padding = position.get().next_multiple_of(BLOCK) - position.get();
            n = io::repeat(0).take(padding.min(left.get())).read(buffer)?;
        }
        position.set(position.get() + n as u64);
        left.set(left.get() - n as u64);
        Ok(n)
    }
}

impl<R: Seek> Seek for Gate<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.inner.seek(to)?;
        self.state.position.set(position);
        // What was skipped was not read; only headers follow.
        self.state.left.set(self.limit);
        Ok(position)
    }
}
