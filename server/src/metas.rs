//! [`Metas`]: the metas of a catalog as JSON lines.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
use sha2::{Digest as _, Sha256};
use unlade_catalog::Meta;
use unlade_catalog_directory as directory;

use crate::content::{self, Content};
use crate::load::{self, Error, TextPlace};
use crate::server::Options;

/// The maximum number of bytes of a response that are in memory, for each connection.
const CHUNK: u64 = 64 << 10;

/// The metas of a catalog, as catalogd of OLM v1 serves them. They are in a file without a name,
/// and their names are in memory.
#[derive(Debug)]
pub struct Metas {
    content: Content,
    sections: Vec<Section>,
    digest: [u8; 32],
}

/// A meta, and its bytes in the file.
#[derive(Debug)]
struct Section {
    schema: String,
    package: String,
    name: String,
    bytes: Range<u64>,
}

/// The wanted metas. An empty text accepts every value.
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) schema: String,
    pub(crate) package: String,
    pub(crate) name: String,
}

impl Query {
    fn accepts(&self, section: &Section) -> bool {
        [
            (&self.schema, &section.schema),
            (&self.package, &section.package),
            (&self.name, &section.name),
        ]
        .iter()
        .all(|(wanted, value)| wanted.is_empty() || wanted == value)
    }
}

impl Metas {
    /// Reads the catalog at `path`: a directory or a single file. It reads the files one after
    /// another, because their order is that of the metas.
    ///
    /// # Errors
    ///
    /// Returns an error if the catalog cannot be read, or if upstream cannot load it. The catalog
    /// is not validated.
    pub fn load(path: &Path, options: &Options) -> Result<Self, Error> {
        let places = [TextPlace::Temporary(&options.temporary), TextPlace::Memory];
        let mut limits = options.limits.clone();
        limits.threads = NonZeroUsize::MIN;
        Ok(load::write_to(&places, |file| Self::write(path, file, &limits))?.0)
    }

    /// Writes the metas to `file`, which is empty.
    fn write(path: &Path, file: File, limits: &directory::Limits) -> Result<Self, Error> {
        let writing = Mutex::new(Writing {
            writer: content::Writer::new(file),
            hash: Sha256::new(),
            sections: Vec::new(),
            written: Ok(()),
        });
        let problems = directory::visit_metas(path, limits, |meta, _| {
            writing.lock().unwrap_or_else(PoisonError::into_inner).add(meta);
        })?;
        load::check(problems)?;
        let Writing { writer, hash, sections, written } =
            writing.into_inner().unwrap_or_else(PoisonError::into_inner);
        let content = written.and_then(|()| writer.finish()).map_err(Error::Write)?;
        Ok(Self { content, sections, digest: hash.finalize().into() })
    }

    /// Returns the number of bytes of all metas.
    pub(crate) fn len(&self) -> u64 {
        self.content.file().1
    }

    /// Returns the SHA-256 of all metas.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns the number of bytes of the wanted metas.
    pub(crate) fn count(&self, query: &Query) -> u64 {
        self.parts(query, 0..self.len()).map(|part| part.end - part.start).sum()
    }

    /// Reads the wanted metas in the order of the catalog, a piece at a time. `within` cuts off
    /// what is outside.
    pub(crate) fn read(
        self: Arc<Self>,
        query: Query,
        within: Range<u64>,
    ) -> impl Stream<Item = io::Result<Bytes>> {
        // The compression asks again after the end.
        stream::iter(Pieces { metas: self, query, rest: within }).fuse()
    }

    /// Returns the parts of `within` with the wanted metas.
    fn parts(&self, query: &Query, within: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self.sections.partition_point(|section| section.bytes.end <= within.start);
        let sections = self.sections.get(first..).unwrap_or_default().iter();
        sections
            .take_while(move |section| section.bytes.start < within.end)
            .filter(|section| query.accepts(section))
            .map(move |Section { bytes, .. }| {
                bytes.start.max(within.start)..bytes.end.min(within.end)
            })
            .filter(|part| !part.is_empty())
    }
}

/// The pieces of a response. A list of its parts could be larger than its bytes, and one read for
/// each part would take longer than to read what is between them too.
struct Pieces {
    metas: Arc<Metas>,
    query: Query,
    /// The bytes that are not yet read.
    rest: Range<u64>,
}

impl Iterator for Pieces {
    type Item = io::Result<Bytes>;

    /// Reads the wanted parts of the next [`CHUNK`] that begins with one.
    fn next(&mut self) -> Option<Self::Item> {
        let Self { metas, query, rest } = self;
        let start = metas.parts(query, rest.clone()).next()?.start;
        rest.start = rest.end.min(start + CHUNK);
        let parts = || metas.parts(query, start..rest.start);
        let end = parts().last()?.end;
        let mut piece = vec![0; usize::try_from(end - start).ok()?];
        if let Err(error) = metas.content.file().0.read_exact_at(&mut piece, start) {
            return Some(Err(error));
        }
        let mut len = 0;
        for part in parts() {
            let [from, to] = [part.start, part.end].map(|at| usize::try_from(at - start));
            let (from, to) = (from.ok()?, to.ok()?);
            piece.copy_within(from..to, len);
            len += to - from;
        }
        piece.truncate(len);
        Some(Ok(piece.into()))
    }
}

struct Writing {
    writer: content::Writer,
    hash: Sha256,
    sections: Vec<Section>,
    /// The first failure.
    written: io::Result<()>,
}

impl Writing {
    fn add(&mut self, meta: Meta) {
        if self.written.is_err() {
            return;
        }
        let line = meta.blob() + "\n";
        match self.writer.append(&line) {
            Ok(span) => {
                self.hash.update(&line);
                let Meta { schema, package, name, .. } = meta;
                self.sections.push(Section { schema, package, name, bytes: span.range() });
            }
            Err(error) => self.written = Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures::TryStreamExt as _;

    use super::*;

    #[tokio::test]
    async fn small_metas_are_read_in_large_pieces() {
        let directory = tempfile::tempdir().unwrap();
        let text = r#"{"schema":"a"}{"schema":"b"}"#.repeat(10_000);
        fs::write(directory.path().join("catalog.json"), text).unwrap();
        let metas = Arc::new(Metas::load(directory.path(), &Options::default()).unwrap());
        let read = async |query, within| {
            let pieces: Vec<Bytes> =
                Arc::clone(&metas).read(query, within).try_collect().await.unwrap();
            // The file has 300,000 bytes.
            assert!(pieces.len() <= 5, "{} pieces", pieces.len());
            pieces.concat()
        };
        let len = metas.len();
        let whole = "{\"schema\":\"a\"}\n{\"schema\":\"b\"}\n".repeat(10_000);
        assert_eq!(len, whole.len() as u64);
        let part = read(Query::default(), 5..len - 5).await;
        assert!(part[..] == whole.as_bytes()[5..whole.len() - 5]);
        for schema in ["a", "b"] {
            let query = || Query { schema: schema.to_owned(), ..Query::default() };
            assert_eq!(metas.count(&query()), len / 2);
            let wanted = format!("{{\"schema\":\"{schema}\"}}\n").repeat(10_000);
            assert!(read(query(), 0..len).await == wanted.as_bytes(), "{schema}");
        }
    }
}
