//! Decompresses streams. The format is detected from the first bytes.
//!
//! Like containers/image (`pkg/compression`), this ignores the media type, because it is wrong for
//! many images in registries.

mod gzip;

use std::io::{self, BufRead, BufReader, Cursor, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use self::gzip::Gzip;
use crate::budget::{Budget, Metered};
use crate::limit;
use crate::tar_reader::{self, is_tar};

/// The magic numbers of the detected formats.
const GZIP: &[u8] = &[0x1f, 0x8b, 0x08];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The bytes of a skippable frame after its first byte, which is 0x50 to 0x5f. `pzstd` writes such
/// a frame first.
const ZSTD_SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];

/// A compression that engines support, but this crate does not.
#[derive(Debug, thiserror::Error)]
#[error("the compression {name} is not supported")]
pub(crate) struct Unsupported {
    name: &'static str,
}

/// A stream that is a tar for containers/image, which does not detect skippable frames, and
/// compressed for containerd, which does.
#[derive(Debug, thiserror::Error)]
#[error("the stream is both a tar and zstd, so container engines read different content")]
struct Ambiguous;

/// A decompressed stream, and whether it was compressed.
pub(crate) struct Plain<'a> {
    pub(crate) reader: Box<dyn Read + 'a>,
    pub(crate) was_compressed: bool,
}

/// The compression of a stream.
#[derive(Debug, Clone, Copy)]
enum Format {
    Gzip,
    Zstd,
    /// A compression with this name.
    Unsupported(&'static str),
}

impl Format {
    /// Returns the compression of a stream that begins with `start`. Six bytes are enough.
    fn detect(start: &[u8]) -> Option<Self> {
        let is_skippable = start
            .split_first()
            .is_some_and(|(first, rest)| first & 0xf0 == 0x50 && rest.starts_with(ZSTD_SKIPPABLE));
        let formats = [
            (GZIP, Self::Gzip),
            (ZSTD, Self::Zstd),
            (BZIP2, Self::Unsupported("bzip2")),
            (XZ, Self::Unsupported("xz")),
        ];
        let found = formats.into_iter().find(|(magic, _)| start.starts_with(magic));
        found.map(|(_, format)| format).or(is_skippable.then_some(Self::Zstd))
    }
}

/// Checks whether a stream that begins with `start` is compressed.
pub(crate) fn is_compressed(start: &[u8]) -> bool {
    Format::detect(start).is_some()
}

/// Decompresses `reader` within `budget`. A stream without compression is returned unchanged.
///
/// # Errors
///
/// Returns an error if reading fails, if the compression is not supported, or if container engines
/// read the stream differently.
pub(crate) fn decompress<'a>(reader: impl Read + 'a, budget: &'a Budget) -> io::Result<Plain<'a>> {
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let start = tar_reader::start(&mut reader)?;
    let format = Format::detect(&start);
    if matches!(format, Some(Format::Zstd)) && !start.starts_with(ZSTD) && is_tar(&start) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, Ambiguous));
    }
    let reader = Cursor::new(start).chain(reader);
    let decoder: Box<dyn Read + 'a> = match format {
        None => return Ok(Plain { reader: Box::new(reader), was_compressed: false }),
        Some(Format::Gzip) => Box::new(Gzip::new(reader, budget)),
        Some(Format::Zstd) => Box::new(Zstd::new(reader, budget)),
        Some(Format::Unsupported(name)) => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, Unsupported { name }));
        }
    };
    let reader = Box::new(Metered::new(decoder, budget));
    Ok(Plain { reader, was_compressed: true })
}

/// A reader of all frames of a zstd stream. Layers can have several frames: `pzstd` splits them,
/// and zstd:chunked adds skippable ones.
struct Zstd<'a, R> {
    source: R,
    budget: &'a Budget,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<'a, R: BufRead> Zstd<'a, R> {
    fn new(source: R, budget: &'a Budget) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(limit::WINDOW);
        Self { source, budget, decoder, in_frame: false }
    }

    /// Starts the next frame with content. Returns false at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped =
                        io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }

    fn check_checksum(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            written @ Some(_) if written != self.decoder.get_calculated_checksum() => {
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the checksum of a zstd frame does not match",
                ))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                self.in_frame = self.next_frame()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.budget.count_read(limit::BLOCK)?;
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.check_checksum()?;
            self.in_frame = false;
        }
    }
}
