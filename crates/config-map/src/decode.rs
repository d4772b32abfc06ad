//! [`decode()`]: reads the [`Content`] of a bundle from ConfigMaps.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::{
    Content, Directory, File, Finding, Findings, Limits, Reason,
    annotation::{self, CONTENT_ENCODING, LEGACY_SOURCE_IMAGE, SOURCE_IMAGE, UPSTREAM},
    content::{self, ANNOTATIONS_FILE},
    key::ConfigMapKey,
};
use unlade_text::excerpt;

use crate::{
    ConfigMap, Encoding,
    encode::unread_manifests,
    field::{Field, hidden_from_upstream},
    gzip,
    mark::{self, Marks},
};

mod error;
#[cfg(test)]
mod tests;

pub use error::Error;

/// The names of files that are assumed to be in metadata/, because a ConfigMap of upstream does not
/// record the directory (design 000.4, 000.21).
const METADATA_FILES: [&str; 2] = ["dependencies.yaml", "properties.yaml"];

/// The content of ConfigMaps, and what their annotations record about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// The content of the ConfigMaps.
    pub content: Content,
    /// The keys of the files in the field that upstream's loader does not read. It ignores
    /// them, whatever they contain.
    pub unread: BTreeSet<String>,
    /// The image that they were filled from (`olm.sourceImage`, or `olm.imageSource`).
    pub source_image: Option<String>,
    /// The encoding of the values: plain or gzip.
    pub encoding: Encoding,
    /// The digest, which was recorded and verified. `None` if upstream wrote the ConfigMap.
    pub digest: Option<String>,
    /// The ID of the attempt that filled the ConfigMap.
    pub attempt: Option<String>,
    /// The findings: those of this reader, and those that were recorded when the ConfigMap was
    /// filled ([`mark::FINDINGS`]).
    pub findings: Vec<Finding>,
}

/// Decodes the content of `config_maps`, which unlade or upstream filled.
///
/// If a ConfigMap has [marks](mark) of unlade, the content is verified: it must be complete and
/// unchanged. Without marks, the ConfigMap is read as upstream's loader reads it: `binaryData` if
/// `olm.contentEncoding` is `gzip+base64`, else `data`. A finding reports each key in the other
/// field.
///
/// # Errors
///
/// Returns an error if a value does not decode or is in the wrong field, if an annotation was
/// added, if the digest differs, if files are missing, or if a limit is exceeded.
pub fn decode(config_maps: &[ConfigMap], limits: &Limits) -> Result<Decoded, Error> {
    let config_map = match config_maps {
        [] => return Err(Error::Missing),
        [config_map] => config_map,
        several => return Err(Error::Several { count: several.len() }),
    };
    let annotations = &config_map.metadata.annotations;
    // No cluster has a ConfigMap with larger annotations. The limit bounds the memory for the lists
    // in them, which need many times the size of their text.
    annotation::check_size(annotations).map_err(content::Error::Annotations)?;
    let marks = Marks::read(annotations)?;
    let encoding = Encoding::of(config_map);
    let mut findings = Findings::default();
    if let (Some(name), Encoding::Plain) = (annotations.get(CONTENT_ENCODING), encoding) {
        if marks.is_some() {
            return Err(Error::Encoding { encoding: name.clone() });
        }
        findings.push(Finding::new(
            Reason::UnknownEncoding,
            CONTENT_ENCODING,
            format!(
                "the encoding {:?} is unknown, so data is read as plain text",
                excerpt::shorten(name)
            ),
        ));
    }
    let reader = Reader { config_map, encoding, limits };
    let mut unread = BTreeSet::new();
    let (content, digest) = match marks {
        Some(marks) => {
            let content = reader.read_marked(&marks)?;
            let hidden = Field::of_hidden(encoding);
            let keys = content.entries().map(|(key, _)| key.as_str());
            unread
                .extend(keys.filter(|key| field_of(config_map, key) == hidden).map(str::to_owned));
            findings.extend(unread_manifests(&content, encoding));
            findings.append(mark::findings::read(annotations));
            let found = content.digest();
            if found != marks.digest {
                return Err(Error::Digest { expected: marks.digest, found });
            }
            (content, Some(found))
        }
        None => (reader.read_unmarked(&mut findings)?, None),
    };
    let source = annotations.get(SOURCE_IMAGE).or_else(|| annotations.get(LEGACY_SOURCE_IMAGE));
    Ok(Decoded {
        content,
        unread,
        source_image: source.cloned(),
        encoding,
        digest,
        attempt: annotations.get(mark::ATTEMPT).cloned(),
        findings: findings.into_vec(),
    })
}

