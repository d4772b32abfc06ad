//! [`Content`] -> ConfigMaps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use flate2::Compression;

use unlade_bundle::{
    Content, Directory, Finding,
    annotation::{self, CONTENT_ENCODING, MANAGED_LABEL, SOURCE_IMAGE},
    key::ConfigMapKey,
};
use unlade_yaml as yaml;

use crate::{
    ConfigMap, gzip,
    mark::{self, Marks},
    object::{Bytes, VALUES_SIZE},
};

#[cfg(test)]
mod tests;

/// Bytes that [`Encoding::Auto`] leaves free of [`VALUES_SIZE`] before it turns to gzip: keys,
/// annotations of others and the API server's `managedFields` (some 30 bytes a key and writer)
/// come on top of the values, and a value that someone edits may grow.
pub const ROOM: usize = 64 << 10;

/// The level of the compression. Over the 214 bundles of the sample, in bytes beside Go's default
/// level and in milliseconds: 6 gives +1.2 % (at worst +55 %) in 430, 7 gives -0.3 % (+0.3 %) in 610,
/// 8 gives -0.7 % (+0.2 %) in 1090, 9 gives -0.5 % (+2.6 %) in 860.
const LEVEL: Compression = Compression::new(7);

/// The levels of which each file takes the best if [`LEVEL`] does not fit: -1.1 % (+0.1 %) in 2900.
const DENSE: [Compression; 3] = [LEVEL, Compression::new(8), Compression::new(9)];

/// Most bytes that the values have at [`LEVEL`] for [`DENSE`] to be tried: it wins 1 %, and takes
/// the time of all three.
const DENSE_SIZE: usize = VALUES_SIZE + VALUES_SIZE / 16;

/// How many files an error names as the largest.
const LARGEST: usize = 5;

/// How the values of a ConfigMap are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// Plain if the whole object fits with [`ROOM`] to spare and every manifest is UTF-8 (of a
    /// plain ConfigMap upstream's loader reads `data` alone), else gzip if that fits.
    #[default]
    Auto,
    /// Text in `data`, other bytes in `binaryData`.
    Plain,
    /// Upstream's `gzip+base64` in `binaryData`.
    Gzip,
}

/// What [`encode`] is told beside the content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`; empty for none.
    pub namespace: String,
    /// How the values are written.
    pub encoding: Encoding,
    /// `olm.sourceImage`: the image that the content came from.
    pub source_image: Option<String>,
    /// An id of this attempt, so that a caller can tell its own result from an older one.
    pub attempt: Option<String>,
    /// What the reader of the content noticed, for anyone who loads the ConfigMap
    /// ([`mark::FINDINGS`]).
    pub findings: Vec<Finding>,
    /// Whether a file of metadata/ lies where upstream writes it even if upstream's loader takes it
    /// there for an object of the bundle.
    pub metadata_as_upstream: bool,
    /// Whether the [marks](crate::mark) are left out, which many translated names make large: it is
    /// read as a ConfigMap of upstream's then.
    pub without_marks: bool,
}

/// Why a content does not become a ConfigMap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The values are more than a ConfigMap takes.
    #[error(
        "the files have {}{size} bytes in {encoding} encoding, a ConfigMap takes {VALUES_SIZE}; \
         the largest{}: {}",
        if *.is_complete { "" } else { "more than " },
        if *.is_complete { "" } else { " before encoding" },
        list(.largest)
    )]
    TooLarge {
        /// The encoding.
        encoding: Encoding,
        /// Bytes of the values, encoded: of all, or of those up to which the encoder went.
        size: usize,
        /// Whether all values were encoded: the encoder stops where it is clear that the rest
        /// cannot fit.
        is_complete: bool,
        /// The largest files and their bytes, largest first: encoded, or plain if not all were
        /// encoded.
        largest: Vec<(String, usize)>,
    },
    /// The annotations are more than an object takes.
    #[error(transparent)]
    Annotations(#[from] annotation::Error),
}

