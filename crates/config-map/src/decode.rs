//! ConfigMaps -> [`Content`].

use std::collections::BTreeMap;

use unlade_bundle::{
    Content, Directory, File, Finding, Findings, Limits, Reason,
    annotation::{
        self, CONTENT_ENCODING, SOURCE_IMAGE, SOURCE_IMAGE_OF_DESIGN, UPSTREAM, is_reserved,
    },
    content::{self, ANNOTATIONS_FILE},
    key::{self, ConfigMapKey},
};
use unlade_text::excerpt;

use crate::{
    ConfigMap, Encoding, gzip,
    mark::{self, Marks},
};

#[cfg(test)]
mod tests;

/// Files that lie in metadata/ although an unmarked ConfigMap does not say so (000.4, 000.21).
const METADATA_FILES: [&str; 2] = ["dependencies.yaml", "properties.yaml"];

/// A content out of ConfigMaps, and what they say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// What the ConfigMaps hold.
    pub content: Content,
    /// The image that they were filled from (`olm.sourceImage`, or `olm.imageSource`).
    pub source_image: Option<String>,
    /// How the values were encoded: plain or gzip.
    pub encoding: Encoding,
    /// The digest that was found and verified; none if upstream wrote the ConfigMap.
    pub digest: Option<String>,
    /// The id of the attempt that filled it.
    pub attempt: Option<String>,
    /// The findings, both of this reader and from when the ConfigMap was filled
    /// ([`mark::FINDINGS`]).
    pub findings: Vec<Finding>,
}

/// Why ConfigMaps hold no content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There was none.
    #[error("no ConfigMap")]
    Missing,
    /// A bundle is in one ConfigMap.
    #[error("{count} ConfigMaps where one holds a bundle")]
    Several {
        /// How many there were.
        count: usize,
    },
    /// The ConfigMap was filled by unlade, and is not any more what was written.
    #[error(transparent)]
    Mark(#[from] mark::Error),
    /// `olm.contentEncoding` of a ConfigMap that unlade filled.
    #[error(
        "the annotation {CONTENT_ENCODING} says {:?}, which is not known", excerpt::cut(.encoding)
    )]
    Encoding {
        /// What it says.
        encoding: String,
    },
    /// Another number of files than was written.
    #[error("the ConfigMap holds {found} files, {expected} were written")]
    Files {
        /// Files written, by [`mark::FILES`].
        expected: usize,
        /// Keys in `data` and `binaryData`.
        found: usize,
    },
    /// Other content than was written.
    #[error(
        "the content was changed after it was written: its digest is {found}, and {} is recorded",
        excerpt::cut(.expected)
    )]
    Digest {
        /// The digest written, by [`mark::DIGEST`].
        expected: String,
        /// The digest of what is there.
        found: String,
    },
    /// A mark names a key that is not there.
    #[error("the annotation {mark} names {:?}, which is not there", excerpt::cut(.key))]
    Unknown {
        /// The mark.
        mark: &'static str,
        /// The key of a value or of an annotation.
        key: String,
    },
    /// [`mark::NAMES`] names a file that does not map to the key.
    #[error(
        "{:?} is no file name for the key {:?}", excerpt::cut(.name), excerpt::cut(.key)
    )]
    Name {
        /// The key.
        key: String,
        /// What the mark says.
        name: String,
    },
    /// [`mark::ANNOTATIONS`] names an annotation that is never taken from a bundle.
    #[error(
        "the annotation {} names {:?}, which no bundle brings",
        mark::ANNOTATIONS,
        excerpt::cut(.key)
    )]
    Reserved {
        /// The key of the annotation.
        key: String,
    },
    /// A key that Kubernetes would refuse.
    #[error("read the key {:?}", excerpt::cut(.key))]
    Key {
        /// The key.
        key: String,
        /// Why.
        #[source]
        source: key::Error,
    },
    /// A key in `data` and `binaryData`.
    #[error("the key {:?} is both in data and in binaryData", excerpt::cut(.key))]
    Twice {
        /// The key.
        key: String,
    },
    /// A value that does not decode.
    #[error("decode the value of {:?}", excerpt::cut(.key))]
    Value {
        /// Its key.
        key: String,
        /// Why.
        #[source]
        source: gzip::Error,
    },
    /// All values together decode to more than the limit.
    #[error("the values decode to more than {limit} bytes up to the key {:?}", excerpt::cut(.key))]
    TooLarge {
        /// The key of the value that passes the limit.
        key: String,
        /// The limit.
        limit: usize,
    },
    /// What is there is no content.
    #[error(transparent)]
    Content(#[from] content::Error),
}

