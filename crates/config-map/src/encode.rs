//! [`encode()`]: converts the [`Content`] of a bundle into ConfigMaps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use derive_setters::Setters;
use flate2::Compression;

use unlade_bundle::{
    Content, Directory, File, Finding, Reason,
    annotation::{self, CONTENT_ENCODING, MANAGED_LABEL, SOURCE_IMAGE},
    key::ConfigMapKey,
};

use crate::{
    ConfigMap,
    field::{Field, hidden_from_upstream},
    gzip,
    mark::{self, Marks},
    object::{Bytes, VALUES_SIZE},
};

#[cfg(test)]
mod tests;

/// The space in bytes that [`Encoding::Auto`] keeps free. It chooses gzip if the plain object
/// leaves less of [`VALUES_SIZE`] free.
///
/// The space is for keys, for annotations of other writers and for the API server's
/// `managedFields` (about 30 bytes for each key and writer), and a user may edit a value.
pub const ROOM: usize = 64 << 10;

/// The compression level.
///
/// The sizes and times for a sample of 214 bundles, compared with Go's default level, and in
/// parentheses the worst bundle: level 6 gives +1.2 % (+55 %) in 430 ms, level 7 gives -0.3 %
/// (+0.3 %) in 610 ms, level 8 gives -0.7 % (+0.2 %) in 1090 ms, level 9 gives -0.5 % (+2.6 %) in
/// 860 ms.
const LEVEL: Compression = Compression::new(7);

/// The levels that are tried if the result of [`LEVEL`] is too large. The best one is used for each
/// file. The result for the sample is -1.1 % (+0.1 %) in 2900 ms.
const DENSE: [Compression; 3] = [LEVEL, Compression::new(8), Compression::new(9)];

/// The maximum size of the values at [`LEVEL`], in bytes, for which [`DENSE`] is tried. It saves
/// only about 1 %, and needs the time of all its levels.
const DENSE_SIZE: usize = VALUES_SIZE + VALUES_SIZE / 16;

/// The number of files that an error names as the largest.
const LARGEST: usize = 5;

/// The encoding of the values of a ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// Plain if the whole object fits with [`ROOM`] to spare and every manifest is UTF-8, because
    /// upstream's loader reads only `data` of a plain ConfigMap. Otherwise gzip, if that fits.
    #[default]
    Auto,
    /// Text in `data`, other bytes in `binaryData`.
    Plain,
    /// Upstream's `gzip+base64` in `binaryData`.
    Gzip,
}

/// Options of [`encode`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Options {
    /// The name of the ConfigMap.
    pub name: String,
    /// The namespace of the ConfigMap. Empty to leave it out.
    pub namespace: String,
    /// The encoding of the values.
    pub encoding: Encoding,
    /// The image that the content was read from, for `olm.sourceImage`.
    pub source_image: Option<String>,
    /// The ID of this attempt, by which a caller can distinguish its own result from an older one.
    pub attempt: Option<String>,
    /// The findings of the reader of the content, which are recorded for the users of the ConfigMap
    /// ([`mark::FINDINGS`]).
    pub findings: Vec<Finding>,
    /// Whether files of metadata/ are always written to the same field as upstream does, even if
    /// upstream's loader then reads them as objects of the bundle.
    pub metadata_as_upstream: bool,
    /// Whether the [marks](crate::mark) are left out. They can become too large if many file names
    /// differ from their keys. The ConfigMap is then read like one of upstream.
    #[setters(rename = "without_marks")]
    pub without_marks: bool,
}

/// An error that prevents a content from being encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The values are larger than a ConfigMap allows.
    #[error(
        "the files are {}{size} bytes in {encoding} encoding, but a ConfigMap allows \
         {VALUES_SIZE}; the largest{}: {}",
        if *.is_complete { "" } else { "more than " },
        if *.is_complete { "" } else { " before encoding" },
        format_sizes(.largest)
    )]
    TooLarge {
        /// The encoding.
        encoding: Encoding,
        /// The size of the encoded values in bytes: of all values, or of those that were encoded
        /// before the encoder stopped.
        size: usize,
        /// Whether all values were encoded. The encoder stops as soon as the result is certainly
        /// too large.
        is_complete: bool,
        /// The largest files and their sizes in bytes, largest first. The sizes are those of the
        /// encoded values, or of the files if not all values were encoded.
        largest: Vec<(String, usize)>,
    },
    /// The annotations are larger than Kubernetes allows.
    #[error(transparent)]
    Annotations(#[from] annotation::Error),
}