/// The ConfigMaps that hold `content`: one, today. The same content gives the same bytes.
///
/// A file of metadata/ lies where upstream writes it if upstream's loader skips it there, else in
/// the field that this loader leaves unread in the encoding (docs/decisions/0004), unless
/// [`Options::metadata_as_upstream`] says otherwise.
///
/// # Errors
///
/// If the content is too large for a ConfigMap in the encoding that was asked for.
pub fn encode(content: &Content, options: &Options) -> Result<Vec<ConfigMap>, Error> {
    let aside = if options.metadata_as_upstream { BTreeSet::new() } else { aside(content) };
    let encoder = Encoder { content, aside };
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
                        // What does not compress grows by a third in base64.
                        Err(_) => plain,
                    }
                }
            }
        },
    };
    Ok(vec![config_map])
}

impl Error {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { encoding: Encoding::Plain, .. } => {
                Some("the gzip encoding takes about a tenth of that")
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
    /// Keys whose files upstream's loader must not see.
    aside: BTreeSet<&'a ConfigMapKey>,
}

struct Values {
    encoding: Encoding,
    data: BTreeMap<String, String>,
    binary_data: BTreeMap<String, Bytes>,
}

impl Encoder<'_> {
    /// The values as they are. Nothing is copied if they do not fit.
    fn plain(&self) -> Result<Values, Error> {
        let sizes = || self.content.files().iter().map(|file| (file.path(), file.bytes.len()));
        let size = sizes().map(|(_, size)| size).sum();
        if size > VALUES_SIZE {
            let (encoding, largest) = (Encoding::Plain, largest(sizes()));
            return Err(Error::TooLarge { encoding, size, is_complete: true, largest });
        }
        let mut values = Values::new(Encoding::Plain);
        for (key, file) in self.content.entries() {
            match std::str::from_utf8(&file.bytes) {
                Ok(text) if !self.aside.contains(key) => {
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

    /// The values at the level that gives the shortest, for each. The encoder stops when they are
    /// more than twice of what fits.
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
            if self.aside.contains(key) {
                values.data.insert(key.to_string(), value);
            } else {
                values.binary_data.insert(key.to_string(), Bytes(value.into_bytes()));
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
        Marks::of(content).write(annotations);
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

/// The keys of the metadata files that upstream's loader would take for objects of the bundle: it
/// looks at every value, and skips only what does not decode (operator-registry
/// `pkg/configmap/configmap.go`). A text that passes a limit of ours may well decode there.
fn aside(content: &Content) -> BTreeSet<&ConfigMapKey> {
    let mut limits = yaml::Limits::default();
    limits.input = METADATA_SIZE;
    limits.tree = METADATA_TREE;
    limits.work = METADATA_WORK;
    let reader = yaml::Reader::new(&limits);
    content
        .entries()
        .filter(|(_, file)| file.directory == Directory::Metadata)
        .filter(|(_, file)| upstream_takes(&file.bytes, &reader))
        .map(|(key, _)| key)
        .collect()
}

/// Most bytes of a metadata file that is looked into here: larger ones are worth no memory, and go
/// aside as they are. The largest published one has some kilobytes.
const METADATA_SIZE: usize = 4 << 20;
/// Most bytes of memory for what is in one.
const METADATA_TREE: usize = 8 << 20;
/// Most work for all of them.
const METADATA_WORK: u64 = 20_000_000;

fn upstream_takes(text: &[u8], reader: &yaml::Reader) -> bool {
    match reader.decode_unstructured(text) {
        Ok(_) | Err(yaml::Error::Parser { .. }) => true,
        // Go has a limit of its own there.
        Err(yaml::Error::TooDeep { limit: GO_DEPTH.., .. }) => false,
        Err(error) => error.is_limit(),
    }
}

/// How deep Go reads YAML and JSON.
const GO_DEPTH: usize = 10_000;

/// Bytes of the values, the keys and the metadata: what the API server stores, but for a few bytes
/// around each.
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

fn list(files: &[(String, usize)]) -> String {
    files.iter().map(|(path, size)| format!("{path} ({size})")).collect::<Vec<_>>().join(", ")
}
