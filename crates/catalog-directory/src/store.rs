//! [`Store`]: texts that are written in a different order from that in which they are created.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::SpooledTempFile;
use unlade_catalog::{Place, Rank};

/// The size up to which the texts are in memory, in bytes.
const MEMORY: usize = 1 << 20;

/// The texts of metas, which several threads add in any order. They are returned in the order of
/// `opm render`.
///
/// Up to 1 MiB of texts is in memory, and more than that in a temporary file without a name. Apart
/// from the texts, the memory for each meta is that of its names.
#[derive(Debug)]
pub struct Store {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    texts: SpooledTempFile,
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
    texts: SpooledTempFile,
    entries: std::vec::IntoIter<Entry>,
    /// The position in `texts`, so that texts that follow each other are read without seeking.
    at: u64,
}

impl Default for Store {
    fn default() -> Self {
        let texts = SpooledTempFile::new(MEMORY);
        Self { inner: Mutex::new(Inner { texts, end: 0, index: Vec::new() }) }
    }
}

impl Store {
    /// Adds the text of a meta. Metas with the same rank have the order of `source`, and then of their
    /// places.
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
    pub fn into_sorted(self) -> Sorted {
        let mut inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        inner.index.sort_unstable();
        let entries = inner.index.into_iter();
        Sorted { texts: inner.texts, entries, at: inner.end }
    }
}

impl Sorted {
    fn read(&mut self, entry: &Entry) -> io::Result<String> {
        if self.at != entry.start {
            self.texts.seek(SeekFrom::Start(entry.start))?;
        }
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
            store.add(Rank::of(&meta).unwrap(), 0, &place, &text).unwrap();
        }
        let mut n_texts = 0;
        for (n, text) in store.into_sorted().enumerate() {
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
