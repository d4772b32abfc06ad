//! [`Metas`]: the metas of a catalog as JSON lines.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::IntoIter;

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

    /// Returns the parts with the wanted metas, in the order of the catalog.
    pub(crate) fn select(&self, query: &Query) -> Vec<Range<u64>> {
        let accepts = |wanted: &String, value| wanted.is_empty() || wanted == value;
        let mut parts: Vec<Range<u64>> = Vec::new();
        for Section { schema, package, name, bytes } in &self.sections {
            if !accepts(&query.schema, schema)
                || !accepts(&query.package, package)
                || !accepts(&query.name, name)
            {
                continue;
            }
            match parts.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => parts.push(bytes.clone()),
            }
        }
        parts
    }

    /// Reads parts, a small piece at a time.
    pub(crate) fn read(
        self: Arc<Self>,
        parts: Vec<Range<u64>>,
    ) -> impl Stream<Item = io::Result<Bytes>> {
        let pieces = async |(metas, mut parts, mut part): (Arc<Self>, IntoIter<_>, Range<u64>)| {
            if part.is_empty() {
                part = parts.next()?;
            }
            let end = part.end.min(part.start + CHUNK);
            let mut piece = vec![0; usize::try_from(end - part.start).unwrap_or_default()];
            let read = metas.content.file().0.read_exact_at(&mut piece, part.start);
            part.start = end;
            Some((read.map(|()| piece.into()), (metas, parts, part)))
        };
        // The compression asks again after the end.
        stream::unfold((self, parts.into_iter(), 0..0), pieces).fuse()
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
