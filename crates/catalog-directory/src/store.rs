//! [`Store`]: texts that are written in a different order from that in which they are created.

use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::SpooledTempFile;
use unlade_catalog::{Place, Rank};

/// The size up to which the texts are in memory, in bytes.
const MEMORY: usize = 128 << 10;
/// The size of the buffers for the temporary file, in bytes.
const BUFFER: usize = 64 << 10;

/// The texts of metas, which several threads add in any order. They are returned in the order of
/// `opm render`.
///
/// Texts of up to 128 KiB are in memory, and more texts in a temporary file without a name. Apart
/// from the texts, the memory for each meta is that of its names.
#[derive(Debug)]
pub struct Store {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    texts: BufWriter<SpooledTempFile>,
    end: u64,
    index: Vec<Entry>,
}

/// A text. The order is that of the fields.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    rank: Rank,
    source: usize,
    file: Arc<str>,
    document: u64,
    start: u64,
    len: usize,
}

/// The texts of a [`Store`] in their order.
#[derive(Debug)]
pub struct Sorted {
    texts: BufReader<SpooledTempFile>,
    entries: std::vec::IntoIter<Entry>,
    /// The position in `texts`.
    at: u64,
}

impl Default for Store {
    fn default() -> Self {
        let texts = BufWriter::with_capacity(BUFFER, SpooledTempFile::new(MEMORY));
        Self { inner: Mutex::new(Inner { texts, end: 0, index: Vec::new() }) }
    }
}

impl Store {
    /// Adds the text of a meta. Metas with the same rank have the order of `source`, and then of
    /// their places.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary file cannot be written.
    pub fn add(&self, rank: Rank, source: usize, place: &Place, text: &str) -> io::Result<()> {
        let inner = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.texts.write_all(text.as_bytes())?;
        let (start, len) = (inner.end, text.len());
        inner.end += len as u64;
        let (file, document) = (Arc::clone(&place.file), place.document);
        inner.index.push(Entry { rank, source, file, document, start, len });
        Ok(())
    }

    /// Returns the texts in the order of `opm render`.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary file fails.
    pub fn into_sorted(self) -> io::Result<Sorted> {
        let mut inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        inner.index.sort_unstable();
        let mut texts = inner.texts.into_inner().map_err(io::IntoInnerError::into_error)?;
        texts.seek(SeekFrom::Start(0))?;
        let texts = BufReader::with_capacity(BUFFER, texts);
        Ok(Sorted { texts, entries: inner.index.into_iter(), at: 0 })
    }
}

impl Sorted {
    fn read(&mut self, entry: &Entry) -> io::Result<String> {
        // Both are below 2^63, the maximum size of a file.
        self.texts.seek_relative(entry.start.cast_signed() - self.at.cast_signed())?;
        let mut text = vec![0; entry.len];
        self.texts.read_exact(&mut text)?;
        self.at = entry.start + entry.len as u64;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

impl Iterator for Sorted {
    type Item = io::Result<(Rank, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        let text = self.read(&entry);
        Some(text.map(|text| (entry.rank, text)))
    }
}

#[cfg(test)]
mod tests {
    use unlade_catalog::Meta;
    use unlade_yaml::Limits;

    use super::*;

    #[test]
    fn texts_larger_than_the_memory_are_returned_in_order() {
        let store = Store::default();
        let place = Place::file("catalog.yaml");
        for n in (0..20).rev() {
            let json = format!(r#"{{"schema":"olm.package","name":"p{n:02}"}}"#);
            let meta = Meta::from_json(&json, &Limits::default()).unwrap();
            let text = format!("{n:02}").repeat(MEMORY / 16);
            store.add(Rank::from_meta(&meta).unwrap(), 0, &place, &text).unwrap();
        }
        let mut n_texts = 0;
        for (n, text) in store.into_sorted().unwrap().enumerate() {
            let (rank, text) = text.unwrap();
            assert_eq!(
                (rank.package(), text.get(..2)),
                (&*format!("p{n:02}"), Some(&*format!("{n:02}")))
            );
            n_texts += 1;
        }
        assert_eq!(n_texts, 20);
    }
}