/// Encodes `content` as ConfigMaps. Currently, the result is always one ConfigMap
/// (docs/decisions/0003). The same content and options always give the same bytes.
///
/// A file of metadata/ is in the same field as in upstream's ConfigMaps if upstream's loader skips
/// the file there. Otherwise, it is in the field that the loader does not read in this encoding
/// (docs/decisions/0004), unless [`Options::metadata_as_upstream`] is set.
///
/// # Errors
///
/// Returns an error if the content is too large for a ConfigMap in the requested encoding.
pub fn encode(content: &Content, options: &Options) -> Result<Vec<ConfigMap>, Error> {
    let hidden = if options.metadata_as_upstream {
        BTreeSet::new()
    } else {
        hidden_from_upstream(content, |_| true)
    };
    let encoder = Encoder { content, hidden };
    let with = |values: Values| config_map(content, options, values);
    let config_map = match options.encoding {
        Encoding::Plain => with(encoder.plain()?)?,
        Encoding::Gzip => with(encoder.gzip()?)?,
        Encoding::Auto => match encoder.plain() {
            Err(_) => with(encoder.gzip()?)?,
            Ok(plain) => {
                let plain = with(plain)?;
                let readable = content.files().iter().all(|file| {
                    file.directory == Directory::Metadata
                        || std::str::from_utf8(&file.bytes).is_ok()
                });
                if readable && object_size(&plain) <= VALUES_SIZE - ROOM {
                    plain
                } else {
                    match encoder.gzip() {
                        Ok(values) => with(values)?,
                        // Incompressible values grow by a third in base64, so plain may still fit.
                        Err(_) => plain,
                    }
                }
            }
        },
    };
    Ok(vec![config_map])
}

/// Returns a finding about each manifest that upstream's loader does not read from a ConfigMap in
/// this encoding. In a plain ConfigMap, these are the manifests that are not UTF-8, because the
/// loader reads only `data`.
pub fn unread_manifests(content: &Content, encoding: Encoding) -> impl Iterator<Item = Finding> {
    content
        .entries()
        .filter(|(_, file)| file.directory == Directory::Manifests)
        .filter(move |(_, file)| Field::of_read(encoding, file) == Field::of_hidden(encoding))
        .map(|(key, _)| {
            let message = "the file is dropped: it is not UTF-8, and OLM reads such a file only in \
                           the gzip encoding";
            Finding::new(Reason::UnreadKey, key.as_str(), message)
        })
}

impl Encoding {
    /// Returns the encoding of the values of `config_map`, as upstream's loader determines it: gzip
    /// or plain.
    pub fn of(config_map: &ConfigMap) -> Self {
        match config_map.metadata.annotations.get(CONTENT_ENCODING) {
            Some(name) if name == gzip::ENCODING => Self::Gzip,
            _ => Self::Plain,
        }
    }
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { encoding: Encoding::Plain, .. } => {
                Some("use the gzip encoding, which needs about a tenth of that")
            }
            Self::TooLarge { .. } => {
                Some("shorten the icon, the examples and the CRD descriptions of the bundle")
            }
            Self::Annotations(_) => None,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Plain => "plain",
            Self::Gzip => "gzip",
        })
    }
}

struct Encoder<'a> {
    content: &'a Content,
    /// The keys of the files that upstream's loader must not read.
    hidden: BTreeSet<&'a ConfigMapKey>,
}

struct Values {
    encoding: Encoding,
    data: BTreeMap<String, String>,
    binary_data: BTreeMap<String, Bytes>,
}

