//! [`Origin`]: an image that is neither in a file nor in a directory, such as one in a registry.

use std::error::Error;
use std::io::Read;

use crate::{Descriptor, Digest, limit::TRANSFERS};

/// One image or index, in a place that another crate reads.
///
/// The reader of images verifies everything that it reads against its digest and its size, and
/// counts it in its [`Limits`](crate::Limits). An origin only has to limit what this does not
/// cover, such as the time of a read.
///
/// Several threads read parts of it at the same time.
pub trait Origin: Sync {
    /// Returns the manifest or index at the root.
    ///
    /// # Errors
    ///
    /// Returns an error if the root does not exist or cannot be read.
    fn root(&self) -> Result<Root, Box<dyn Error + Send + Sync>>;

    /// Opens a part of the image for reading.
    ///
    /// # Errors
    ///
    /// Returns an error if the part does not exist or cannot be read.
    fn open(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, Box<dyn Error + Send + Sync>>;

    /// Prepares to open `parts`, which will be opened one after another. An origin that is far away
    /// can read them in advance. A problem is not reported here, but when the part is opened.
    fn prepare(&self, parts: &[Part<'_>]) {
        _ = parts;
    }

    /// Returns how many parts can be read at the same time. A reader that decompresses can need
    /// [`WINDOW`](crate::limit::WINDOW) bytes of memory.
    fn max_readers(&self) -> usize {
        TRANSFERS
    }
}

/// The root of an image in an [`Origin`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its digest.
    pub digest: Digest,
    /// Its size, in bytes.
    pub size: u64,
    /// Its media type. If `None`, the document itself names it.
    pub media_type: Option<String>,
}

/// A part of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its digest.
    pub digest: &'a Digest,
    /// Its size in bytes, if the document that refers to it names the size.
    pub size: Option<u64>,
}

impl<'a> Part<'a> {
    pub(crate) fn of(kind: Kind, descriptor: &'a Descriptor) -> Self {
        Self { kind, digest: descriptor.digest(), size: Some(descriptor.size()) }
    }
}

/// What a part of an image is. Registries store documents and blobs in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A manifest or an index.
    Manifest,
    /// A configuration or a layer.
    Blob,
}