/// The content that `config_maps` hold, ours or upstream's.
///
/// A ConfigMap with a [mark] of ours is complete and unchanged, or an error. Without one it is
/// read as upstream's loader reads it: `binaryData` if `olm.contentEncoding` is `gzip+base64`,
/// else `data`; what is in the other field is reported.
///
/// # Errors
///
/// If a value does not decode, the digest differs, files are missing, or a limit is passed.
pub fn decode(config_maps: &[ConfigMap], limits: &Limits) -> Result<Decoded, Error> {
    let config_map = match config_maps {
        [] => return Err(Error::Missing),
        [config_map] => config_map,
        several => return Err(Error::Several { count: several.len() }),
    };
    let annotations = &config_map.metadata.annotations;
    // No cluster has a ConfigMap with more, and lists in them become many times their size.
    annotation::check_size(annotations).map_err(content::Error::Annotations)?;
    let marks = Marks::read(annotations)?;
    let named = annotations.get(CONTENT_ENCODING);
    let encoding = match named {
        Some(name) if name == gzip::ENCODING => Encoding::Gzip,
        _ => Encoding::Plain,
    };
    let mut findings = Findings::default();
    if let (Some(name), Encoding::Plain) = (named, encoding) {
        if marks.is_some() {
            return Err(Error::Encoding { encoding: name.clone() });
        }
        findings.push(Finding::new(
            Reason::UnknownEncoding,
            CONTENT_ENCODING,
            format!(
                "the encoding {:?} is not known: data is read as plain text",
                excerpt::cut(name)
            ),
        ));
    }
    let reader = Reader { config_map, encoding, limits };
    let (content, digest) = match marks {
        Some(marks) => {
            let content = reader.ours(&marks)?;
            findings.append(mark::findings::read(annotations));
            let found = content.digest();
            if found != marks.digest {
                return Err(Error::Digest { expected: marks.digest, found });
            }
            (content, Some(found))
        }
        None => (reader.upstreams(&mut findings)?, None),
    };
    let source = annotations.get(SOURCE_IMAGE).or_else(|| annotations.get(SOURCE_IMAGE_OF_DESIGN));
    Ok(Decoded {
        content,
        source_image: source.cloned(),
        encoding,
        digest,
        attempt: annotations.get(mark::ATTEMPT).cloned(),
        findings: findings.into_vec(),
    })
}

impl Error {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Mark(_) | Self::Files { .. } | Self::Digest { .. } | Self::Unknown { .. } => {
                Some("the ConfigMap was changed after it was filled: unpack the bundle again")
            }
            Self::Several { .. } => Some("give them one by one"),
            _ => None,
        }
    }
}

struct Reader<'a> {
    config_map: &'a ConfigMap,
    encoding: Encoding,
    limits: &'a Limits,
}

impl Reader<'_> {
    /// A ConfigMap that unlade filled: every value of both fields, in one encoding.
    fn ours(&self, marks: &Marks) -> Result<Content, Error> {
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
                Some(name) if ConfigMapKey::of_file(name).is_ok_and(|k| k.as_str() == key) => name,
                Some(name) => {
                    return Err(Error::Name { key: key.to_owned(), name: name.clone() });
                }
            };
            ConfigMapKey::of_file(name)
                .map_err(|source| Error::Key { key: key.to_owned(), source })?;
            Ok(File { directory, name: name.to_owned(), bytes })
        };
        let values = self.data().chain(self.binary_data());
        Ok(Content::restore(self.copied(marks)?, self.files(values, file)?, self.limits)?)
    }

    /// A ConfigMap that upstream filled, or someone by hand: the field that upstream's loader reads.
    fn upstreams(&self, findings: &mut Findings) -> Result<Content, Error> {
        let (field, unread): (_, Vec<_>) = match self.encoding {
            Encoding::Gzip => ("data", self.config_map.data.keys().collect()),
            _ => ("binaryData", self.config_map.binary_data.keys().collect()),
        };
        findings.extend(unread.into_iter().map(|key| {
            let message = format!("the key is not read: with this encoding nobody reads {field}");
            Finding::new(Reason::UnreadKey, key, message)
        }));
        let file = |key: &str, bytes| {
            // `~` stood where `-` stands since operator-registry 1.57; no API server took it.
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
            Encoding::Gzip => self.files(self.binary_data(), file)?,
            _ => self.files(self.data(), file)?,
        };
        let annotations = &self.config_map.metadata.annotations;
        let annotations = UPSTREAM
            .iter()
            .filter_map(|&key| Some((key.to_owned(), annotations.get(key)?.clone())))
            .collect();
        Ok(Content::restore(annotations, files, self.limits)?)
    }

    /// The annotations that were copied from the bundle.
    fn copied(&self, marks: &Marks) -> Result<BTreeMap<String, String>, Error> {
        let annotations = &self.config_map.metadata.annotations;
        marks
            .annotations
            .iter()
            .map(|key| {
                if is_reserved(key) {
                    return Err(Error::Reserved { key: key.clone() });
                }
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

    /// The files of `values`, decoded within the limits.
    fn files<'v>(
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