impl Decoded {
    /// Checks whether upstream's loader reads a file of metadata/ as an object of the bundle. It
    /// does if the ConfigMap was written [as upstream
    /// does](crate::encode::Options::metadata_as_upstream), or if the file was moved to the other
    /// field since.
    pub fn exposes_metadata(&self) -> bool {
        let is_exposed = |key: &ConfigMapKey| !self.unread.contains(key.as_str());
        !hidden_from_upstream(&self.content, is_exposed).is_empty()
    }
}

/// Returns the field that has the value of a key.
fn field_of(config_map: &ConfigMap, key: &str) -> Field {
    if config_map.data.contains_key(key) { Field::Data } else { Field::BinaryData }
}

struct Reader<'a> {
    config_map: &'a ConfigMap,
    encoding: Encoding,
    limits: &'a Limits,
}

impl Reader<'_> {
    /// Reads a ConfigMap that unlade filled: all values of both fields, in one encoding.
    fn read_marked(&self, marks: &Marks) -> Result<Content, Error> {
        let keys = || self.config_map.data.keys().chain(self.config_map.binary_data.keys());
        let found = keys().count();
        if found != marks.files {
            return Err(Error::Files { expected: marks.files, found });
        }
        let holds = |key: &String| {
            self.config_map.data.contains_key(key) || self.config_map.binary_data.contains_key(key)
        };
        for (mark, mut named) in [
            (mark::NAMES, marks.names.keys().collect::<Vec<_>>()),
            (mark::METADATA, marks.metadata.iter().collect()),
        ] {
            named.retain(|key| !holds(key));
            if let Some(&key) = named.first() {
                return Err(Error::Unknown { mark, key: key.clone() });
            }
        }
        let file = |key: &str, bytes| {
            let directory = if marks.metadata.contains(key) {
                Directory::Metadata
            } else {
                Directory::Manifests
            };
            let name = match marks.names.get(key) {
                None => key,
                Some(name)
                    if ConfigMapKey::from_file_name(name).is_ok_and(|k| k.as_str() == key) =>
                {
                    name
                }
                Some(name) => {
                    return Err(Error::Name { key: key.to_owned(), name: name.clone() });
                }
            };
            ConfigMapKey::from_file_name(name)
                .map_err(|source| Error::Key { key: key.to_owned(), source })?;
            Ok(File { directory, name: name.to_owned(), bytes })
        };
        let values = self.data().chain(self.binary_data());
        let content = Content::from_parts(
            self.copied_annotations(marks)?,
            self.decode_files(values, file)?,
            self.limits,
        )?;
        // A file of metadata/ may also be in the field that upstream's loader does not read.
        let manifests = content.entries().filter(|(_, it)| it.directory == Directory::Manifests);
        for (key, file) in manifests {
            let found = field_of(self.config_map, key.as_str());
            let expected = Field::of_read(self.encoding, file);
            if found != expected {
                let (found, expected) = (found.name(), expected.name());
                return Err(Error::Field { key: key.to_string(), found, expected });
            }
        }
        Ok(content)
    }

    /// Reads a ConfigMap that upstream or a user filled: only the field that upstream's loader
    /// reads.
    fn read_unmarked(&self, findings: &mut Findings) -> Result<Content, Error> {
        let hidden = Field::of_hidden(self.encoding);
        let field = hidden.name();
        let unread: Vec<_> = match hidden {
            Field::Data => self.config_map.data.keys().collect(),
            Field::BinaryData => self.config_map.binary_data.keys().collect(),
        };
        findings.extend(unread.into_iter().map(|key| {
            let message =
                format!("the file is dropped: with this encoding, OLM does not read {field}");
            Finding::new(Reason::UnreadKey, key, message)
        }));
        let file = |key: &str, bytes| {
            // Before operator-registry 1.57, upstream wrote `~` instead of `-`. No API server
            // accepts `~`, but a ConfigMap that was not on a cluster can contain it.
            ConfigMapKey::parse(&key.replace('~', "-"))
                .map_err(|source| Error::Key { key: key.to_owned(), source })?;
            let directory = if METADATA_FILES.contains(&key) || key == ANNOTATIONS_FILE {
                Directory::Metadata
            } else {
                Directory::Manifests
            };
            Ok(File { directory, name: key.to_owned(), bytes })
        };
        let files = match self.encoding {
            Encoding::Gzip => self.decode_files(self.binary_data(), file)?,
            _ => self.decode_files(self.data(), file)?,
        };
        let annotations = &self.config_map.metadata.annotations;
        let annotations = UPSTREAM
            .iter()
            .filter_map(|&key| Some((key.to_owned(), annotations.get(key)?.clone())))
            .collect();
        Ok(Content::from_parts(annotations, files, self.limits)?)
    }

    /// Returns the annotations that were copied from the bundle.
    fn copied_annotations(&self, marks: &Marks) -> Result<BTreeMap<String, String>, Error> {
        let annotations = &self.config_map.metadata.annotations;
        let is_added = |key: &&str| {
            annotations.contains_key(*key) && !marks.annotations.iter().any(|it| it == key)
        };
        if let Some(key) = UPSTREAM.into_iter().find(is_added) {
            return Err(Error::Added { key });
        }
        marks
            .annotations
            .iter()
            .map(|key| {
                let value = annotations
                    .get(key)
                    .ok_or_else(|| Error::Unknown { mark: mark::ANNOTATIONS, key: key.clone() })?;
                Ok((key.clone(), value.clone()))
            })
            .collect()
    }

    fn data(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.config_map.data.iter().map(|(key, value)| (key.as_str(), value.as_bytes()))
    }

    fn binary_data(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.config_map.binary_data.iter().map(|(key, value)| (key.as_str(), value.0.as_slice()))
    }

    /// Decodes the files of `values` within the limits.
    fn decode_files<'v>(
        &self,
        values: impl Iterator<Item = (&'v str, &'v [u8])>,
        file: impl Fn(&str, Vec<u8>) -> Result<File, Error>,
    ) -> Result<Vec<File>, Error> {
        let mut files: Vec<File> = Vec::new();
        let mut room = self.limits.total_size;
        for (key, value) in values {
            if files.len() == self.limits.files {
                let (files, limit) = (files.len() + 1, self.limits.files);
                return Err(content::Error::TooManyFiles { files, limit }.into());
            }
            let limit = self.limits.file_size.min(room);
            let bytes = match self.encoding {
                Encoding::Gzip => gzip::decode(value, limit, self.limits.ratio),
                _ if value.len() > limit => Err(gzip::Error::TooLarge { limit }),
                _ => Ok(value.to_vec()),
            }
            .map_err(|source| match source {
                gzip::Error::TooLarge { .. } if room < self.limits.file_size => {
                    Error::TooLarge { key: key.to_owned(), limit: self.limits.total_size }
                }
                source => Error::Value { key: key.to_owned(), source },
            })?;
            room -= bytes.len();
            files.push(file(key, bytes)?);
        }
        Ok(files)
    }
}