impl Encoder<'_> {
    fn field(&self, encoding: Encoding, key: &ConfigMapKey, file: &File) -> Field {
        if self.hidden.contains(key) {
            Field::of_hidden(encoding)
        } else {
            Field::of_read(encoding, file)
        }
    }

    /// Returns the values without compression. Nothing is copied if they do not fit.
    fn plain(&self) -> Result<Values, Error> {
        let sizes = || self.content.files().iter().map(|file| (file.path(), file.bytes.len()));
        let size = sizes().map(|(_, size)| size).sum();
        if size > VALUES_SIZE {
            let (encoding, largest) = (Encoding::Plain, largest(sizes()));
            return Err(Error::TooLarge { encoding, size, is_complete: true, largest });
        }
        let mut values = Values::new(Encoding::Plain);
        for (key, file) in self.content.entries() {
            match (self.field(Encoding::Plain, key, file), std::str::from_utf8(&file.bytes)) {
                (Field::Data, Ok(text)) => {
                    values.data.insert(key.to_string(), text.to_owned());
                }
                _ => {
                    values.binary_data.insert(key.to_string(), Bytes(file.bytes.clone()));
                }
            }
        }
        Ok(values)
    }

    fn gzip(&self) -> Result<Values, Error> {
        match self.gzip_at(&[LEVEL]) {
            Err(Error::TooLarge { size, is_complete: true, .. }) if size <= DENSE_SIZE => {
                self.gzip_at(&DENSE)
            }
            result => result,
        }
    }

    /// Compresses each value at the level of `levels` that gives the shortest result. Stops when
    /// the values are more than twice as large as a ConfigMap allows.
    fn gzip_at(&self, levels: &[Compression]) -> Result<Values, Error> {
        let mut values = Values::new(Encoding::Gzip);
        let mut sizes = Vec::with_capacity(self.content.files().len());
        let mut size = 0;
        for (key, file) in self.content.entries() {
            let room = 2 * VALUES_SIZE - size;
            let texts = levels.iter().filter_map(|&level| gzip::encode(&file.bytes, level, room));
            let Some(value) = texts.min_by_key(String::len) else {
                let plain = self.content.files().iter();
                let largest = largest(plain.map(|file| (file.path(), file.bytes.len())));
                let (encoding, size) = (Encoding::Gzip, 2 * VALUES_SIZE);
                return Err(Error::TooLarge { encoding, size, is_complete: false, largest });
            };
            size += value.len();
            sizes.push((file.path(), value.len()));
            match self.field(Encoding::Gzip, key, file) {
                Field::Data => drop(values.data.insert(key.to_string(), value)),
                Field::BinaryData => {
                    values.binary_data.insert(key.to_string(), Bytes(value.into_bytes()));
                }
            }
        }
        if size > VALUES_SIZE {
            let (encoding, largest) = (Encoding::Gzip, largest(sizes.into_iter()));
            return Err(Error::TooLarge { encoding, size, is_complete: true, largest });
        }
        Ok(values)
    }
}

impl Values {
    fn new(encoding: Encoding) -> Self {
        Self { encoding, data: BTreeMap::new(), binary_data: BTreeMap::new() }
    }
}

fn largest(sizes: impl Iterator<Item = (String, usize)>) -> Vec<(String, usize)> {
    let mut largest: Vec<_> = sizes.collect();
    largest.sort_by_key(|&(_, size)| Reverse(size));
    largest.truncate(LARGEST);
    largest
}

fn config_map(content: &Content, options: &Options, values: Values) -> Result<ConfigMap, Error> {
    let mut config_map = ConfigMap::new(&options.name, &options.namespace);
    config_map.metadata.labels.insert(MANAGED_LABEL.to_owned(), "true".to_owned());
    let annotations = &mut config_map.metadata.annotations;
    annotations.clone_from(content.annotations());
    if !options.without_marks {
        Marks::from_content(content).write(annotations);
        if let Some(attempt) = &options.attempt {
            annotations.insert(mark::ATTEMPT.to_owned(), attempt.clone());
        }
    }
    if let Some(image) = options.source_image.as_ref().filter(|image| !image.is_empty()) {
        annotations.insert(SOURCE_IMAGE.to_owned(), image.clone());
    }
    if values.encoding == Encoding::Gzip {
        annotations.insert(CONTENT_ENCODING.to_owned(), gzip::ENCODING.to_owned());
    }
    if !options.without_marks {
        // This comes last, because it takes the space that the others leave.
        mark::findings::write(&options.findings, annotations);
    }
    annotation::check_size(annotations)?;
    config_map.data = values.data;
    config_map.binary_data = values.binary_data;
    Ok(config_map)
}

/// Returns the size of the values, the keys and the metadata in bytes. The stored object is larger
/// only by a few bytes for each of them.
fn object_size(config_map: &ConfigMap) -> usize {
    let keys = config_map.data.keys().chain(config_map.binary_data.keys());
    let metadata = &config_map.metadata;
    config_map.values_size()
        + keys.map(String::len).sum::<usize>()
        + annotation::size(&metadata.annotations)
        + annotation::size(&metadata.labels)
        + metadata.name.len()
        + metadata.namespace.len()
}

fn format_sizes(files: &[(String, usize)]) -> String {
    files.iter().map(|(path, size)| format!("{path} ({size})")).collect::<Vec<_>>().join(", ")
}
