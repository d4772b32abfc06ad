//! The blobs of the images that are being built, as files in a directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path as FilePath, PathBuf};

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use oci_spec::image::{Descriptor, Digest, MediaType};
use ruzstd::encoding::{CompressionLevel, FrameCompressor};
use serde::Serialize;

use super::{Compression, Error, Layer, blob_path, document};
use crate::digest::{Hashed, sha256};

/// The blobs, without duplicates. They have the same paths in `directory` as in an image layout.
pub(super) struct Blobs {
    pub(super) directory: PathBuf,
    /// The size of each blob in bytes, by its path.
    pub(super) sizes: BTreeMap<String, u64>,
}

impl Blobs {
    pub(super) fn new(directory: PathBuf) -> Result<Self, Error> {
        let dir = directory.join("blobs/sha256");
        fs::create_dir_all(&dir).map_err(|source| Error::Output { path: dir, source })?;
        Ok(Self { directory, sizes: BTreeMap::new() })
    }

    /// Adds a document, and returns its descriptor.
    pub(super) fn add_document(
        &mut self,
        media_type: MediaType,
        document: &impl Serialize,
    ) -> Result<Descriptor, Error> {
        let bytes = document::bytes(document)?;
        let digest = sha256(&bytes)?;
        let name = blob_path(&digest);
        let path = self.directory.join(&name);
        fs::write(&path, &bytes).map_err(|source| Error::Output { path, source })?;
        let size = bytes.len() as u64;
        self.sizes.insert(name, size);
        Ok(Descriptor::new(media_type, size, digest))
    }

    /// Adds a layer, and returns its descriptor and the digest of its tar.
    pub(super) fn add_layer(&mut self, layer: &Layer) -> Result<(Descriptor, Digest), Error> {
        let tar = self.directory.join("layer.tar");
        let output = |source| Error::Output { path: tar.clone(), source };
        let file = File::create(&tar).map_err(output)?;
        let mut hashed = Hashed::new(BufWriter::new(file));
        layer.write(&mut hashed, &tar)?;
        let (diff_id, size) = hashed.finish().map_err(output)?;
        let (path, digest, size, media_type) = match layer.compression {
            Compression::None => (tar.clone(), diff_id.clone(), size, MediaType::ImageLayer),
            compression => {
                let path = self.directory.join("layer");
                let (digest, size) = compress(&tar, &path, compression)
                    .map_err(|source| Error::Output { path: path.clone(), source })?;
                fs::remove_file(&tar).map_err(output)?;
                let media_type = match compression {
                    Compression::Zstd => MediaType::ImageLayerZstd,
                    _ => MediaType::ImageLayerGzip,
                };
                (path, digest, size, media_type)
            }
        };
        let name = blob_path(&digest);
        fs::rename(&path, self.directory.join(&name))
            .map_err(|source| Error::Output { path, source })?;
        self.sizes.insert(name, size);
        Ok((Descriptor::new(media_type, size, digest), diff_id))
    }
}

/// Compresses the file `from` into `to`, and returns the digest and the size of the result.
fn compress(from: &FilePath, to: &FilePath, compression: Compression) -> io::Result<(Digest, u64)> {
    let mut reader = BufReader::new(File::open(from)?);
    let writer = Hashed::new(BufWriter::new(File::create(to)?));
    if compression == Compression::Zstd {
        return zstd(reader, writer)?.finish();
    }
    // The header has no name, no date, and the operating system "unknown".
    let mut encoder = GzEncoder::new(writer, Level::default());
    io::copy(&mut reader, &mut encoder)?;
    encoder.finish()?.finish()
}

/// Compresses with `ruzstd`, which panics if reading or writing fails. So the errors are hidden
/// from it, and returned afterwards.
fn zstd<R: Read, W: Write>(reader: R, writer: W) -> io::Result<W> {
    let mut reader = StoreError { inner: reader, error: None };
    let mut writer = StoreError { inner: writer, error: None };
    let mut compressor = FrameCompressor::new(CompressionLevel::Fastest);
    compressor.set_source(&mut reader);
    compressor.set_drain(&mut writer);
    compressor.compress();
    drop(compressor);
    match reader.error.or(writer.error) {
        Some(error) => Err(error),
        None => Ok(writer.inner),
    }
}

/// Hides the first error, stores it, and then does nothing more.
struct StoreError<T> {
    inner: T,
    error: Option<io::Error>,
}

impl<R: Read> Read for StoreError<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.error.is_none() {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.error = Some(error),
                read => return read,
            }
        }
        Ok(0)
    }
}

impl<W: Write> Write for StoreError<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_none() {
            self.error = self.inner.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
